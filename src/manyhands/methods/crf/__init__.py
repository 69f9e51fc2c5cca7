"""Linear-chain conditional random fields over the tokens of sentences, and crowds that tag them.

Axis letters beside the usual ones: token `t` (an item), sentence `s`, feature `j`; a tag is a
class `k`, and row j, column k of a square is a tag k that follows a tag j. Sentence s has tokens
`offsets[s]` up to `offsets[s + 1]`.
"""

from manyhands.methods.crf.crf_ma import CrfMaFit, fit_crf_ma, majority_tags
from manyhands.methods.crf.decoding import Allowed, best_tags, bio_rules
from manyhands.methods.crf.fitting import ChainFit, fit_chain
from manyhands.methods.crf.forward_backward import ChainExpectation, expect, log_partition
from manyhands.methods.crf.likelihood import log_probability
from manyhands.methods.crf.weights import ChainWeights, Links
from manyhands.methods.crf.word_features import WordFeatures

__all__ = [
    "Allowed",
    "ChainExpectation",
    "ChainFit",
    "ChainWeights",
    "CrfMaFit",
    "Links",
    "WordFeatures",
    "best_tags",
    "bio_rules",
    "expect",
    "fit_chain",
    "fit_crf_ma",
    "log_partition",
    "log_probability",
    "majority_tags",
]
