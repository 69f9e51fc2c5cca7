"""The E-step of models in which an annotator is right or wrong, and wrong labels are uniform.

log p(y_n | z_i = k) = log sigmoid(x_n) if y_n = k, else log(sigmoid(-x_n) / (K - 1)), with
x_n = logit_a x ease_i. It costs one look-up per label, whatever the number of classes.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.aggregation.evidence import Evidence
from manyhands.aggregation.kernels.confusion_pass import normalise_scores
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, kernel, run_blocks

_N_BLOCKS = 16


@dataclass(frozen=True)
class CoinExpectation:
    """The posterior, each annotator's expected number of right labels, the log-likelihood."""

    posterior_ik: Floats
    right_a: Floats
    log_likelihood: float

    @property
    def mass_k(self) -> Floats:
        """The posterior summed over items."""
        return np.asarray(self.posterior_ik.sum(axis=0))


def expect_coins(
    evidence: Evidence, log_prior_k: Floats, logit_a: Floats, ease_i: Floats
) -> CoinExpectation:
    """Posterior, expected right labels and log-likelihood; an empty `ease_i` means 1 for all."""
    ann = evidence.annotations
    posterior_ik = np.empty((ann.n_items, ann.n_classes))
    blocks = even_blocks(ann.item_offsets, _N_BLOCKS)
    right_ba = np.zeros((len(blocks), ann.n_annotators))
    log_wrong_a = -np.logaddexp(0.0, logit_a) - np.log(max(ann.n_classes - 1, 1))

    def work(block: int) -> float:
        return _expect_block(
            *blocks[block],
            ann.item_offsets,
            ann.annotator,
            ann.label,
            evidence.known,
            log_prior_k,
            logit_a,
            log_wrong_a,
            ease_i,
            posterior_ik,
            right_ba[block],
        )

    parts = run_blocks(work, range(len(blocks)))
    return CoinExpectation(posterior_ik, right_ba.sum(axis=0), sum(parts))


@kernel
def log_sigmoid(x: float) -> float:
    """Log 1 / (1 + exp(-x)) without overflow."""
    return float(-np.log1p(np.exp(-x)) if x >= 0 else x - np.log1p(np.exp(x)))


@kernel
def _expect_block(
    first: int,
    last: int,
    offsets: Offsets,
    annotator: Codes,
    label: Codes,
    known: Codes,
    log_prior: Floats,
    logit: Floats,
    log_wrong: Floats,
    ease: Floats,
    posterior: Floats,
    right: Floats,
) -> float:
    n_classes = len(log_prior)
    log_others = np.log(max(n_classes - 1, 1))
    score = np.empty(n_classes)
    total = 0.0
    for i in range(first, last):
        for k in range(n_classes):
            score[k] = log_prior[k]
        for n in range(offsets[i], offsets[i + 1]):
            if n_classes == 1:
                break
            x = logit[annotator[n]]
            if len(ease):
                x *= ease[i]
                total += log_sigmoid(-x) - log_others
            else:
                total += log_wrong[annotator[n]]
            score[label[n]] += x + log_others
        total += normalise_scores(score, known[i] if len(known) else -1)
        for k in range(n_classes):
            posterior[i, k] = score[k]
        for n in range(offsets[i], offsets[i + 1]):
            right[annotator[n]] += score[label[n]]
    return total
