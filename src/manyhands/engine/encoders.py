"""Which encoder suits features: that of images, of texts, or of numbers."""

import warnings
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

import narwhals as nw
from torch.utils.data import Dataset

from manyhands.annotations.vocabulary import join_names
from manyhands.core.errors import DataError
from manyhands.engine.dictionaries import entry_of
from manyhands.engine.features import (
    EncoderOptions,
    FeatureEncoder,
    NumericEncoder,
    feature_names,
    is_images,
    is_pairs,
    is_text,
)
from manyhands.engine.frozen_states import fit_transformer_encoder
from manyhands.engine.images import ImageEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.text import TextEncoder
from manyhands.io import Images
from manyhands.io.hugging_face import features_of, is_hugging_face
from manyhands.io.images import is_image_path
from manyhands.io.text_columns import TEXT, TEXT_PAIR

_CHECKED_ROWS = 100  # rows that are looked at for an image


def fit_encoder(features: Any, options: EncoderOptions) -> tuple[FeatureEncoder, Inputs]:
    """An encoder for features like these, and their inputs; see `known_features`."""
    features = known_features(features)
    if options.network is not None:
        return fit_transformer_encoder(features, options, tokens=False)
    if is_pairs(features) and getattr(features, "ndim", 1) == 1:  # a matrix should be numbers
        raise DataError(
            "pairs of texts are for networks named hf:DIR, encoders of transformers; join the two "
            "texts for others"
        )
    if is_images(features):
        return ImageEncoder.fit_transform(features, options)
    if is_text(features):
        return TextEncoder.fit_transform(features, options, tokens=False)
    return NumericEncoder.fit_transform(features, options)


def known_features(features: Any) -> Any:
    """Features in a form that encoders take.

    Of a Hugging Face dataset its images, texts or numbers are taken, and of a frame its column
    called text, with one called text_pair as pairs. Images of Pillow, or names of image files, in a
    list or a torch Dataset become `Images`; anything else stays as it is.
    """
    if is_hugging_face(features):
        return features_of(features)
    names = feature_names(features)
    if names is not None and TEXT in names.tolist():
        return _texts_of_frame(features, names.tolist())
    if isinstance(features, Dataset) and hasattr(features, "__len__") and len(features) > 0:
        if _is_image(entry_of(features, 0)):
            entries = [partial(entry_of, features, item) for item in range(len(features))]
            return Images.from_list(entries)
        return features
    is_row = isinstance(features, Sequence) and not isinstance(features, str)
    if (is_row or getattr(features, "ndim", 0) == 1) and not is_images(features):
        some = list(islice(features, _CHECKED_ROWS))
        if some and all(_is_image(each) or is_image_path(str(each)) for each in some):
            return Images.from_list(list(features))
    return features


def _texts_of_frame(features: Any, names: list[str]) -> Any:
    """The texts of a frame, or its pairs; a frame stays as it is if its column is no text."""
    frame = nw.from_native(features, eager_only=True)
    texts = frame[TEXT].to_list()
    if not is_text(texts):
        return features
    others = [name for name in names if name not in (TEXT, TEXT_PAIR)]
    if others:
        warnings.warn(
            f"features: only the texts are used, not {join_names(map(repr, others))}",
            UserWarning,
            stacklevel=4,
        )
    return (
        list(zip(texts, frame[TEXT_PAIR].to_list(), strict=True)) if TEXT_PAIR in names else texts
    )


def _is_image(value: Any) -> bool:
    """Whether a value is an image of Pillow."""
    return hasattr(value, "convert") and hasattr(value, "getbands")
