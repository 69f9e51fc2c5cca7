"""The table of public corpora."""

from manyhands.core.registry import Registry
from manyhands.datasets.corpus import Reader
from manyhands.datasets.labelme import LABELME
from manyhands.datasets.music import MUSIC
from manyhands.datasets.sentiment import SENTIMENT

DATASETS: Registry[Reader] = Registry(
    "dataset", {"labelme": LABELME, "music": MUSIC, "sentiment": SENTIMENT}
)
