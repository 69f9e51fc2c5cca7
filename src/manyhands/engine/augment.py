"""Augmentation of images while a network is trained, a batch at a time and on its device.

Every image of a batch has draws of its own. They come from torch's generator on the CPU, which the
seed of every epoch sets: a device, or a run that was stopped and continued, makes no difference.
Around an image is 0, the mean colour of images that are normalised.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from manyhands.core.errors import DataError
from manyhands.engine.settings import augment_names

PAD = 1 / 8  # of a side that a crop moves the image by at most: 4 of 32 pixels
SHEAR = 0.2  # pixels to the side per pixel downwards, at most
RESCALE = 0.2  # the size changes by this share at most
DEGREES = 15.0  # of a rotation at most
_WARPS = ("shear", "rescale", "rotate")


class Augmentation:
    """What is done to a batch of images (b, c, h, w) in training; `names` as the setting has them.

    A flip and a crop move pixels and change none. Shear, rescale and rotate are one interpolation.
    """

    def __init__(self, names: Any) -> None:
        self.names = augment_names(names)

    def require_images(self, shape: tuple[int, ...]) -> None:
        """Raise a `DataError` unless inputs of this shape are images."""
        if self.names and len(shape) != 3:
            raise DataError(
                f"augment is for images, of shape (channels, height, width); an item here has "
                f"shape {shape}; leave it out"
            )

    def __call__(self, images: Tensor) -> Tensor:
        """The images, each changed by random numbers of its own."""
        n_images = len(images)
        if "flip" in self.names:
            images = flip(images, torch.rand(n_images) < 0.5)
        if not set(self.names).isdisjoint(_WARPS):
            images = warp(
                images,
                shear=self._drawn("shear", SHEAR, n_images),
                factor=1.0 + self._drawn("rescale", RESCALE, n_images),
                angle=torch.deg2rad(self._drawn("rotate", DEGREES, n_images)),
            )
        if "crop" in self.names:
            down, right = (_whole(side, n_images) for side in images.shape[2:])
            images = shift(images, down, right)
        return images

    def _drawn(self, name: str, most: float, n_images: int) -> Tensor:
        """A number in -most..most for every image; 0 for what is not asked for."""
        if name not in self.names:
            return torch.zeros(n_images)
        return most * (2.0 * torch.rand(n_images) - 1.0)


def flip(images: Tensor, flipped: Tensor) -> Tensor:
    """Left and right exchanged, in the images where `flipped` (b,) is true."""
    return torch.where(_like(flipped, images), images.flip(3), images)


def shift(images: Tensor, down: Tensor, right: Tensor) -> Tensor:
    """The images moved by whole numbers of pixels (b,), with 0 where nothing was.

    This is the crop of an image with a border of 0.
    """
    moved = images
    for axis, amount in ((2, down), (3, right)):
        place = torch.arange(images.shape[axis], device=images.device)
        source = place - _sent(amount, images).unsqueeze(1)
        inside = (source >= 0) & (source < images.shape[axis])
        index = source.clamp(0, images.shape[axis] - 1)
        view = (len(images), 1, -1, 1) if axis == 2 else (len(images), 1, 1, -1)
        moved = moved.gather(axis, index.view(view).expand_as(moved))
        moved = moved * inside.to(images.dtype).view(view)
    return moved


def warp(images: Tensor, *, shear: Tensor, factor: Tensor, angle: Tensor) -> Tensor:
    """The images rescaled by a factor, sheared and rotated about their centres, (b,) each.

    Colours between pixels are interpolated; the angle is in radians, counter-clockwise.
    """
    height, width = images.shape[2:]
    cos, sin = angle.cos() / factor, angle.sin() / factor
    # From a place in the new image to the place in the old one, both in units of half a side.
    row_x = torch.stack([cos + shear * sin, (shear * cos - sin) * (height / width)], dim=1)
    row_y = torch.stack([sin * (width / height), cos], dim=1)
    theta = functional.pad(torch.stack([row_x, row_y], dim=1), (0, 1))
    grid = functional.affine_grid(
        _sent(theta, images).to(images.dtype), list(images.shape), align_corners=False
    )
    return functional.grid_sample(images, grid, padding_mode="zeros", align_corners=False)


def augmented(names: Any, shape: tuple[int, ...]) -> Callable[[Tensor], Tensor] | None:
    """What training does to inputs of this shape; None if nothing is asked for."""
    augmentation = Augmentation(names)
    augmentation.require_images(shape)
    return augmentation if augmentation.names else None


def _whole(side: int, n_images: int) -> Tensor:
    most = max(1, round(PAD * side))
    return torch.randint(-most, most + 1, (n_images,))


def _like(flags: Tensor, images: Tensor) -> Tensor:
    return _sent(flags, images).view(-1, 1, 1, 1)


def _sent(drawn: Tensor, images: Tensor) -> Tensor:
    """Random numbers on the device of the images, without waiting for what it computes."""
    return drawn.to(images.device, non_blocking=True)
