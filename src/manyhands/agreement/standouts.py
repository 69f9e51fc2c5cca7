"""Classes and annotators that agree less than the others, beyond chance, in sentences."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import special

from manyhands.agreement.estimate import wilson
from manyhands.agreement.words import name_in_words, per_cent
from manyhands.core.arrays import AnyArray, Floats

MIN_BELOW = 0.05  # how far the agreement on a class must be below that on the others
MIN_CONFUSED = 0.1  # the share of other labels from which on two classes are said to be confused
TIMES_USUAL = 1.5  # that share, against what the use of the classes lets one expect
LEVEL = 0.05


def class_words(classes: Mapping[str, AnyArray]) -> list[str]:
    """A sentence on the class that annotators agree on least, if that is beyond chance.

    Its agreement must be below that of all other classes together by `MIN_BELOW` and by more than
    chance makes of the lowest of so many classes.
    """
    k = _lowest_class(classes)
    if k is None:
        return []
    rest = _of_the_others(classes)[0][k]
    one = name_in_words(classes["class"][k])
    text = (
        f"Annotators agree least on {one}: where one says “{one}”, another annotator of the item "
        f"says “{one}” too in {per_cent(classes['agreement'][k])} of the cases"
    )
    other = classes["confused_with"][k] if "confused_with" in classes else None
    if other is not None:
        text += f", and “{name_in_words(other)}” in {per_cent(classes['confused'][k])}"
    return [f"{text}. For the other classes together it is {per_cent(rest)}."]


def _lowest_class(classes: Mapping[str, AnyArray]) -> int | None:
    if "low" not in classes or np.isnan(classes["agreement"]).all():
        return None
    k = int(np.nanargmin(classes["agreement"]))
    rest_k, rest_error_k = _of_the_others(classes)
    below = rest_k[k] - classes["agreement"][k]
    error = np.hypot(_errors(classes)[k], rest_error_k[k])
    n_classes = int(np.isfinite(classes["agreement"]).sum())
    p_value = special.ndtr(-below / max(error, 1e-12)) * n_classes
    # NaN where it is not known, such as the interval of a class on which all agree
    return k if below >= MIN_BELOW and p_value < LEVEL else None


def _of_the_others(classes: Mapping[str, AnyArray]) -> tuple[Floats, Floats]:
    """For every class, the agreement on all other classes together, and its standard error."""
    n_k = np.where(np.isnan(classes["agreement"]), 0.0, classes["n_labels"])
    share_k, error_k = np.nan_to_num(classes["agreement"]), np.nan_to_num(_errors(classes))
    n_rest_k = n_k.sum() - n_k
    with np.errstate(invalid="ignore", divide="ignore"):
        rest_k = ((n_k * share_k).sum() - n_k * share_k) / n_rest_k
        square_k = (n_k * error_k) ** 2
        return rest_k, np.sqrt(np.maximum(square_k.sum() - square_k, 0.0)) / n_rest_k


def _errors(classes: Mapping[str, AnyArray]) -> Floats:
    """The standard errors of the agreement by class, from the end of an interval that is inside."""
    below_k = classes["agreement"] - classes["low"]
    above_k = classes["high"] - classes["agreement"]
    return np.asarray(np.maximum(below_k, above_k) / 1.96)


def annotator_words(annotators: Mapping[str, AnyArray]) -> list[str]:
    """A sentence on annotators who agree with the others less than most, beyond chance."""
    if "agreement" not in annotators or np.isnan(annotators["agreement"]).all():
        return []
    agreement_a, n_a = annotators["agreement"], annotators["n_shared"]
    usual = float(np.nanmedian(agreement_a))
    # so many annotators are compared that some would be below by chance
    high_a = wilson(agreement_a, n_a.astype(np.float64), 1.0 - 0.05 / len(n_a))[1]
    below = np.flatnonzero(high_a < usual)
    if len(below) == 0:
        return []
    worst = below[np.argsort(agreement_a[below], kind="stable")]
    names = ", ".join(name_in_words(annotators["annotator"][a]) for a in worst[:3])
    more = f" and {len(below) - 3} more" if len(below) > 3 else ""
    return [
        f"An annotator agrees with the others in {per_cent(usual)} of the cases (the median); "
        f"fewer, beyond chance, are those of {names}{more}."
    ]


class ConfusedPair(NamedTuple):
    """A class that others are said in place of: their codes, how often, and what is usual."""

    said: int
    instead: int
    share: float
    usual: float


def confused_pair(classes: Mapping[str, AnyArray], labels_per_item: float) -> ConfusedPair | None:
    """The pair of classes that is confused most, if it is beyond chance; columns of `by_class`.

    Usual is that those who do not say the class say the others in the shares in which these are
    used. Labels of one item are not independent: they count as one.
    """
    if "confused_with" not in classes or len(classes["class"]) < 3:
        return None
    share_k, use_k = np.nan_to_num(classes["confused"]), classes["share"]
    code_of = {name: k for k, name in enumerate(classes["class"].tolist())}
    with_k = np.array([code_of.get(name, -1) for name in classes["confused_with"].tolist()])
    rest_k = np.maximum(1.0 - use_k, 1e-12)
    usual_k = (1.0 - np.nan_to_num(classes["agreement"])) * use_k[with_k] / rest_k
    usual_k = np.clip(usual_k, 1e-12, 1.0 - 1e-12)
    n_k = classes["n_labels"] / max(labels_per_item, 1.0)
    z_k = (share_k - usual_k) / np.sqrt(usual_k * (1.0 - usual_k) / np.maximum(n_k, 1e-12))
    n_tests = len(use_k) * (len(use_k) - 1)
    chosen = (with_k >= 0) & (share_k >= MIN_CONFUSED) & (share_k >= TIMES_USUAL * usual_k)
    chosen &= special.ndtr(-z_k) * n_tests < LEVEL
    if not chosen.any():
        return None
    k = int(np.argmax(np.where(chosen, share_k, -1.0)))
    return ConfusedPair(k, int(with_k[k]), float(share_k[k]), float(usual_k[k]))
