"""Dogs vs. Cats: photographs of cats and dogs, one file each."""

from functools import partial
from pathlib import Path

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, first_line
from manyhands.core.settings import generator, require
from manyhands.datasets.corpus import ItemSet

_FILES = ("cat.*.jpg", "dog.*.jpg")  # in the order of the classes


def dogs_cats(size: int = 150) -> ItemSet:
    """The images of Kaggle's Dogs vs. Cats, `cat.N.jpg` and `dog.N.jpg`, at a size in pixels.

    Half of each class is for training, half for testing; cats are class 0, dogs class 1. Images are
    bytes of shape (3, size, size): all 25000 need 1.7 GB at 150 pixels and 0.3 GB at 64. Pillow
    reads the files.
    """
    require(isinstance(size, int) and size >= 1, "size", "a whole number of pixels, >= 1", size)
    about = f"cats and dogs, images of {size} x {size}, half for testing"
    return ItemSet("dogs-cats", about, _FILES, partial(load_dogs_cats, size=size), ("", "train"))


def load_dogs_cats(home: Path, seed: int, *, size: int) -> Items:
    """The images of a folder, split at random into training and test images."""
    rng = generator(seed, "dogs-cats split")
    train: list[tuple[Path, int]] = []
    test: list[tuple[Path, int]] = []
    for code, pattern in enumerate(_FILES):
        # sorted by number, so that the order of the listing has no influence
        paths = sorted(home.glob(pattern), key=lambda path: (len(path.name), path.name))
        if len(paths) < 2:
            raise DataError(
                f"{home / pattern}: needs two images or more to split; got {len(paths)}"
            )
        shuffled = [(paths[each], code) for each in rng.permutation(len(paths))]
        train += shuffled[: len(paths) // 2]
        test += shuffled[len(paths) // 2 :]
    return _items(train, size, rng, _items(test, size, rng))


def _items(
    files: list[tuple[Path, int]], size: int, rng: np.random.Generator, test: Items | None = None
) -> Items:
    """Images with their classes, in random order."""
    mixed = [files[each] for each in rng.permutation(len(files))]
    image = np.empty((len(mixed), 3, size, size), dtype=np.uint8)
    for row, (path, _) in zip(image, mixed, strict=True):
        row[...] = read_image(path, size)
    return Items(np.array([code for _, code in mixed]), image, test)


def read_image(path: Path, size: int) -> AnyArray:
    """An image file as RGB bytes of shape (3, size, size), resized."""
    try:
        from PIL import Image
    except ImportError:
        raise DataError(f"{path}: reading images needs Pillow: pip install pillow") from None
    try:
        with Image.open(path) as image:
            whole = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: not a readable image ({first_line(error)})") from None
    return np.moveaxis(np.asarray(whole), 2, 0)


DOGS_CATS = dogs_cats()
