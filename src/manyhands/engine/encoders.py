"""Which encoder suits features: that of images, of texts, or of numbers."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from manyhands.engine.features import (
    EncoderOptions,
    FeatureEncoder,
    NumericEncoder,
    is_images,
    is_text,
)
from manyhands.engine.images import ImageEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.text import TextEncoder
from manyhands.io import Images
from manyhands.io.hugging_face import features_of, is_hugging_face

_CHECKED_ROWS = 100  # rows that are looked at for an image


def fit_encoder(features: Any, options: EncoderOptions) -> tuple[FeatureEncoder, Inputs]:
    """An encoder for features like these, and their inputs; see `known_features`."""
    features = known_features(features)
    if is_images(features):
        return ImageEncoder.fit_transform(features, options)
    if is_text(features):
        return TextEncoder.fit_transform(features, options, tokens=False)
    return NumericEncoder.fit_transform(features, options)


def known_features(features: Any) -> Any:
    """Features in a form that encoders take.

    Of a Hugging Face dataset its images, texts or numbers are taken, and images of Pillow in a list
    become `Images`; anything else stays as it is.
    """
    if is_hugging_face(features):
        return features_of(features)
    listed = isinstance(features, Sequence) and not isinstance(features, str) and len(features) > 0
    if listed and all(map(_is_image, islice(features, _CHECKED_ROWS))):
        return Images.from_list(features)
    return features


def _is_image(value: Any) -> bool:
    """Whether a value is an image of Pillow."""
    return hasattr(value, "convert") and hasattr(value, "getbands")
