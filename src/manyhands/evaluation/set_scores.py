"""Scores of sets of classes: per class, over all classes, and of whole sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from manyhands.annotations import Vocabulary
from manyhands.annotations.set_cells import parse_set
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import DataError
from manyhands.evaluation.scorecard import match_truth


@dataclass(frozen=True)
class SetScorecard:
    """Scores of sets of classes, on the items whose truth is known.

    `f1_micro` counts all classes together, `f1_macro` is the mean over the classes that some truth
    or prediction has. `exact_match` is the share of sets without any error; `jaccard` and `masi`
    are means over items (see `masi`). `hamming_loss` is the share of wrong decisions about a class,
    and `log_loss` the mean of -log p(decision) over classes and items. `per_class` is the table of
    precision, recall and F1.
    """

    n_items: int
    f1_macro: float
    f1_micro: float
    exact_match: float
    jaccard: float
    masi: float
    hamming_loss: float
    log_loss: float
    per_class: dict[str, AnyArray] = field(default_factory=dict, repr=False, compare=False)

    def as_dict(self) -> dict[str, float]:
        """The scores by name, without those of single classes."""
        return {name: value for name, value in vars(self).items() if name != "per_class"}


def masi(one_nk: AnyArray, two_nk: AnyArray) -> Floats:
    """MASI of pairs of sets (Passonneau 2006); rows tell which classes a set has.

    J x M with J the Jaccard index, and M = 1 if the sets are equal, 2/3 if one contains the other,
    1/3 if they overlap, 0 if they do not. Two empty sets are equal.

    >>> masi(np.array([[1, 1], [1, 0]]), np.array([[1, 1], [1, 1]])).round(3).tolist()
    [1.0, 0.333]
    """
    one, two = one_nk.astype(bool), two_nk.astype(bool)
    both, size_one, size_two = (one & two).sum(axis=1), one.sum(axis=1), two.sum(axis=1)
    monotonic = np.where(both == np.minimum(size_one, size_two), 2 / 3, 1 / 3)
    monotonic = np.where((both == size_one) & (both == size_two), 1.0, monotonic)
    return np.asarray(monotonic * jaccard(one, two))


def jaccard(one_nk: AnyArray, two_nk: AnyArray) -> Floats:
    """The size of the intersection divided by that of the union; 1 for two empty sets."""
    one, two = one_nk.astype(bool), two_nk.astype(bool)
    both = (one & two).sum(axis=1).astype(np.float64)
    either = (one | two).sum(axis=1)
    return np.asarray(np.divide(both, either, out=np.ones(len(both)), where=either > 0))


def set_scores(
    truth_ik: Bools, predicted_ik: Bools, probabilities_ik: Floats, classes: Sequence[Any]
) -> SetScorecard:
    """The scores of predicted sets; rows of all arrays are items, columns classes.

    >>> truth, said = np.array([[True, False], [True, True]]), np.array([[True, False]] * 2)
    >>> found = set_scores(truth, said, said * 0.8 + 0.1, ["cat", "dog"])
    >>> round(found.f1_micro, 3), round(found.f1_macro, 3), found.exact_match
    (0.8, 0.5, 0.5)
    """
    hit_k = (truth_ik & predicted_ik).sum(axis=0)
    true_k, said_k = truth_ik.sum(axis=0), predicted_ik.sum(axis=0)
    f1_k = _ratio(2.0 * hit_k, true_k + said_k)
    occurs_k = true_k + said_k > 0
    p_ik = np.where(truth_ik, probabilities_ik, 1.0 - probabilities_ik)
    per_class = {
        "class": np.asarray(classes), "n_true": true_k, "n_predicted": said_k,
        "precision": _ratio(hit_k, said_k), "recall": _ratio(hit_k, true_k), "f1": f1_k,
    }  # fmt: skip
    n_both = float(true_k.sum() + said_k.sum())
    return SetScorecard(
        n_items=len(truth_ik),
        f1_macro=float(f1_k[occurs_k].mean()) if occurs_k.any() else 1.0,
        f1_micro=2.0 * float(hit_k.sum()) / n_both if n_both else 1.0,
        exact_match=float((truth_ik == predicted_ik).all(axis=1).mean()),
        jaccard=float(jaccard(truth_ik, predicted_ik).mean()),
        masi=float(masi(truth_ik, predicted_ik).mean()),
        hamming_loss=float((truth_ik != predicted_ik).mean()),
        log_loss=float(-np.log(np.maximum(p_ik, np.finfo(np.float64).tiny)).mean()),
        per_class=per_class,
    )


def set_scorecard(
    items: Vocabulary,
    classes: Vocabulary,
    separator: str,
    predicted_ik: Bools,
    probabilities_ik: Floats,
    truth: Mapping[Any, Any],
) -> SetScorecard:
    """Score sets against {item: set}; sets are collections or texts, rows follow `items`.

    A class of the truth that nobody said is missing from every prediction, and counts as such.
    """
    row, cells = match_truth(items, truth)
    sets = [parse_set(cell, separator) for cell in cells]
    named = dict.fromkeys(name for each in sets for name in each)
    if named and not (classes.codes(named) >= 0).any():
        raise DataError(
            f"no truth has a class of the labels, such as {classes.names[0]}; check the names, or "
            f"what separates the classes of a set ({separator!r})"
        )
    every = classes.extended(Vocabulary.of(named, "class"))
    shape = (len(row), len(every))
    truth_ik, said_ik, p_ik = np.zeros(shape, bool), np.zeros(shape, bool), np.zeros(shape)
    for truth_k, each in zip(truth_ik, sets, strict=True):
        truth_k[every.codes(each)] = True
    said_ik[:, : len(classes)], p_ik[:, : len(classes)] = predicted_ik[row], probabilities_ik[row]
    return set_scores(truth_ik, said_ik, p_ik, every.names.tolist())


def _ratio(above: AnyArray, below: AnyArray) -> Floats:
    """The ratio; 0 where nothing is below."""
    return np.asarray(np.divide(above, below, out=np.zeros(len(above)), where=below > 0))
