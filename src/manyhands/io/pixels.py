"""One image -> its pixels: upright, in RGB and in one size.

An image is a path, an image of Pillow, its bytes, or a function without arguments that gives one of
these. Files are read by their content; only the formats below are tried, none of which starts
another program.
"""

import io
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, ManyhandsError, first_line

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif")
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF")
_JPEG = ("JPEG", "MPO")  # phones write several JPEG images into one file, an MPO
_ORIENTATION, _ON_ITS_SIDE = 274, (5, 6, 7, 8)  # the EXIF tag, and its values for a quarter turn
_MOST_THREADS = 8
_MOST_NAMES = 3
_REMEDY = "replace it, or leave it out with its labels"


def upright_size(source: Any) -> tuple[int, int]:
    """The height and width of an image as it is shown; only the head of a file is read."""
    with _opened(source) as image:
        return _upright_size(image)


def _upright_size(image: "Image") -> tuple[int, int]:
    width, height = image.size
    # Pillow turns a TIFF itself, and decodes all of a PNG to look for EXIF data at its end.
    in_head = image.format != "TIFF" and (image.format != "PNG" or "exif" in image.info)
    turn = None
    with suppress(Exception):  # broken EXIF data: the image is shown as it is stored
        turn = image.getexif().get(_ORIENTATION) if in_head else None
    on_its_side = turn in _ON_ITS_SIDE
    return (width, height) if on_its_side else (height, width)


def upright_rgb(source: Any, size: tuple[int, int] | None = None) -> "Image":
    """The whole image as it is shown, in RGB.

    A JPEG file that is larger than twice what `size` (height, width) needs is decoded in a smaller
    size, which is faster. An image of the caller's is not changed.
    """
    from PIL import ImageOps

    with _opened(source) as image:
        if size is not None and image.format in _JPEG and image is not source:
            height, width = _upright_size(image)
            scale = 2 * max(size[0] / height, size[1] / width)
            enough = ceil(image.width * scale), ceil(image.height * scale)
            image.draft(None, enough)
        image.load()
        upright = image
        with suppress(Exception):  # broken EXIF data
            upright = ImageOps.exif_transpose(image)
        return _as_rgb(upright)


def pixels(source: Any, size: tuple[int, int]) -> AnyArray:
    """The pixels of an image, shape (3, height, width), bytes.

    An image of another size is resized so that it covers the size, and cropped at its centre.
    """
    from PIL.Image import Resampling

    height, width = size
    image = upright_rgb(source, size)
    if image.size != (width, height):
        scale = max(height / image.height, width / image.width)
        wide, high = width / scale, height / scale
        left, top = (image.width - wide) / 2, (image.height - high) / 2
        box = (max(left, 0.0), max(top, 0.0), *_within(image, left + wide, top + high))
        image = image.resize((width, height), Resampling.BILINEAR, box=box)
    return np.ascontiguousarray(np.asarray(image, dtype=np.uint8).transpose(2, 0, 1))


def of_each(
    function: Callable[[int, Any], T], sources: Sequence[Any], places: Sequence[str]
) -> list[T]:
    """The results of a function of (row, image) for every image, computed by a few threads.

    Images that cannot be read are collected: one `DataError` names them by their places.
    """

    def tried(row: int, source: Any) -> tuple[T | None, str]:
        try:
            return function(row, source() if callable(source) else source), ""
        except ManyhandsError as error:
            return None, str(error)
        except Exception as error:  # Pillow's decoders raise many kinds
            return None, _reason(error)

    _require_pillow()
    with warnings.catch_warnings():  # of Pillow, about metadata; a bomb is refused below
        warnings.simplefilter("ignore")
        n_threads = min(_MOST_THREADS, os.cpu_count() or 1, max(len(sources), 1))
        with ThreadPoolExecutor(n_threads) as pool:
            results = list(pool.map(tried, range(len(sources)), sources))
    broken = [row for row, (_, reason) in enumerate(results) if reason]
    if broken:
        first, *others = broken
        more = join_names([places[row] for row in others], _MOST_NAMES)
        likewise = f"; {len(others)} more cannot be read: {more}" if others else ""
        raise DataError(f"{places[first]}: {results[first][1]}; {_REMEDY}{likewise}")
    return [found for found, _ in results]  # type: ignore[misc]


def _require_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise DataError("reading images needs Pillow: pip install pillow") from None


def _reason(error: Exception) -> str:
    """Why an image cannot be read, in a few words."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return _too_large("has too many pixels")
    if isinstance(error, UnidentifiedImageError):
        return "is no image that can be read (jpg png webp bmp tiff gif)"
    if isinstance(error, PermissionError):
        return "must not be read (permission denied)"
    return f"is cut short or corrupt ({first_line(error)})"


def _too_large(what: str) -> str:
    from PIL import Image

    return (
        f"{what}; at most {Image.MAX_IMAGE_PIXELS} are decoded (PIL.Image.MAX_IMAGE_PIXELS), since "
        "a small file may unpack to fill the memory"
    )


@contextmanager
def _opened(source: Any) -> "Iterator[Image]":
    """An image of which the head is read, whatever it is given as."""
    from PIL import Image

    if isinstance(source, Mapping):  # as Hugging Face stores images: bytes, or the path of a file
        source = source.get("bytes") or source.get("path")
    if hasattr(source, "convert"):
        yield source
        return
    if isinstance(source, str | os.PathLike):
        _require_content(Path(source))
    elif isinstance(source, bytes):
        source = io.BytesIO(source)
    else:
        raise DataError(f"is no image but {type(source).__name__}")
    with Image.open(source, formats=_FORMATS) as image:
        most = Image.MAX_IMAGE_PIXELS
        if most is not None and image.width * image.height > most:
            raise DataError(_too_large(f"has {image.width} x {image.height} pixels"))
        yield image


def _require_content(path: Path) -> None:
    if not path.exists():
        raise DataError("no such file")
    if not path.is_file():  # a pipe or a device may have no end
        raise DataError("is not an ordinary file")
    if path.stat().st_size == 0:
        raise DataError("the file is empty")


def _as_rgb(image: "Image") -> "Image":
    """The image with 8 bits of red, green and blue; what is transparent becomes white."""
    from PIL.Image import fromarray, new

    if image.mode.startswith("I"):
        image = fromarray(_eight_bits(np.asarray(image)))
    elif image.mode == "F":
        raise DataError("holds floating-point numbers; save it with 8 or 16 bits per channel")
    if image.has_transparency_data:
        page = new("RGBA", image.size, "white")
        page.alpha_composite(image.convert("RGBA"))
        image = page
    return image.convert("RGB")


def _eight_bits(grey: AnyArray) -> AnyArray:
    """Grey values of 16 bits, 65535 for white, as 8 bits."""
    if int(grey.min()) < 0 or int(grey.max()) > 0xFFFF:
        raise DataError("holds 32-bit numbers; save it with 8 or 16 bits per channel")
    return np.asarray(np.round(grey / 257.0), dtype=np.uint8)


def _within(image: "Image", right: float, bottom: float) -> tuple[float, float]:
    return min(right, image.width), min(bottom, image.height)
