"""LabelMe: images of eight scene classes with labels of 59 workers of Mechanical Turk."""

import tarfile
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError, first_line
from manyhands.datasets.arrays import as_rows, read_codes, read_npy, read_npz
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io import Images, read_annotations, read_texts
from manyhands.io.images import ROW

_PARTS = ("train", "valid", "test")
_VGG = [f"LabelMe_VGG_avg_{part}.npy" for part in _PARTS]
_EFFICIENTNET = "efflite0_gap_1280.npz"
_ARCHIVE = "images_128px.tar"


def load_labelme(home: Path, features: str) -> Corpus:
    """1000 labelled training images, 500 for validation, 1188 for testing.

    Features `vgg` are VGG-16 convolution features, average-pooled to 512; `efficientnet` are the
    1280 features of an EfficientNet-Lite0; `vgg-words` are the features `vgg` rounded to counts, as
    if each channel were a visual word; `images` are the images, 128 x 128 pixels.
    """
    if features == "images":
        rows = read_archive(home)
    else:
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


def read_archive(home: Path) -> dict[str, Any]:
    """The images of every part in the order of its list of file names; nothing is unpacked.

    A file in the archive is found by its own name and by the part among the folders it is in.
    """
    path = home / _ARCHIVE
    names = {
        part: [name.strip() for name in read_texts(home / f"filenames_{part}.txt")]
        for part in _PARTS
    }
    wanted = {(part, name) for part in _PARTS for name in names[part]}
    found: dict[tuple[str, str], bytes] = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                place = PurePosixPath(member.name)
                part = next((each for each in _PARTS if each in place.parent.parts), "")
                if (part, place.name) not in wanted or not member.isreg() or member.issparse():
                    continue
                stream = archive.extractfile(member)
                assert stream is not None, "it is an ordinary file"
                found[part, place.name] = stream.read()
    except (tarfile.TarError, EOFError) as error:
        raise DataError(f"{path}: is no tar archive, or cut short ({first_line(error)})") from None
    lost = sorted(wanted - found.keys())
    if lost:
        part, name = lost[0]
        others = f"; {len(lost) - 1} others are missing too" if len(lost) > 1 else ""
        raise DataError(
            f"{path}: has no image {name!r} in a folder {part}, which filenames_{part}.txt lists"
            f"{others}"
        )
    return {
        part: Images(
            object_array([found[part, name] for name in names[part]]),
            object_array([f"{path}: {part}/{name}" for name in names[part]]),
            np.arange(len(names[part])),
            ROW,
        )
        for part in _PARTS
    }


def _features(home: Path, part: str, features: str) -> AnyArray:
    if features == "efficientnet":
        return as_rows(read_npz(home / _EFFICIENTNET, f"x_{part}"))
    pooled = as_rows(read_npy(home / f"LabelMe_VGG_avg_{part}.npy"))
    return pooled.round() if features == "vgg-words" else pooled


LABELME = Reader(
    "labelme",
    "8 scene classes, 1000 images, 59 annotators",
    ["answers.txt", *(f"LabelMe_Z_{part}.txt" for part in _PARTS)],
    {
        "vgg": _VGG,
        "efficientnet": [_EFFICIENTNET],
        "vgg-words": _VGG,
        "images": [_ARCHIVE, *(f"filenames_{part}.txt" for part in _PARTS)],
    },
    load_labelme,
)
