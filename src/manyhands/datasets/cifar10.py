"""CIFAR-10: small photographs of ten classes, with the labels of CIFAR-10H or without labels."""

import json
from pathlib import Path

import numpy as np

from manyhands.annotations import Annotations, Items
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, first_line
from manyhands.datasets.arrays import read_npy, read_npz
from manyhands.datasets.corpus import Corpus, ItemSet, Reader, Split

CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip

_SHAPE = (32, 32, 3)
_TRAIN = "train_15000.npz"
_TEST = "test_10000_from_jpeg.npz"
_LABELS = "answers_idx9500-9999_by_worker.json"
_COUNTS = "cifar10h-counts.npy"


def load_cifar10h(home: Path, features: str) -> Corpus:
    """500 test images of CIFAR-10 with labels of 2571 annotators, the other 9500 for testing.

    Images are bytes of shape (3, 32, 32). The name of an item is its row in the published test set.
    The test split has the `label_distribution` of all annotators of CIFAR-10H, about 51 per image.
    """
    image, code = read_images(home / _TEST)
    labels = _read_labels(home / _LABELS, len(image))
    shares_ik = _read_distribution(home / _COUNTS, len(image))
    named = {
        index: {annotator: CLASSES[label] for annotator, label in labels[index].items()}
        for index in sorted(labels)
    }
    item, truth = np.array(list(named)), np.array(CLASSES, dtype=object)[code]
    rest = np.setdiff1d(np.arange(len(image)), item)
    annotations = Annotations.from_dicts(named, classes=CLASSES)
    test = Split(image[rest], truth[rest], shares_ik[rest])
    return Corpus("cifar10", image[item], annotations, truth[item], test)


def load_cifar10(home: Path, seed: int) -> Items:
    """15000 training images and 10000 test images, in their published order."""
    image, code = read_images(home / _TRAIN)
    test_image, test_code = read_images(home / _TEST)
    return Items(code, image, Items(test_code, test_image))


def load_cats_and_dogs(home: Path, seed: int) -> Items:
    """The images of cats, class 0, and of dogs, class 1."""
    train, test = (_cats_and_dogs(home / name) for name in (_TRAIN, _TEST))
    return Items(train.truth, train.features, test)


def read_images(path: Path) -> tuple[AnyArray, AnyArray]:
    """Images as bytes, channels first (n, 3, 32, 32), and their class codes (n,)."""
    image, code = read_npz(path, "x"), read_npz(path, "y")
    if image.dtype != np.uint8 or image.shape[1:] != _SHAPE or not len(image):
        raise DataError(
            f"{path}: array 'x' must hold images as bytes, shape (n, 32, 32, 3); "
            f"got {image.dtype} of shape {image.shape}"
        )
    if code.dtype.kind not in "iu" or code.shape != image.shape[:1]:
        raise DataError(
            f"{path}: array 'y' must hold a class code per image ({len(image)}); "
            f"got {code.dtype} of shape {code.shape}"
        )
    if code.min() < 0 or code.max() >= len(CLASSES):
        raise DataError(
            f"{path}: class codes must be 0..{len(CLASSES) - 1}; got {code.min()}..{code.max()}"
        )
    return np.ascontiguousarray(np.moveaxis(image, 3, 1)), code.astype(np.int64)


def _cats_and_dogs(path: Path) -> Items:
    image, code = read_images(path)
    cat, dog = CLASSES.index("cat"), CLASSES.index("dog")
    kept = np.flatnonzero((code == cat) | (code == dog))
    if not len(kept):
        raise DataError(f"{path}: holds no cat (class {cat}) and no dog (class {dog})")
    return Items((code[kept] == dog).astype(np.int64), image[kept])


def _read_labels(path: Path, n_images: int) -> dict[int, dict[str, int]]:
    """The labels of every image, by the row of the image and by annotator."""
    try:
        by_image = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON, or cut short ({first_line(error)})") from None
    if not isinstance(by_image, dict) or not by_image:
        raise DataError(f"{path}: expected an object of test index: {{annotator: label}}")
    rows = set(map(str, range(n_images)))
    for index, labels in by_image.items():
        if index not in rows:
            raise DataError(
                f"{path}: image {index!r} is not a row of the test images; "
                f"rows are 0..{n_images - 1}"
            )
        if not isinstance(labels, dict):
            raise DataError(f"{path}: image {index}: expected {{annotator: label}}; got {labels!r}")
        for annotator, label in labels.items():
            if type(label) is not int or not 0 <= label < len(CLASSES):
                raise DataError(
                    f"{path}: image {index}, annotator {annotator!r}: a label must be a class code "
                    f"0..{len(CLASSES) - 1}; got {label!r}"
                )
    return {int(index): labels for index, labels in by_image.items()}


def _read_distribution(path: Path, n_images: int) -> Floats:
    """The share of each label (i, k), from the counts of the labels."""
    count_ik = read_npy(path)
    if count_ik.dtype.kind not in "iuf" or count_ik.shape != (n_images, len(CLASSES)):
        raise DataError(
            f"{path}: expected counts of shape {(n_images, len(CLASSES))}; "
            f"got {count_ik.dtype} of shape {count_ik.shape}"
        )
    total_i = count_ik.sum(axis=1, dtype=np.float64)
    valid_i = (count_ik >= 0).all(axis=1) & (total_i > 0) & np.isfinite(total_i)
    if not valid_i.all():
        raise DataError(
            f"{path}: row {int(np.argmin(valid_i))} must hold counts of 0 or more, some above 0"
        )
    return np.asarray(count_ik / total_i[:, None], dtype=np.float64)


CIFAR10H = Reader(
    "cifar10",
    "10 classes of images, 500 images, 2571 annotators",
    [_TEST, _LABELS, _COUNTS],
    {"images": []},
    load_cifar10h,
)
CIFAR10 = ItemSet(
    "cifar10",
    "10 classes, 15000 images of 32 x 32 and 10000 for testing",
    [_TRAIN, _TEST],
    load_cifar10,
)
CIFAR10_CATS_DOGS = ItemSet(
    "cifar10",
    "the cats and dogs of CIFAR-10, images of 32 x 32",
    [_TRAIN, _TEST],
    load_cats_and_dogs,
)
