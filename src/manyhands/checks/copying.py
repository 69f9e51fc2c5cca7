"""Which pairs of annotators copy: evidence from the classes that both gave to the same items.

Good annotators agree because both are right, so agreement alone is no evidence; that both are wrong
in the same way is. Let r be the class probabilities of an item by the *other* annotators, and let
both of a pair have the knowledge alpha and beta (see `knowledge`), estimated on the shared items
from r. Independent annotators then give the labels (x, y) with probability

    p(x, y) = sum_k r_k P(x | k, alpha) P(y | k, beta),

and y given x with p(x, y) / p(x). If the second copies with the rate c, the probability of y is
c [y = x] + (1 - c) p(y | x). The evidence is the logarithm of the ratio of both, summed over the
shared items, averaged over rates from `RATES` and over who copies whom: labels alone do not tell
the two apart.

Two labels that agree with the others are no evidence, however many they are.
Items that are hard for all make honest annotators err alike more than r tells, so only half of the
evidence is counted. Annotators who confuse the same classes err alike too, so a pair must also
depend on each other given the labels of the others (`pair_dependence.labels_depend`). Pairs come
from items with at most 50 labels (`agreement.pairwise`).
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.agreement.pairwise import pair_agreement, shared_labels
from manyhands.checks.copies import MAX_SHARED_LABELS, MIN_SHARED
from manyhands.checks.pair_dependence import labels_depend
from manyhands.checks.posterior_of_others import OthersPosterior
from manyhands.core.arrays import Bools, Codes, Floats

RATES = (0.6, 0.75, 0.9, 0.97)
SHARE_OF_COPIERS = 0.05  # of the annotators, before anything is seen
COUNTED = 0.5  # the part of the evidence that counts
PRIOR_LABELS = 5.0  # the weight of the knowledge on all items in alpha and beta
MIN_AGREEMENT = 0.5  # pairs that agree less do not copy
MIN_OTHERS = 2  # labels of others that an item needs
_LEAST = 1e-3  # probability of a label that a copier did not copy


@dataclass(frozen=True)
class CopyingPairs:
    """Pairs of annotators with the probability that one copies the other."""

    first: Codes
    second: Codes
    shared: Codes
    agreed: Codes
    expected: Floats  # agreements of independent annotators
    probability: Floats


def find_copying(others: OthersPosterior, left_out: Bools) -> CopyingPairs:
    """All pairs that share enough items and agree on half of them; `left_out` are annotators.

    Annotators whose labels do not depend on the items should be left out: two who always give the
    same label agree without copying.
    """
    ann = others.annotations
    found = pair_agreement(ann, min_shared=MIN_SHARED)
    n_pairs = len(found.first)
    kept = (found.agreed >= MIN_AGREEMENT * found.shared) & ~(
        left_out[found.first] | left_out[found.second]
    )
    chosen = np.flatnonzero(kept)
    # The pairs that agree most, up to a limit of work.
    chosen = chosen[np.argsort(-found.agreed[chosen] / found.shared[chosen], kind="stable")]
    chosen = chosen[np.cumsum(found.shared[chosen], dtype=np.int64) <= MAX_SHARED_LABELS]
    first, second = found.first[chosen], found.second[chosen]
    evidence, expected = _evidence(others, first, second)
    prior = min(SHARE_OF_COPIERS * ann.n_annotators / max(n_pairs, 1), SHARE_OF_COPIERS)
    probability = special.expit(COUNTED * evidence + special.logit(prior))
    likely = np.flatnonzero(probability > 0.5)
    depends = labels_depend(ann, others.counts, first[likely], second[likely])
    probability[likely[~depends]] = 0.0
    return CopyingPairs(
        first, second, found.shared[chosen], found.agreed[chosen], expected, probability
    )


def _evidence(others: OthersPosterior, first: Codes, second: Codes) -> tuple[Floats, Floats]:
    """Log ratio of p(labels | one copies) and p(labels | independent); expected agreements."""
    ann = others.annotations
    pair, one, two = shared_labels(ann, first, second).T

    def total(weight: Floats) -> Floats:
        return np.asarray(np.bincount(pair, weight, len(first)), dtype=np.float64)

    same = ann.label[one] == ann.label[two]
    r_one, r_two = others.without_pair(one, two)
    q_one, q_two = (others.shares(ann.annotator[at], ann.label[at]) for at in (one, two))
    n = total(np.ones(len(pair)))

    def knows(r: Floats, q: Floats, code: Codes) -> Floats:
        above = (total(r) - total(q)) / np.maximum(n - total(q), 1e-9)  # above chance
        mean = (n * above + PRIOR_LABELS * others.knowledge_a[code]) / (n + PRIOR_LABELS)
        return np.asarray(np.clip(mean, 0.0, 0.99)[pair])

    alpha, beta = knows(r_one, q_one, first), knows(r_two, q_two, second)
    off_one, off_two = (1.0 - alpha) * q_one, (1.0 - beta) * q_two
    on_one, on_two = alpha + off_one, beta + off_two
    alike = r_one * on_one * on_two + (1.0 - r_one) * off_one * off_two
    neither = np.maximum(1.0 - r_one - r_two, 0.0)
    unlike = r_one * on_one * off_two + r_two * off_one * on_two + neither * off_one * off_two
    joint = np.where(same, alike, unlike)
    # One other label alone does not tell that two which agree are wrong.
    expected_n = same & ((r_one >= 0.5) | (ann.labels_per_item[ann.item[one]] < 2 + MIN_OTHERS))

    def copies(p_source: Floats) -> Floats:
        p = np.where(expected_n, 1.0, np.clip(joint / p_source, _LEAST, 1.0))
        by_rate = [total(np.log((rate * same + (1.0 - rate) * p) / p)) for rate in RATES]
        return np.asarray(special.logsumexp(by_rate, axis=0) - np.log(len(RATES)))

    p_one, p_two = r_one * alpha + off_one, r_two * beta + off_two
    both = np.logaddexp(copies(p_one), copies(p_two)) - np.log(2.0)
    # Given the label x of the first, an independent second one says x with p(x, x) / p(x).
    q_same = others.shares(ann.annotator[two], ann.label[one])
    r_x, off_x = r_one, (1.0 - beta) * q_same
    agree = r_x * on_one * (beta + off_x) + (1.0 - r_x) * off_one * off_x
    return np.asarray(both), total(np.clip(agree / p_one, 0.0, 1.0))
