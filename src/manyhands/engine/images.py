"""Images as inputs of a network: bytes in memory or on the device, normalised a batch at a time."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.engine.features import EncoderOptions, FeatureEncoder, is_images
from manyhands.engine.inputs import Inputs, Scaling, fits
from manyhands.engine.item_bar import item_bar
from manyhands.io import Images
from manyhands.networks.pretrained import read_image_moments

MAX_OWN_SIDE = 128  # pixels of the sides up to which images of one size keep it
_MEMORY_SHARE = 0.25  # of the machine's memory that decoded images may take
_MEMORY = 8 << 30  # bytes, where the machine does not tell
_SAMPLE = 10_000  # images whose moments are computed
_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 26}  # numbers of a batch where nothing is trained
_FEWEST = 16


class ImageInputs(Inputs):
    """Images as bytes, which become normalised 32-bit floats a batch at a time.

    With `keep` they are decoded once, if they fit into a quarter of the memory, and move to the
    device if they fit there. Otherwise every batch is decoded anew, by a few threads.
    """

    def __init__(self, images: Images, scaling: Scaling, stored: "_Stored") -> None:
        self.images, self.scaling, self.stored = images, scaling, stored
        self.shape, self.device = (3, *stored.size), torch.device("cpu")

    def __len__(self) -> int:
        return len(self.images)

    def to(self, device: torch.device) -> "ImageInputs":
        """See `Inputs.to`."""
        scaling = Scaling(self.scaling.shift.to(device), self.scaling.factor.to(device))
        moved = ImageInputs(self.images, scaling, self.stored)
        moved.device = device
        return moved

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`: normalised images, shape (b, 3, h, w)."""
        return self.scaling(self.stored.rows(self.images, index, self.device))

    def items_at_once(self, most: int) -> int:
        """See `Inputs.items_at_once`: layers of a network hold many numbers for every pixel."""
        numbers = _AT_ONCE.get(self.device.type, _AT_ONCE["cpu"])
        return min(most, max(_FEWEST, numbers // prod(self.shape)))

    def arrays(self) -> list[AnyArray]:
        """See `Inputs.arrays`; of images that are not kept in memory, their names."""
        kept = self.stored.bytes
        pixels = self.images.paths if kept is None else kept.numpy()
        return [pixels, self.scaling.shift.cpu().numpy(), self.scaling.factor.cpu().numpy()]


class _Stored:
    """The bytes of images in one size, in memory and on devices; or nothing, if they are many."""

    def __init__(self, size: tuple[int, int], kept: Tensor | None = None) -> None:
        self.size, self.bytes = size, kept
        self._moved: dict[torch.device, Tensor] = {}

    def rows(self, images: Images, index: Tensor, device: torch.device) -> Tensor:
        if self.bytes is None:
            chosen = images[index.cpu().numpy()].pixels(self.size)
            return torch.from_numpy(chosen).to(device, non_blocking=True)
        kept = self._on(device)
        if kept.device == index.device:
            return kept.index_select(0, index)
        return kept.index_select(0, index.to(kept.device)).to(device, non_blocking=True)

    def _on(self, device: torch.device) -> Tensor:
        assert self.bytes is not None, "there is nothing to move"
        if device.type == "cpu":
            return self.bytes
        if device not in self._moved:  # copied once, for training, validation and prediction
            self._moved[device] = self.bytes.to(device) if fits(self.bytes, device) else self.bytes
        return self._moved[device]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_moved": {}}  # another process has devices of its own


@dataclass(frozen=True, eq=False)
class ImageEncoder(FeatureEncoder):
    """Encodes images: RGB in one size, scaled to 0..1 and normalised by channel.

    `mean` and `deviation` (3,) are those of the channels of the training images, or those that a
    pretrained encoder expects; 0 and 1 without normalisation. `naming` is how the items of these
    images were named.
    """

    kind = "images"
    size: tuple[int, int]
    mean: Tensor
    deviation: Tensor
    naming: str

    @classmethod
    def fit_transform(
        cls, images: Images, options: EncoderOptions
    ) -> "tuple[ImageEncoder, Inputs]":
        """An encoder for images like these, and their inputs; all files are looked at first."""
        size = _chosen_size(images.sizes(), options.image_size)
        n_bytes = len(images) * 3 * size[0] * size[1]
        kept = None
        if n_bytes <= _memory():
            with item_bar("reading images", len(images), options.progress) as done:
                kept = torch.from_numpy(images.pixels(size, done=lambda: done(1)))
        stored = _Stored(size, kept)
        mean, deviation = torch.zeros(3), torch.ones(3)
        if options.normalize:
            mean, deviation = _expected_moments(options) or _moments(images, stored)
        encoder = cls(size, mean, deviation, images.naming)
        return encoder, ImageInputs(images, encoder._scaling(), stored)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Channels, height and width."""
        return (3, *self.size)

    def transform(self, features: Any) -> Inputs:
        """See `FeatureEncoder.transform`; images of another size are resized."""
        if not is_images(features):
            raise DataError(
                f"the model reads images (read_images); got {type(features).__name__}; numbers "
                "would not be scaled as its images were"
            )
        if features.has_names:  # a file that is no image is refused before others are decoded
            features.sizes()
        return ImageInputs(features, self._scaling(), _Stored(self.size))

    @property
    def default_network(self) -> str:
        """See `FeatureEncoder.default_network`."""
        return "cnn"

    def header(self) -> dict[str, Any]:
        """See `FeatureEncoder.header`."""
        return {"size": list(self.size), "naming": self.naming}

    def tensors(self) -> dict[str, Tensor]:
        """See `FeatureEncoder.tensors`."""
        return {"mean": self.mean, "deviation": self.deviation}

    @classmethod
    def restore(cls, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> "ImageEncoder":
        """See `FeatureEncoder.restore`."""
        height, width = map(int, header["size"])
        mean, deviation = tensors["mean"], tensors["deviation"]
        if mean.shape != (3,) or deviation.shape != (3,) or min(height, width) < 1:
            raise ValueError("the size or the moments of its images are wrong")
        return cls((height, width), mean, deviation, str(header["naming"]))

    def _scaling(self) -> Scaling:
        """From bytes to normalised numbers."""
        shift, factor = 255.0 * self.mean, 1.0 / (255.0 * self.deviation)
        return Scaling(shift.float().reshape(3, 1, 1), factor.float().reshape(3, 1, 1))


def _chosen_size(sizes: AnyArray, given: int | None) -> tuple[int, int]:
    """The height and width of all images; a warning tells if they are resized unasked."""
    if given is not None:
        return given, given
    if len(sizes) == 0:
        raise DataError("there is not a single image; nothing can be learnt")
    low, high = sizes.min(axis=0), sizes.max(axis=0)
    if (low == high).all() and high.max() <= MAX_OWN_SIDE:
        return int(high[0]), int(high[1])
    side = min(MAX_OWN_SIDE, int(np.median(sizes.min(axis=1))))
    found = f"{low[0]} x {low[1]}"
    if (low != high).any():
        found = f"different sizes, heights {low[0]} to {high[0]} and widths {low[1]} to {high[1]}"
    warnings.warn(
        f"images of {found} are resized to {side} x {side} pixels: the shorter side is scaled and "
        "the longer one cropped; image_size sets another size",
        UserWarning,
        stacklevel=3,
    )
    return side, side


def _expected_moments(options: EncoderOptions) -> tuple[Tensor, Tensor] | None:
    """The moments that a pretrained encoder was trained with, if its folder tells."""
    if options.image_encoder is None:
        return None
    found = read_image_moments(Path(options.image_encoder))
    return None if found is None else (torch.tensor(found[0]), torch.tensor(found[1]))


def _moments(images: Images, stored: _Stored) -> tuple[Tensor, Tensor]:
    """The mean and deviation of every channel in 0..1, of evenly spaced images if they are many.

    They are computed from counts of the 256 values, which are exact in any order.
    """
    chosen = np.unique(np.linspace(0, len(images) - 1, min(len(images), _SAMPLE)).astype(int))
    count = torch.zeros(3, 256, dtype=torch.float64)
    for part in np.array_split(chosen, -(-len(chosen) // 256)):
        rows = stored.rows(images, torch.from_numpy(part), torch.device("cpu"))
        for channel in range(3):
            count[channel] += torch.bincount(rows[:, channel].flatten().int(), minlength=256)
    share = count / count.sum(dim=1, keepdim=True)
    value = torch.arange(256, dtype=torch.float64) / 255.0
    mean = share @ value
    deviation = (share @ value.square() - mean.square()).clamp_min(0.0).sqrt()
    deviation[deviation < 1e-6] = 1.0  # a channel that is the same everywhere
    return mean.float(), deviation.float()


def _memory() -> float:
    """The bytes that decoded images may take."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return _MEMORY
    return _MEMORY_SHARE * total
