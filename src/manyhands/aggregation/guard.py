"""A consensus that collapsed is found, named and replaced; labels without agreement are named."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from manyhands.aggregation.annotator_types import AnnotatorTypes
from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import Evidence, most_probable
from manyhands.aggregation.majority import Majority
from manyhands.aggregation.one_coin import OneCoin
from manyhands.aggregation.ordinal_dawid_skene import OrdinalDawidSkene
from manyhands.aggregation.ordinal_thresholds import OrdinalThresholds
from manyhands.agreement import alpha, fleiss
from manyhands.annotations import Annotations, Labels, Truth, as_annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import TooLargeError

# Classes are lost if they are found less often than this share of how often they are said; and the
# share of the labels that lost classes have before a consensus has collapsed.
_LOST = ((0.25, 0.15), (0.5, 0.25))
_MAY_LOSE_CLASSES = tuple(
    each.name for each in (AnnotatorTypes, Majority, OrdinalThresholds, OrdinalDawidSkene)
)
_UNANIMOUS = 3  # labels of an item that make it unanimous
_FEW_ITEMS = 10  # fewer items show nothing
_NO_AGREEMENT = 0.03  # Fleiss' kappa up to which annotators hardly agree more than by chance


class ConsensusWarning(UserWarning):
    """A consensus should not be believed as it is: the text says why."""


def fit_guarded(
    model: Aggregator[Any],
    annotations: Labels,
    known: Truth | None = None,
    *,
    replace_collapsed: bool = True,
) -> Consensus:
    """The consensus of a model, or of the next best model if it collapsed or is too large.

    A model is too large if it would take more memory or time than the limits of `core.limits`.
    `find_collapse` tells when a consensus has collapsed. The next best models are `AnnotatorTypes`,
    `OneCoin` and `Majority`, in this order, and before them `OrdinalDawidSkene` for an ordinal
    model. `warnings` of the consensus say what happened, and
    they are issued as `ConsensusWarning`. Without `replace_collapsed` they only warn.
    """
    annotations = as_annotations(annotations)
    try:
        consensus, texts = model.fit(annotations, known), []
    except TooLargeError as error:
        if not replace_collapsed or model.kind == "multilabel":
            raise
        consensus = _next_best(model, annotations, known)
        texts = [f"{error}; {consensus.method_name} is used instead"]
    if consensus.probabilities is None:
        return consensus
    texts += _without_agreement(consensus)
    can_collapse = consensus.method_name == model.name and annotations.kind != "multilabel"
    reason = find_collapse(consensus) if can_collapse else ""
    if reason and replace_collapsed:
        consensus = _next_best(model, annotations, known)
    if reason:
        used = consensus.method_name
        instead = f"{used} is used instead" if used != model.name else "do not rely on it"
        texts.append(f"the consensus of {model.name} collapsed: {reason}; {instead}")
    for text in texts:
        warnings.warn(text, ConsensusWarning, stacklevel=3)
    return replace(consensus, warnings=tuple(texts))


class CollapseSums(NamedTuple):
    """Numbers of items and labels that show whether a consensus of classes must be wrong.

    `n_unanimous` items have three equal labels or more, and the consensus contradicts `n_other` of
    them. `said_k` are labels of each class; it finds `found_k` of `n_labelled` items to be of it.
    """

    n_unanimous: int
    n_other: int
    said_k: Floats
    found_k: Floats
    n_labelled: int


def collapse_sums(
    evidence: Evidence, estimates: Mapping[str, Any], mean_k: Floats | None = None
) -> CollapseSums:
    """These sums over items with such probabilities; `mean_k` is the mean of all of them."""
    ann, p_ik = evidence.annotations, np.asarray(estimates["probabilities"])
    counts_ik, found_i = ann.label_counts(), most_probable(p_ik, mean_k)[0]
    unanimous = (counts_ik.max(axis=1) == ann.labels_per_item) & (ann.labels_per_item >= _UNANIMOUS)
    unanimous &= ~evidence.is_known
    labelled = ann.labels_per_item > 0
    return CollapseSums(
        int(unanimous.sum()),
        int((found_i[unanimous] != counts_ik[unanimous].argmax(axis=1)).sum()),
        counts_ik.sum(axis=0),
        np.bincount(found_i[labelled], minlength=ann.n_classes).astype(np.float64),
        int(labelled.sum()),
    )


def find_collapse(consensus: Consensus) -> str:
    """Why a consensus of classes must be wrong; empty if nothing shows it.

    - It contradicts most of the items whose labels are unanimous, three labels or more.
    - Classes that people use are lost: they have 15 % of all labels, and the consensus finds them
      less than a quarter as often; or 25 %, and less than half as often. Majority voting is
      excepted, and so is `AnnotatorTypes`: it takes labels for spam that do not go with others.
      Ordinal models are excepted too: they take rare high labels for mistakes of a level nearby.
    """
    sums = collapse_sums(consensus.evidence, {"probabilities": consensus.probabilities})
    return collapse_reason(sums, consensus.method_name, consensus.annotations.classes)


def collapse_reason(sums: CollapseSums, method: str, classes: AnyArray) -> str:
    """Why a consensus by this method must be wrong; see `find_collapse`."""
    return _contradiction(sums) or _lost_classes(sums, method, classes)


def _contradiction(sums: CollapseSums) -> str:
    if sums.n_unanimous < _FEW_ITEMS or sums.n_other <= sums.n_unanimous / 2:
        return ""
    return f"it contradicts {sums.n_other} of {sums.n_unanimous} items whose labels are unanimous"


def _lost_classes(sums: CollapseSums, method: str, classes: AnyArray) -> str:
    if method in _MAY_LOSE_CLASSES or sums.n_labelled < _FEW_ITEMS:
        return ""
    said_k = sums.said_k / sums.said_k.sum()
    found_k = sums.found_k / sums.n_labelled
    for found_at_most, of_labels in _LOST:
        lost_k = found_k < found_at_most * said_k
        if said_k[lost_k].sum() >= of_labels:
            names = ", ".join(str(name) for name in classes[lost_k][:3])
            more = "" if lost_k.sum() <= 3 else f" and {lost_k.sum() - 3} more"
            return (
                f"{said_k[lost_k].sum():.0%} of the labels are {names}{more}, and it finds "
                f"{found_k[lost_k].sum():.0%} of the items to be so"
            )
    return ""


def _next_best(failed: Aggregator[Any], annotations: Annotations, known: Truth | None) -> Consensus:
    """The consensus of another model, on the same device."""
    models: list[Aggregator[Any]] = [OrdinalDawidSkene()] if failed.kind == "ordinal" else []
    models += [AnnotatorTypes(device=failed.device), OneCoin(device=failed.device)]
    for model in models:
        if model.name == failed.name:
            continue
        try:
            found = model.fit(annotations, known)
        except TooLargeError:
            continue
        if not find_collapse(found):
            return found
    return Majority(device=failed.device).fit(annotations, known)


def _without_agreement(consensus: Consensus) -> list[str]:
    ann = consensus.annotations
    n_paired = int((ann.labels_per_item >= 2).sum())
    if ann.kind == "multilabel":
        found = alpha(ann, interval="none").value
        return agreement_warnings(found, n_paired, "alpha of sets")
    if ann.ordered:  # near labels agree more than by chance too
        found = alpha(ann, level="ordinal", interval="none").value
        return agreement_warnings(found, n_paired, "ordinal alpha")
    return agreement_warnings(fleiss(ann, interval="none").value, n_paired)


def agreement_warnings(
    kappa: float, n_paired: int, coefficient: str = "Fleiss' kappa"
) -> list[str]:
    """What Fleiss' kappa of so many items with two labels or more warns of."""
    if n_paired < _FEW_ITEMS or np.isnan(kappa) or kappa > _NO_AGREEMENT:
        return []
    return [
        f"annotators hardly agree more than by chance ({coefficient} {kappa:.2f}): the consensus "
        "may be no better than a guess"
    ]
