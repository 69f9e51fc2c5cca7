"""Data to try things on: readers of public corpora, and the embedded demo."""

from manyhands.datasets.catalog import DATASETS
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.datasets.demo import DigitsDemo, load_demo

__all__ = ["DATASETS", "Corpus", "DigitsDemo", "Reader", "Split", "load_demo"]
