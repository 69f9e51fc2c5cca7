"""Features of items as inputs of a network, encoded the same way in training and afterwards."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import torch
from narwhals.exceptions import DuplicateError
from scipy import sparse
from torch import Tensor
from torch.utils.data import Dataset

from manyhands.annotations.vocabulary import join_names, repeated
from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError
from manyhands.engine.checked_numbers import (
    checked_array,
    checked_sparse,
    checked_tensor,
    frame_values,
)
from manyhands.engine.dictionaries import DictionaryInputs, has_dictionaries
from manyhands.engine.inputs import DatasetInputs, Inputs, Scaling, SparseInputs, TensorInputs
from manyhands.engine.mapped import MappedInputs, is_mapped
from manyhands.io.hugging_face import gives_tensors
from manyhands.noise.dataset import TensorRows, is_stacked

_CHECKED_ROWS = 100  # rows that are looked at for a string
_UNLIKE = 5.0  # how far the features' deviations may differ before each gets its own scale


@dataclass(frozen=True, kw_only=True)
class EncoderOptions:
    """How features are encoded; see `FeatureOptions`, which declares these settings."""

    scale: str = "none"
    keep_integers: bool = False
    word_vectors: Any = None
    freeze_embeddings: bool = False
    max_tokens: int | None = None
    image_size: int | None = None
    normalize: bool = True
    image_encoder: str | None = None  # the folder of an encoder that says how to normalise images
    network: str | None = None  # the name of a network that reads features in its own way
    network_settings: Mapping[str, Any] | None = None
    device: str = "auto"
    progress: bool = False
    seed: int = 0


class FeatureEncoder(ABC):
    """Encodes features of one kind as the inputs of a network.

    `shape` is the shape of one item's input; `names` are the columns of a frame, if it was one.
    `header` and `tensors` describe the encoder in a file, and `restore` reads them.
    """

    kind: ClassVar[str]
    shape: tuple[int, ...]
    names: AnyArray | None = None

    @abstractmethod
    def transform(self, features: Any) -> Inputs:
        """Features as inputs; an error unless they are like those the encoder was fitted to."""

    def column_order(self, names: Iterable[str] | None) -> list[int] | None:
        """Where the columns of training are among those with these names.

        None if nothing is to be moved, or if there are no names here or in training. Other names
        are refused: a number in the place of another would be a silent mistake.
        """
        if names is None or self.names is None:
            return None
        given, known = list(names), self.names.tolist()
        place, expected = {name: column for column, name in enumerate(given)}, set(known)
        sides = {
            "missing": [name for name in known if name not in place],
            "unexpected": [name for name in given if name not in expected],
        }
        if any(sides.values()):
            listed = [
                f"{side}: {join_names(map(repr, each))}" for side, each in sides.items() if each
            ]
            raise DataError(
                f"the columns are not those of training; {'; '.join(listed)}; name them alike"
            )
        return None if given == known else [place[name] for name in known]

    @property
    @abstractmethod
    def default_network(self) -> str:
        """The name of the network that suits these inputs."""

    @property
    def n_noise_features(self) -> int:
        """How many features a noise model gets for one item."""
        return int(np.prod(self.shape))

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """The parts of the encoder that are written as JSON."""

    def tensors(self) -> dict[str, Tensor]:
        """The parts of the encoder that are written as tensors."""
        return {}

    def fingerprint(self) -> dict[str, Any]:
        """Names that tell these features from others and that no input holds."""
        return {"list of columns": None if self.names is None else self.names.tolist()}

    @classmethod
    @abstractmethod
    def restore(cls, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> "FeatureEncoder":
        """The encoder that was written."""


@dataclass(frozen=True, eq=False)
class NumericEncoder(FeatureEncoder):
    """Encodes rows of numbers: checked, in 32-bit floats, and scaled."""

    kind = "numeric"
    shape: tuple[int, ...]
    names: AnyArray | None = None
    scaling: Scaling | None = None
    keep_integers: bool = False

    @classmethod
    def fit_transform(
        cls, features: Any, options: EncoderOptions
    ) -> "tuple[NumericEncoder, Inputs]":
        """An encoder for features like these, and their inputs."""
        inputs = as_inputs(features, keep_integers=options.keep_integers)
        scaling = fit_scaling(inputs, options.scale)
        encoder = cls(inputs.shape, feature_names(features), scaling, options.keep_integers)
        return encoder, inputs if scaling is None else inputs.scaled(scaling)

    def transform(self, features: Any) -> Inputs:
        """See `FeatureEncoder.transform`; columns with names may come in any order."""
        inputs = as_inputs(self._in_order(features), keep_integers=self.keep_integers)
        if inputs.shape != self.shape and len(inputs.shape) == len(self.shape) == 1:
            raise DataError(
                f"X has {inputs.shape[0]} features, but model is expecting {self.shape[0]} "
                "features as input; give those of training"
            )
        if inputs.shape != self.shape:
            raise DataError(
                f"features of shape {inputs.shape} per item where the model was trained on "
                f"{self.shape}"
            )
        return inputs if self.scaling is None else inputs.scaled(self.scaling)

    def _in_order(self, features: Any) -> Any:
        """The columns of a frame in the order of training; what has no names stays as it is."""
        frame = _as_frame(features)
        if frame is None:
            return features
        try:
            order = self.column_order(feature_names(frame))
        except DataError as error:
            raise error.at("features") from None
        return frame if order is None else frame[:, order]

    @property
    def default_network(self) -> str:
        """See `FeatureEncoder.default_network`: "cnn" for images (channels, height, width)."""
        return "cnn" if len(self.shape) == 3 else "mlp"

    def header(self) -> dict[str, Any]:
        """See `FeatureEncoder.header`."""
        names = None if self.names is None else [str(name) for name in self.names]
        return {"shape": list(self.shape), "names": names, "keep_integers": self.keep_integers}

    def tensors(self) -> dict[str, Tensor]:
        """See `FeatureEncoder.tensors`."""
        if self.scaling is None:
            return {}
        return {"shift": self.scaling.shift, "factor": self.scaling.factor}

    @classmethod
    def restore(cls, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> "NumericEncoder":
        """See `FeatureEncoder.restore`."""
        names = None if header["names"] is None else object_array([*map(str, header["names"])])
        scaling = Scaling(tensors["shift"], tensors["factor"]) if tensors else None
        return cls(tuple(map(int, header["shape"])), names, scaling, bool(header["keep_integers"]))


def fit_scaling(inputs: Inputs, scale: str) -> Scaling | None:
    """How to scale features like these; None leaves them as they are.

    "rms" divides all features by one number, the root of their mean square: proportions stay, which
    suits features from one source, such as those of a network. "standard" gives every feature mean
    0 and deviation 1 (deviation only for a sparse matrix, which keeps its zeros), which suits
    measurements of different kinds. "auto" takes "standard" where the deviations of flat features
    differ much: their root mean square is more than five times their median. Datasets and integers
    are not scaled.
    """
    moments = None if scale == "none" or len(inputs) == 0 else inputs.moments()
    if moments is None:
        return None
    deviation = moments.deviation
    spread = deviation[deviation > 0].double()
    flat = len(inputs.shape) == 1 and len(spread) > 0
    unlike = flat and float(spread.square().mean().sqrt()) > _UNLIKE * float(spread.median())
    if scale == "standard" or (scale == "auto" and unlike):
        shift = torch.zeros(()) if moments.keeps_zeros else moments.mean
        return Scaling(shift, torch.where(deviation > 0, 1.0 / deviation, 1.0))
    return Scaling(torch.zeros(()), torch.tensor(1.0 / moments.rms if moments.rms > 0 else 1.0))


def as_inputs(features: Any, *, keep_integers: bool = False) -> Inputs:
    """Features as inputs of the epoch loop, a row per item.

    Numbers become 32-bit floats. With `keep_integers` a torch tensor of integers stays as it is,
    for networks that look them up. A Dataset of dictionaries, or a dictionary of tensors, gives
    tensors by name (`DictionaryInputs`). A mapped file (`np.load(path, mmap_mode="r")`) stays on
    the disk, and its rows are read when they are used. Values that are not finite are refused by
    row and column.
    """
    if isinstance(features, Inputs):
        return features
    if isinstance(features, Tensor):
        return TensorInputs(checked_tensor(features, keep_integers))
    if sparse.issparse(features) or is_mapped(features):
        mapped = is_mapped(features)
        return MappedInputs(features) if mapped else SparseInputs(checked_sparse(features))
    features = TensorRows(features) if is_stacked(features) else features
    if isinstance(features, Dataset) or gives_tensors(features):
        if not hasattr(features, "__len__") or len(features) == 0:
            raise DataError("features: a Dataset must have a length above 0; iterable ones do not")
        if has_dictionaries(features):
            return DictionaryInputs(features)
        return DatasetInputs(features, keep_integers=keep_integers)
    names: list[str] | None = None
    frame = _as_frame(features)
    if frame is not None:
        names, features = list(frame.columns), frame_values(frame)
    return TensorInputs(torch.from_numpy(checked_array(features, names)))


def is_text(features: Any) -> bool:
    """Whether features are texts: strings in a list, an array or a column of a frame.

    >>> is_text(["a film", "a good film"]), is_text([[0.5, 1.0]])
    (True, False)
    """
    if is_images(features):
        return False
    is_row = isinstance(features, Sequence) and not isinstance(features, str)
    if not is_row and getattr(features, "ndim", 0) != 1:  # an array, or a column of a frame
        return False
    return any(isinstance(text, str) for text in islice(features, _CHECKED_ROWS))


def is_pairs(features: Any) -> bool:
    """Whether features are pairs of texts: tuples in a list, or two columns of an array.

    >>> is_pairs([("a film", "good")]), is_pairs(["a film"]), is_pairs(np.array([["a", "b"]]))
    (True, False, True)
    """
    if isinstance(features, np.ndarray) and features.ndim == 2:
        some = features[:_CHECKED_ROWS].ravel().tolist()
        return features.shape[1] == 2 and any(isinstance(text, str) for text in some)
    is_row = isinstance(features, Sequence) and not isinstance(features, str)
    if not is_row and getattr(features, "ndim", 0) != 1:
        return False
    return any(
        isinstance(row, tuple) and len(row) == 2 and any(isinstance(text, str) for text in row)
        for row in islice(features, _CHECKED_ROWS)
    )


def is_images(features: Any) -> bool:
    """Whether features are `Images`."""
    return hasattr(features, "sizes") and hasattr(features, "pixels")


def is_count(features: Any) -> bool:
    """Whether features are whole numbers, 0 or more, in an array or a sparse matrix.

    >>> is_count(np.array([[0, 2], [1, 0]])), is_count(np.array([[0.5, 2.0]]))
    (True, False)
    """
    stored: Any = features
    features = stored.tocoo().data if sparse.issparse(features) else features
    if not isinstance(features, np.ndarray) or features.dtype.kind not in "iuf":
        return False
    return bool((features >= 0).all() and (features == np.floor(features)).all())


def feature_names(features: Any) -> AnyArray | None:
    """The names of a frame's columns; None for what has no names."""
    frame = _as_frame(features)
    return None if frame is None else np.array([str(name) for name in frame.columns], dtype=object)


def _as_frame(features: Any) -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(features, eager_only=True, pass_through=True)
    except DuplicateError:
        twice = join_names(map(repr, repeated(features.columns)))
        raise DataError(
            f"features: columns have the same name: {twice}; give every column its own"
        ) from None
    return frame if isinstance(frame, nw.DataFrame) else None
