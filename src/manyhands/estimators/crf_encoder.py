"""Sentences as inputs of a linear-chain CRF."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.estimators.text_encoder import as_sentences
from manyhands.methods import CrfInputs, TokenFeatures


@dataclass(frozen=True, eq=False)
class CrfEncoder:
    """Encode sentences by the features of tokens that were seen in training."""

    features: TokenFeatures

    @classmethod
    def learn(cls, features: Any) -> "CrfEncoder":
        """Collect the features of these sentences."""
        sentences = as_sentences(features)
        return cls(TokenFeatures.fit(sentences.word.tolist(), sentences.offsets))

    def __call__(self, features: Any) -> CrfInputs:
        """Sentences as the inputs of a CRF."""
        sentences = as_sentences(features)
        matrix = self.features.transform(sentences.word.tolist(), sentences.offsets)
        return CrfInputs(matrix, np.array(sentences.offsets))
