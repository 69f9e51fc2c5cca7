"""LabelMe: eight scene classes labelled by 59 people on Mechanical Turk."""

from pathlib import Path

from manyhands.core.arrays import AnyArray
from manyhands.datasets.arrays import read_archive, read_array, read_codes
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io import read_annotations

_PARTS = ("train", "valid", "test")
_VGG = [f"LabelMe_VGG_avg_{part}.npy" for part in _PARTS]
_EFFICIENTNET = "efflite0_gap_1280.npz"


def load_labelme(home: Path, features: str) -> Corpus:
    """1000 labelled training images, 500 for validation, 1188 for testing.

    Features `vgg` are VGG-16 convolution features, average-pooled to 512; `efficientnet` those of
    an EfficientNet-Lite0, 1280; `vgg-words` the first rounded, each channel a visual word that
    stands in the image as often as the channel is active.
    """
    rows = {part: _features(home, part, features) for part in _PARTS}
    truth = {part: read_codes(home / f"LabelMe_Z_{part}.txt") for part in _PARTS}
    return Corpus(
        "labelme",
        rows["train"],
        read_annotations(home / "answers.txt", kind="classes"),
        truth["train"],
        Split(rows["test"], truth["test"]),
        Split(rows["valid"], truth["valid"]),
    )


def _features(home: Path, part: str, features: str) -> AnyArray:
    if features == "efficientnet":
        return read_archive(home / _EFFICIENTNET, f"x_{part}")
    pooled = read_array(home / f"LabelMe_VGG_avg_{part}.npy")
    return pooled.round() if features == "vgg-words" else pooled


LABELME = Reader(
    "labelme",
    "8 scene classes, 1000 images, 59 annotators",
    ["answers.txt", *(f"LabelMe_Z_{part}.txt" for part in _PARTS)],
    {
        "vgg": _VGG,
        "efficientnet": [_EFFICIENTNET],
        "vgg-words": _VGG,
    },
    load_labelme,
)
