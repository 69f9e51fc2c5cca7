"""The E-step of models in which an annotator is right or wrong, and wrong labels are uniform.

log p(y_n | z_i = k) = log sigmoid(x_n) if y_n = k, else log(sigmoid(-x_n) / (K - 1)), with
x_n = logit_a x ease_i. It costs one look-up per label, whatever the number of classes.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from manyhands.aggregation.evidence import Evidence, majority_posterior
from manyhands.aggregation.kernels.confusion_loops import normalise_scores
from manyhands.aggregation.sums import annotator_sums
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import kernel, label_blocks, run_blocks


class CoinExpectation(Protocol):
    """The posterior, each annotator's expected number of right labels, the log-likelihood."""

    @property
    def posterior_ik(self) -> Floats:
        """The posterior of items."""

    @property
    def mass_k(self) -> Floats:
        """The posterior summed over items."""

    @property
    def right_a(self) -> Floats:
        """Each annotator's expected number of right labels."""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the labels."""


@dataclass(frozen=True)
class HostCoinExpectation:
    """A `CoinExpectation` of arrays."""

    posterior_ik: Floats
    right_a: Floats
    log_likelihood: float

    @property
    def mass_k(self) -> Floats:
        """The posterior summed over items."""
        return np.asarray(self.posterior_ik.sum(axis=0))


class CoinPass:
    """The E-step of models in which annotators are right or wrong, over one set of labels."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence

    def __call__(
        self, log_prior_k: Floats, logit_a: Floats, ease_i: Floats | None = None
    ) -> CoinExpectation:
        """Posterior, expected right labels and log-likelihood; without `ease_i` it is 1 for all."""
        ann, known = self.evidence.annotations, self.evidence.known
        posterior_ik = np.empty((ann.n_items, ann.n_classes))
        blocks = label_blocks(ann.item_offsets)
        right_ba = np.zeros((len(blocks), ann.n_annotators))
        log_wrong_a = -np.logaddexp(0.0, logit_a) - np.log(max(ann.n_classes - 1, 1))

        def work(block: int) -> float:
            return _expect_block(
                *blocks[block],
                ann.item_offsets,
                ann.annotator,
                ann.label,
                known,
                log_prior_k,
                logit_a,
                log_wrong_a,
                np.zeros(0) if ease_i is None else ease_i,
                posterior_ik,
                right_ba[block],
            )

        parts = run_blocks(work, range(len(blocks)))
        return HostCoinExpectation(posterior_ik, right_ba.sum(axis=0), sum(parts))

    def majority(self, overall_k: Floats | None = None) -> CoinExpectation:
        """The expectation under the label distributions of items.

        That of an item without labels is `overall_k`; see `majority_posterior`.
        """
        ann = self.evidence.annotations
        posterior_ik = majority_posterior(self.evidence, overall_k)
        right_a = annotator_sums(ann, posterior_ik[ann.item, ann.label])
        return HostCoinExpectation(posterior_ik, right_a, 0.0)


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
