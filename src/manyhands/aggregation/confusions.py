"""Parameters of confusion models, and their M-step under a Dirichlet prior."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from manyhands.aggregation.passes import TINY, ConfusionPass, Expectation
from manyhands.core.arrays import Floats
from manyhands.core.kernels import even_blocks, kernel, run_blocks

_CHUNKS = 16


@dataclass(frozen=True)
class ConfusionParameters:
    """Class prior and confusions in log space; `log_crowd_lk` stands for an unseen annotator."""

    log_prior_k: Floats
    log_confusion_alk: Floats
    log_crowd_lk: Floats

    def with_strangers(self, n_new: int) -> "ConfusionParameters":
        """The same with average annotators added."""
        if n_new == 0:
            return self
        strangers = np.repeat(self.log_crowd_lk[None], n_new, axis=0)
        return replace(self, log_confusion_alk=np.concatenate([self.log_confusion_alk, strangers]))

    def confusion_akl(self) -> Floats:
        """Probabilities, row = true class, column = label said."""
        return np.exp(self.log_confusion_alk).transpose(0, 2, 1)


@dataclass(frozen=True)
class ConfusionStep:
    """What an M-step gives: the log-confusions and their log-prior (up to a constant)."""

    log_confusion_alk: Floats
    log_prior: float


def crowd_confusion(counts_alk: Floats, strength: float) -> Floats:
    """The confusion of an average annotator, (l, k), with one pseudo-label so that none is empty.

    P[k,l] ~ sum_a w_ak counts[a,k,l] / n_ak  with  w_ak = n_ak / (n_ak + strength)

    Annotators with many labels weigh the same whatever their number, those with few by how much
    they tell: the mean over people, not over labels, so that a tireless few do not set it.
    """
    n_labels = counts_alk.shape[1]
    n_ak = counts_alk.sum(axis=1)
    weight_ak = 1.0 / (n_ak + strength)
    total_lk = np.einsum("alk,ak->lk", counts_alk, weight_ak) + 1.0 / (n_labels * (1.0 + strength))
    return np.asarray(total_lk / total_lk.sum(axis=0))


def first_look(
    expect: ConfusionPass,
    posterior_ik: Floats,
    pseudo_counts: Callable[[Floats], Floats],
    strength: float,
    class_pseudo_count: float,
) -> tuple[Expectation, Floats]:
    """The expectation one step after `posterior_ik`, and the crowd's confusion (l, k) there.

    Label shares smear every confusion, so the crowd is looked at after one step from them.
    `pseudo_counts` makes those of that step out of the crowd as the shares show it.
    """
    weight = max(strength, 1.0)
    expected = expect.count(posterior_ik)
    pseudo_alk = pseudo_counts(crowd_confusion(expected.counts_alk, weight))
    log_prior_k, _ = fit_class_prior(expected.mass_k, class_pseudo_count)
    first = fit_confusions(expected.counts_alk, pseudo_alk)
    expected = expect(log_prior_k, first.log_confusion_alk)
    return expected, crowd_confusion(expected.counts_alk, weight)


def fit_class_prior(mass_k: Floats, pseudo: float) -> tuple[Floats, float]:
    """Log pi_k with pi_k ~ mass_k + pseudo, and the log-prior pseudo * sum_k log pi_k.

    mass_k is sum_i q_ik. An infinite pseudo-count keeps all classes equally probable.
    """
    if np.isinf(pseudo):
        return np.full(len(mass_k), -np.log(len(mass_k))), 0.0
    raised_k = mass_k + pseudo
    log_prior_k = np.log(np.maximum(raised_k / raised_k.sum(), TINY))
    return log_prior_k, pseudo * float(log_prior_k.sum())


def fit_confusions(counts_alk: Floats, pseudo_alk: Floats) -> ConfusionStep:
    """Log C[a,k,l] with C ~ counts + pseudo, and the log-prior sum pseudo * log C.

    `pseudo_alk` holds pseudo-counts per annotator, or one set (1, l, k) for all of them.
    """
    log_confusion_alk = np.empty_like(counts_alk)

    def work(chunk: tuple[int, int]) -> float:
        return _normalise(*chunk, counts_alk, pseudo_alk, log_confusion_alk)

    chunks = even_blocks(np.arange(len(counts_alk) + 1), _CHUNKS)
    return ConfusionStep(log_confusion_alk, sum(run_blocks(work, chunks)))


@kernel
def _normalise(
    first: int, last: int, counts: Floats, pseudo: Floats, log_confusion: Floats
) -> float:
    n_labels, n_classes = counts.shape[1], counts.shape[2]
    total = np.empty(n_classes)
    log_prior = 0.0
    for a in range(first, last):
        prior = pseudo[a if len(pseudo) > 1 else 0]
        total[:] = 0.0
        for label in range(n_labels):
            for k in range(n_classes):
                total[k] += counts[a, label, k] + prior[label, k]
        for label in range(n_labels):
            for k in range(n_classes):
                if total[k] > 0.0:
                    share = (counts[a, label, k] + prior[label, k]) / total[k]
                else:
                    share = 1.0 / n_labels
                log_confusion[a, label, k] = np.log(max(share, TINY))
                log_prior += prior[label, k] * log_confusion[a, label, k]
    return log_prior
