"""LabelMe: images of eight scene classes with labels of 59 workers of Mechanical Turk."""

from pathlib import Path

from manyhands.core.arrays import AnyArray
from manyhands.datasets.arrays import as_rows, read_codes, read_npy, read_npz
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io import read_annotations

_PARTS = ("train", "valid", "test")
_VGG = [f"LabelMe_VGG_avg_{part}.npy" for part in _PARTS]
_EFFICIENTNET = "efflite0_gap_1280.npz"


def load_labelme(home: Path, features: str) -> Corpus:
    """1000 labelled training images, 500 for validation, 1188 for testing.

    Features `vgg` are VGG-16 convolution features, average-pooled to 512; `efficientnet` are the
    1280 features of an EfficientNet-Lite0; `vgg-words` are the features `vgg` rounded to counts, as
    if each channel were a visual word.
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
        return as_rows(read_npz(home / _EFFICIENTNET, f"x_{part}"))
    pooled = as_rows(read_npy(home / f"LabelMe_VGG_avg_{part}.npy"))
    return pooled.round() if features == "vgg-words" else pooled


LABELME = Reader(
    "labelme",
    "8 scene classes, 1000 images, 59 annotators",
    ["answers.txt", *(f"LabelMe_Z_{part}.txt" for part in _PARTS)],
    {"vgg": _VGG, "efficientnet": [_EFFICIENTNET], "vgg-words": _VGG},
    load_labelme,
)
