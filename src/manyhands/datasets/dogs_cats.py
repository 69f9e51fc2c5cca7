"""Dogs vs. Cats: photographs of cats and of dogs, a file each."""

from functools import partial
from pathlib import Path

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, first_line
from manyhands.core.seeds import generator
from manyhands.core.settings import require
from manyhands.datasets.item_set import ItemSet
from manyhands.simulation.items import Items

_FILES = ("cat.*.jpg", "dog.*.jpg")  # in the order of the classes


def dogs_cats(size: int = 150) -> ItemSet:
    """The images of Kaggle's Dogs vs. Cats, `cat.N.jpg` and `dog.N.jpg`, at a size in pixels.

    Half of each class is for training, half for testing; cat is class 0, dog class 1. Images are
    bytes, shape (3, size, size): all 25000 take 1.7 GB at 150 pixels, 0.3 GB at 64. Pillow reads
    them.
    """
    require(isinstance(size, int) and size >= 1, "size", "a whole number of pixels, >= 1", size)
    about = f"cats and dogs, images of {size} x {size}, half for testing"
    return ItemSet("dogs-cats", about, _FILES, partial(load_dogs_cats, size=size), ("", "train"))


def load_dogs_cats(home: Path, seed: int, *, size: int) -> Items:
    """The images of a folder, split by a seed."""
    rng = generator(seed, "dogs-cats split")
    train: list[tuple[Path, int]] = []
    test: list[tuple[Path, int]] = []
    for code, pattern in enumerate(_FILES):
        # by number, whatever order the folder is listed in
        paths = sorted(home.glob(pattern), key=lambda path: (len(path.name), path.name))
        if len(paths) < 2:
            raise DataError(f"{home / pattern}: one image cannot be split in halves; add others")
        shuffled = [(paths[each], code) for each in rng.permutation(len(paths))]
        train += shuffled[: len(paths) // 2]
        test += shuffled[len(paths) // 2 :]
    return _items(train, size, rng, _items(test, size, rng))


def _items(
    files: list[tuple[Path, int]], size: int, rng: np.random.Generator, test: Items | None = None
) -> Items:
    """Images with their classes, mixed."""
    mixed = [files[each] for each in rng.permutation(len(files))]
    image = np.empty((len(mixed), 3, size, size), dtype=np.uint8)
    for row, (path, _) in zip(image, mixed, strict=True):
        row[...] = read_image(path, size)
    return Items(np.array([code for _, code in mixed]), image, test)


def read_image(path: Path, size: int) -> AnyArray:
    """An image file as bytes of red, green and blue, (3, size, size), whatever its own shape."""
    try:
        from PIL import Image
    except ImportError:
        raise DataError(f"{path}: images are read with Pillow: pip install pillow") from None
    try:
        with Image.open(path) as image:
            whole = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: not a sound image ({first_line(error)})") from None
    return np.moveaxis(np.asarray(whole), 2, 0)


DOGS_CATS = dogs_cats()
