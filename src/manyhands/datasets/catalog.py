"""DATASETS and PAIR_SETS, the public corpora, and ITEM_SETS, the items for simulated crowds."""

from manyhands.core.settings import Registry
from manyhands.datasets.cifar10 import CIFAR10, CIFAR10_CATS_DOGS, CIFAR10H
from manyhands.datasets.corpus import Corpus, ItemSet, PairCorpus, Reader
from manyhands.datasets.dogs_cats import DOGS_CATS
from manyhands.datasets.gimpel_pos import GIMPEL_POS
from manyhands.datasets.humour import HUMOUR
from manyhands.datasets.labelme import LABELME
from manyhands.datasets.lewidi import ARMIS, CONVABUSE, HS_BREXIT, MD_AGREEMENT
from manyhands.datasets.moviereviews import MOVIEREVIEWS, MOVIEREVIEWS_WORDS
from manyhands.datasets.music import MUSIC
from manyhands.datasets.ner import NER
from manyhands.datasets.pdis import PDIS
from manyhands.datasets.sentiment import SENTIMENT

DATASETS: Registry[Reader[Corpus]] = Registry(
    "dataset",
    {
        "armis": ARMIS,
        "cifar10": CIFAR10H,
        "convabuse": CONVABUSE,
        "gimpel-pos": GIMPEL_POS,
        "hs-brexit": HS_BREXIT,
        "labelme": LABELME,
        "md-agreement": MD_AGREEMENT,
        "moviereviews": MOVIEREVIEWS,
        "moviereviews-words": MOVIEREVIEWS_WORDS,
        "music": MUSIC,
        "ner": NER,
        "pdis": PDIS,
        "sentiment": SENTIMENT,
    },
)

PAIR_SETS: Registry[Reader[PairCorpus]] = Registry("set of comparisons", {"humour": HUMOUR})

ITEM_SETS: Registry[ItemSet] = Registry(
    "item set", {"cifar10": CIFAR10, "cifar10-cats-dogs": CIFAR10_CATS_DOGS, "dogs-cats": DOGS_CATS}
)
