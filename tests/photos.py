"""Tiny photos of two classes, and a crowd that labels them."""

import numpy as np
from PIL import Image

import manyhands as mh

CLASSES = ("rose", "sky")


def write_photos(folder, n_photos=24, *, side=16, seed=0, suffix=".png"):
    """Red and blue noise; the name of a photo, without suffix, is that of its item."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    truth = {}
    for number in range(n_photos):
        truth[f"photo{number}"] = CLASSES[number % 2]
        pixels = rng.integers(0, 120, (side, side, 3))
        pixels[:, :, 0 if number % 2 == 0 else 2] += 120
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"photo{number}{suffix}")
    return truth


def crowd_of(truth, *, n_annotators=4, seed=0):
    """Three labels for every item; one in seven is wrong."""
    rng = np.random.default_rng(seed)
    rows = [
        (item, f"ann{who}", name if rng.random() > 1 / 7 else CLASSES[name == CLASSES[0]])
        for item, name in truth.items()
        for who in rng.permutation(n_annotators)[:3]
    ]
    return mh.Annotations.from_arrays(*zip(*rows, strict=True))
