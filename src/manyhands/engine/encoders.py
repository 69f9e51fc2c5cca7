"""Which encoder suits features: that of images, of texts, or of numbers."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

from torch.utils.data import Dataset

from manyhands.engine.dictionaries import entry_of
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
from manyhands.io.images import is_image_path

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

    Of a Hugging Face dataset its images, texts or numbers are taken. Images of Pillow, or names of
    image files, in a list or a torch Dataset become `Images`; anything else stays as it is.
    """
    if is_hugging_face(features):
        return features_of(features)
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


def _is_image(value: Any) -> bool:
    """Whether a value is an image of Pillow."""
    return hasattr(value, "convert") and hasattr(value, "getbands")
