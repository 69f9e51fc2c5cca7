"""Agreement without gold, compared with what independent judges could reach.

Agreement alone does not tell copies from experts. But if judges err independently given the truth,
Dawid-Skene is the model of their labels, and the fitted one is that under which these labels are
most probable. Two judges who agree more often than this model lets them are not independent.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.aggregation import DawidSkene
from manyhands.agreement.pairwise import pair_agreement
from manyhands.annotations import Annotations
from manyhands.core.arrays import Bools, Codes, Floats

_MIN_JUDGES = 3  # two judges can agree as they like
_MIN_SHARED = 20
_ALPHA = 0.001  # of all pairs together, that independent judges are named
_MARGIN = 0.01  # by which agreement must be higher, whatever the number of items


@dataclass(frozen=True, eq=False)
class Independence:
    """Agreement of pairs, that of independent judges, and who exceeds it.

    `implied_accuracy` is how often every judge would be right if all were independent.
    """

    first: Codes
    second: Codes
    shared: Codes
    agreement: Floats
    expected: Floats
    exceeds: Bools
    implied_accuracy: Floats


def measure_independence(ann: Annotations) -> Independence:
    """Compare the agreement of every pair with that under the fitted Dawid-Skene model.

    ::

        expected_ab = sum_k pi_k sum_l C[a, k, l] C[b, k, l]

    A pair exceeds it if so many agreements or more have a probability (exact binomial) below 0.001
    divided by the number of pairs, and the share is higher by more than 0.01.
    """
    fit = DawidSkene(prior_strength=1.0).fit(ann)
    confusion_akl, prior_k = fit.confusion, np.exp(fit.parameters.log_prior_k)
    assert confusion_akl is not None, "Dawid-Skene has confusions"
    pairs = pair_agreement(ann, min_shared=_MIN_SHARED)
    expected = np.einsum(
        "k,nkl,nkl->n", prior_k, confusion_akl[pairs.first], confusion_akl[pairs.second]
    )
    agreement = pairs.agreed / np.maximum(pairs.shared, 1)
    p_value = special.bdtrc(pairs.agreed - 1.0, pairs.shared.astype(np.int64), expected)
    exceeds = (p_value < _ALPHA / max(len(p_value), 1)) & (agreement > expected + _MARGIN)
    if ann.n_annotators < _MIN_JUDGES:
        exceeds = np.zeros(len(p_value), dtype=bool)
    implied_a = np.einsum("k,akk->a", prior_k, confusion_akl)
    return Independence(
        pairs.first, pairs.second, pairs.shared, agreement, expected, exceeds, implied_a
    )


def independence_warnings(
    ann: Annotations, found: Independence, max_accuracy: float | None
) -> list[str]:
    """Sentences about pairs that agree too much, and about accuracies that cannot be."""
    texts = []
    if found.exceeds.any():
        worst = int(np.argmax(np.where(found.exceeds, found.agreement - found.expected, -1.0)))
        one, two = ann.annotators[[found.first[worst], found.second[worst]]]
        n = int(found.exceeds.sum())
        pairs = "1 pair of judges agrees" if n == 1 else f"{n} pairs of judges agree"
        texts.append(
            f"{pairs} more than independent judges would: {one!s} and {two!s} agree on "
            f"{found.agreement[worst]:.1%} of {found.shared[worst]} items, and on "
            f"{found.expected[worst]:.1%} by the model of independent judges that fits all labels "
            "best (Dawid-Skene); they share errors, and count as fewer judges than they are"
        )
    if max_accuracy is not None and (found.implied_accuracy > max_accuracy).any():
        highest = int(np.argmax(found.implied_accuracy))
        texts.append(
            f"if judges erred independently, {ann.annotators[highest]!s} would be right on "
            f"{found.implied_accuracy[highest]:.1%} of the items, more than the "
            f"{max_accuracy:.1%} that you say a judge can reach: the judges share errors"
        )
    return texts
