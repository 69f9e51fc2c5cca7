"""Datasets: public corpora in a local folder, items for simulated crowds, and demo data."""

from manyhands.datasets.catalog import DATASETS, ITEM_SETS, PAIR_SETS
from manyhands.datasets.corpus import Corpus, ItemSet, PairCorpus, Reader, Split
from manyhands.datasets.demo import (
    DigitsDemo,
    RatingsDemo,
    SentencesDemo,
    load_demo,
    load_ratings_demo,
    load_sentences_demo,
)
from manyhands.datasets.dogs_cats import dogs_cats

__all__ = [
    "DATASETS",
    "ITEM_SETS",
    "PAIR_SETS",
    "Corpus",
    "DigitsDemo",
    "ItemSet",
    "PairCorpus",
    "RatingsDemo",
    "Reader",
    "SentencesDemo",
    "Split",
    "dogs_cats",
    "load_demo",
    "load_ratings_demo",
    "load_sentences_demo",
]
