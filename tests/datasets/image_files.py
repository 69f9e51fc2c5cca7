"""Tiny files in the formats of the image sets."""

import io
import json
import tarfile

import numpy as np
from PIL import Image

SAID = {"3": {"7": 3, "40": 5}, "1": {"7": 1}}  # test index: annotator: label


def write_cifar10(home):
    """Six training and five test images, two of these labelled; image i is filled with i."""
    home.mkdir()
    for name, codes in (("train_15000", [3, 5, 0, 5, 3, 9]), ("test_10000_from_jpeg", range(1, 6))):
        y = np.array(codes, dtype=np.uint8)
        x = np.zeros((len(y), 32, 32, 3), dtype=np.uint8)
        x += np.arange(len(y), dtype=np.uint8)[:, None, None, None]
        x[..., 2] += 100  # blue
        np.savez_compressed(home / f"{name}.npz", x=x, y=y)
    (home / "answers_idx9500-9999_by_worker.json").write_text(json.dumps(SAID))
    np.save(home / "cifar10h-counts.npy", np.eye(10, dtype=np.int64)[1:6] * 3 + 1)


def write_dogs_cats(home, n_each=12):
    """Images of several shapes, the cats red and the dogs grey."""
    home.mkdir(parents=True)
    for number in range(n_each):
        size = (20 + number, 16)
        Image.new("RGB", size, (200, 10, 10)).save(home / f"cat.{number}.jpg")
        Image.new("L", size, 90).save(home / f"dog.{number}.jpg")


def write_archive(home, sizes):
    """The images of LabelMe, and the lists of their names; the archive has another order."""
    with tarfile.open(home / "images_128px.tar", "w") as archive:
        for part, size in sizes.items():
            names = [f"{row}.jpg" for row in range(size)]
            (home / f"filenames_{part}.txt").write_text("\n".join(names) + "\n")
            for row in reversed(range(size)):
                stream = io.BytesIO()
                Image.new("RGB", (16, 16), (20 * row, 0, 0)).save(stream, "JPEG")
                member = tarfile.TarInfo(f"jpg128/{part}/street/{row}.jpg")
                member.size = len(stream.getvalue())
                archive.addfile(member, io.BytesIO(stream.getvalue()))
