"""Sentences as inputs of a linear-chain CRF."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from manyhands.annotations import Sentences
from manyhands.engine.features import FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.text import as_sentences
from manyhands.methods.crf.features import TokenFeatures
from manyhands.methods.crf.network import CrfInputs


@dataclass(frozen=True, eq=False)
class CrfEncoder(FeatureEncoder):
    """Encodes sentences by the features of tokens that were seen in training."""

    kind = "crf"
    features: TokenFeatures

    @classmethod
    def fit_transform(cls, features: Any) -> "tuple[CrfEncoder, Inputs]":
        """An encoder for sentences like these, and their inputs."""
        sentences = as_sentences(features)
        encoder = cls(TokenFeatures.fit(sentences.word.tolist(), sentences.offsets))
        return encoder, encoder._inputs(sentences)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of features."""
        return (len(self.features.names),)

    @property
    def default_network(self) -> str:
        """See `FeatureEncoder.default_network`; the only method for these inputs makes its own."""
        return "logistic"

    def transform(self, features: Any) -> Inputs:
        """See `FeatureEncoder.transform`."""
        return self._inputs(as_sentences(features))

    def header(self) -> dict[str, Any]:
        """See `FeatureEncoder.header`."""
        return {"features": list(self.features.names)}

    @classmethod
    def restore(cls, header: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> "CrfEncoder":
        """See `FeatureEncoder.restore`."""
        return cls(TokenFeatures(tuple(header["features"])))

    def _inputs(self, sentences: Sentences) -> CrfInputs:
        matrix = self.features.transform(sentences.word.tolist(), sentences.offsets)
        return CrfInputs(matrix, np.array(sentences.offsets))
