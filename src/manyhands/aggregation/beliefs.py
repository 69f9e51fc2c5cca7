"""From what a model believes about items to one label each."""

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import Bools, Codes, Floats

_EQUAL = 1e-9


def winners(probabilities_ik: Floats) -> tuple[Codes, Bools]:
    """The most probable class of every item, and whether another is as probable.

    A tie goes to the class that is more probable over all items together, and if even that is
    equal, to the class that stands first.

    >>> codes, tied = winners(np.array([[0.5, 0.5], [0.1, 0.9]]))
    >>> codes.tolist(), tied.tolist()
    ([1, 1], [True, False])
    """
    top_i = probabilities_ik.max(axis=1, keepdims=True)
    among_ik = probabilities_ik >= top_i - _EQUAL
    tied = among_ik.sum(axis=1) > 1
    codes = probabilities_ik.argmax(axis=1).astype(np.int32)
    if tied.any():
        mass_k = np.round(probabilities_ik.mean(axis=0), 9)
        codes[tied] = np.where(among_ik[tied], mass_k, -1.0).argmax(axis=1)
    return codes, tied


def label_shares(annotations: Annotations, shares_k: Floats) -> Floats:
    """The share of an item's labels that each class got; `shares_k` for an item without labels."""
    counts_ik = annotations.label_counts()
    n_i = counts_ik.sum(axis=1, keepdims=True)
    np.divide(counts_ik, n_i, out=counts_ik, where=n_i > 0)
    counts_ik[n_i[:, 0] == 0] = shares_k
    return counts_ik


def overall_shares(annotations: Annotations) -> Floats:
    """How often each class was said of all items together."""
    total_k = np.bincount(annotations.label, minlength=annotations.n_classes)
    return np.asarray(total_k / max(annotations.n_annotations, 1))


def agreement_with(annotations: Annotations, codes_i: Codes) -> Floats:
    """The share of an item's labels that say what the consensus says; NaN without labels."""
    same_n = annotations.label == codes_i[annotations.item]
    same_i = np.bincount(annotations.item, weights=same_n, minlength=annotations.n_items)
    with np.errstate(invalid="ignore"):
        return np.asarray(same_i / annotations.labels_per_item)
