"""Data to try things on: readers of public corpora, items to simulate crowds on, the demo."""

from manyhands.datasets.catalog import DATASETS, ITEM_SETS
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.datasets.demo import DigitsDemo, load_demo
from manyhands.datasets.dogs_cats import dogs_cats
from manyhands.datasets.item_set import ItemSet

__all__ = [
    "DATASETS",
    "ITEM_SETS",
    "Corpus",
    "DigitsDemo",
    "ItemSet",
    "Reader",
    "Split",
    "dogs_cats",
    "load_demo",
]
