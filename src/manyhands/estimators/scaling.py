"""Bringing features to a size that networks learn well from."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from manyhands.core.settings import require_choice
from manyhands.engine.inputs import Inputs, SparseInputs, TensorInputs

SCALES = ("auto", "rms", "standard", "none")
_COLUMNS = 1024  # at a time in double precision
_CONSTANT = 1e-6  # a deviation of this share of the mean is rounding
_UNLIKE = 5.0  # how far the features' spreads may differ before each gets a scale of its own


@dataclass(frozen=True)
class Scaling:
    """(x - shift) x factor, one pair for all features or one for each."""

    shift: Tensor
    factor: Tensor

    def apply(self, inputs: Inputs) -> Inputs:
        """The same items with scaled features, in whatever form they come."""
        if isinstance(inputs, SparseInputs) and not bool(self.shift.any()):
            factor = self.factor.expand(inputs.shape).numpy()
            return SparseInputs(inputs.matrix @ sparse.diags_array(factor))
        if isinstance(inputs, TensorInputs):
            return TensorInputs(self(inputs.tensor))
        return ScaledInputs(inputs, self)

    def __call__(self, rows: Tensor) -> Tensor:
        """Some rows of features, scaled."""
        moved = rows - self.shift.to(rows.device)
        return moved.mul_(self.factor.to(rows.device))


class ScaledInputs(Inputs):
    """Inputs that are scaled a batch at a time."""

    def __init__(self, inputs: Inputs, scaling: Scaling) -> None:
        self.inputs, self.scaling = inputs, scaling
        self.shape, self.device = inputs.shape, inputs.device

    def __len__(self) -> int:
        return len(self.inputs)

    def to(self, device: torch.device) -> "ScaledInputs":
        """See `Inputs.to`."""
        return ScaledInputs(self.inputs.to(device), self.scaling)

    def rows(self, index: Tensor) -> Tensor:
        """See `Inputs.rows`."""
        return self.scaling(self.inputs.rows(index))


def fit_scaling(inputs: Inputs, how: str) -> Scaling | None:
    """How to scale features like these; None leaves them as they are.

    "rms" divides all by one number, the root of their mean square: proportions stay, which suits
    what comes from one source, such as the features of a network. "standard" gives every feature
    mean 0 and deviation 1 (a sparse matrix keeps its zeros: deviation only), which suits measures
    of different kinds. "auto" takes "standard" where the deviations of flat features differ much:
    their root mean square is more than five times their median. Datasets and codes stay.
    """
    require_choice("scale", how, SCALES)
    if how == "none" or not isinstance(inputs, TensorInputs | SparseInputs):
        return None
    if isinstance(inputs, TensorInputs) and not inputs.tensor.is_floating_point():
        return None
    mean, deviation, rms = _moments(inputs)
    spread = deviation[deviation > 0].double()
    flat = len(inputs.shape) == 1 and len(spread) > 0
    unlike = flat and float(spread.square().mean().sqrt()) > _UNLIKE * float(spread.median())
    if how == "standard" or (how == "auto" and unlike):
        shift = torch.zeros(()) if isinstance(inputs, SparseInputs) else mean
        return Scaling(shift, torch.where(deviation > 0, 1.0 / deviation, 1.0))
    return Scaling(torch.zeros(()), torch.tensor(1.0 / rms if rms > 0 else 1.0))


def _moments(inputs: TensorInputs | SparseInputs) -> tuple[Tensor, Tensor, float]:
    """Mean and deviation of every feature, and the root mean square of all."""
    if isinstance(inputs, TensorInputs):
        # In double precision: the square of a large number is no 32-bit float.
        flat = inputs.tensor.flatten(1)
        parts = [flat[:, first : first + _COLUMNS] for first in range(0, flat.shape[1], _COLUMNS)]
        moments = [torch.var_mean(part.cpu().double(), dim=0, correction=0) for part in parts]
        variance = torch.cat([each[0] for each in moments]).reshape(inputs.shape)
        mean = torch.cat([each[1] for each in moments]).reshape(inputs.shape)
        variance[variance < (_CONSTANT * mean).square()] = 0.0
        square = float((variance + mean.square()).mean())
        return mean.float(), variance.sqrt().float(), square**0.5
    matrix = inputs.matrix.astype(np.float64)
    mean_j = np.asarray(matrix.mean(axis=0)).ravel()
    square_j = np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
    deviation_j = np.sqrt(np.maximum(square_j - mean_j**2, 0.0))
    mean, deviation = (torch.from_numpy(each).float() for each in (mean_j, deviation_j))
    return mean, deviation, float(square_j.mean()) ** 0.5
