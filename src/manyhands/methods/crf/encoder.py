"""Sentences as what a linear chain reads."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.estimators.text_encoder import as_sentences
from manyhands.methods import CrfInputs, WordFeatures


@dataclass(frozen=True, eq=False)
class CrfEncoder:
    """How a linear chain reads sentences: by the features of words that training has seen."""

    features: WordFeatures

    @classmethod
    def learn(cls, features: Any) -> "CrfEncoder":
        """A reader of sentences like these."""
        sentences = as_sentences(features)
        return cls(WordFeatures.learn(sentences.word.tolist(), sentences.offsets))

    def __call__(self, features: Any) -> CrfInputs:
        """Sentences as the chain reads them."""
        sentences = as_sentences(features)
        matrix = self.features.matrix(sentences.word.tolist(), sentences.offsets)
        return CrfInputs(matrix, np.array(sentences.offsets))
