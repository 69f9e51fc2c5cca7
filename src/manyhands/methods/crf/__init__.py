"""Linear-chain conditional random fields over the tokens of sentences, and crowds that tag them.

Axis letters in addition to the usual ones: token `t` (an item), sentence `s`, feature `j`. A tag is
a class `k`, and row j, column k of a square belongs to a tag k that follows a tag j. Sentence s has
tokens `offsets[s]` up to `offsets[s + 1]`.
"""

from manyhands.methods.crf.crf_ma import ROWS, CrfMa, CrfMaFit, fit_crf_ma, majority_tags
from manyhands.methods.crf.features import TokenFeatures
from manyhands.methods.crf.fitting import CrfFit, fit_crf
from manyhands.methods.crf.inference import (
    CrfExpectation,
    TagRules,
    best_tags,
    bio_rules,
    expect,
    log_partition,
    log_probability,
)
from manyhands.methods.crf.network import CrfInputs, CrfNetwork
from manyhands.methods.crf.weights import CrfWeights, Transitions

__all__ = [
    "ROWS",
    "CrfExpectation",
    "CrfFit",
    "CrfInputs",
    "CrfMa",
    "CrfMaFit",
    "CrfNetwork",
    "CrfWeights",
    "TagRules",
    "TokenFeatures",
    "Transitions",
    "best_tags",
    "bio_rules",
    "expect",
    "fit_crf",
    "fit_crf_ma",
    "log_partition",
    "log_probability",
    "majority_tags",
]
