"""A consensus that collapsed is found, named and replaced; labels without agreement are named."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from manyhands.aggregation.annotator_types import AnnotatorTypes
from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import most_probable
from manyhands.aggregation.majority import Majority
from manyhands.aggregation.one_coin import OneCoin
from manyhands.agreement import fleiss_kappa
from manyhands.annotations import Annotations, Labels, as_annotations
from manyhands.core.errors import TooLargeError

# Classes are lost if they are found less often than this share of how often they are said; and the
# share of the labels that lost classes have before a consensus has collapsed.
_LOST = ((0.25, 0.15), (0.5, 0.25))
_UNANIMOUS = 3  # labels of an item that make it unanimous
_FEW_ITEMS = 10  # fewer items show nothing
_NO_AGREEMENT = 0.03  # Fleiss' kappa up to which annotators hardly agree more than by chance


class ConsensusWarning(UserWarning):
    """A consensus should not be believed as it is: the text says why."""


def fit_guarded(
    model: Aggregator[Any],
    annotations: Labels,
    known: Mapping[Any, Any] | None = None,
    *,
    replace_collapsed: bool = True,
) -> Consensus:
    """The consensus of a model, or of the next best model if it collapsed or is too large.

    A model is too large if it would take more memory or time than the limits of `core.limits`.
    `find_collapse` tells when a consensus has collapsed. The next best models are `AnnotatorTypes`,
    `OneCoin` and `Majority`, in this order. `warnings` of the consensus say what happened, and
    they are issued as `ConsensusWarning`. Without `replace_collapsed` they only warn.
    """
    annotations = as_annotations(annotations)
    try:
        consensus, texts = model.fit(annotations, known), []
    except TooLargeError as error:
        if not replace_collapsed:
            raise
        consensus = _next_best(model, annotations, known)
        texts = [f"{error}; {consensus.method_name} is used instead"]
    if consensus.probabilities is None:
        return consensus
    texts += _without_agreement(consensus)
    reason = find_collapse(consensus) if consensus.method_name == model.name else ""
    if reason and replace_collapsed:
        consensus = _next_best(model, annotations, known)
    if reason:
        used = consensus.method_name
        instead = f"{used} is used instead" if used != model.name else "do not rely on it"
        texts.append(f"the consensus of {model.name} collapsed: {reason}; {instead}")
    for text in texts:
        warnings.warn(text, ConsensusWarning, stacklevel=3)
    return replace(consensus, warnings=tuple(texts))


def find_collapse(consensus: Consensus) -> str:
    """Why a consensus of classes must be wrong; empty if nothing shows it.

    - It contradicts most of the items whose labels are unanimous, three labels or more.
    - Classes that people use are lost: they have 15 % of all labels, and the consensus finds them
      less than a quarter as often; or 25 %, and less than half as often. Majority voting is
      excepted, and so is `AnnotatorTypes`: it takes labels for spam that do not go with others.
    """
    return _contradiction(consensus) or _lost_classes(consensus)


def _contradiction(consensus: Consensus) -> str:
    ann = consensus.annotations
    counts_ik = ann.label_counts()
    unanimous = (counts_ik.max(axis=1) == ann.labels_per_item) & (ann.labels_per_item >= _UNANIMOUS)
    unanimous &= ~consensus.evidence.is_known
    n_items = int(unanimous.sum())
    if n_items < _FEW_ITEMS:
        return ""
    found_i = most_probable(np.asarray(consensus.probabilities)[unanimous])[0]
    n_other = int((found_i != counts_ik[unanimous].argmax(axis=1)).sum())
    if n_other <= n_items / 2:
        return ""
    return f"it contradicts {n_other} of {n_items} items whose labels are unanimous"


def _lost_classes(consensus: Consensus) -> str:
    ann = consensus.annotations
    labelled = ann.labels_per_item > 0
    excepted = consensus.method_name in (AnnotatorTypes.name, Majority.name)
    if excepted or labelled.sum() < _FEW_ITEMS:
        return ""
    said_k = np.bincount(ann.label, minlength=ann.n_classes) / ann.n_annotations
    found_i = most_probable(np.asarray(consensus.probabilities)[labelled])[0]
    found_k = np.bincount(found_i, minlength=ann.n_classes) / labelled.sum()
    for found_at_most, of_labels in _LOST:
        lost_k = found_k < found_at_most * said_k
        if said_k[lost_k].sum() >= of_labels:
            names = ", ".join(str(name) for name in ann.classes[lost_k][:3])
            more = "" if lost_k.sum() <= 3 else f" and {lost_k.sum() - 3} more"
            return (
                f"{said_k[lost_k].sum():.0%} of the labels are {names}{more}, and it finds "
                f"{found_k[lost_k].sum():.0%} of the items to be so"
            )
    return ""


def _next_best(
    failed: Aggregator[Any], annotations: Annotations, known: Mapping[Any, Any] | None
) -> Consensus:
    """The consensus of another model, on the same device."""
    for model in (AnnotatorTypes(device=failed.device), OneCoin(device=failed.device)):
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
    kappa = fleiss_kappa(ann)
    n_paired = int((ann.labels_per_item >= 2).sum())
    if n_paired < _FEW_ITEMS or np.isnan(kappa) or kappa > _NO_AGREEMENT:
        return []
    return [
        f"annotators hardly agree more than by chance (Fleiss' kappa {kappa:.2f}): the consensus "
        "may be no better than a guess"
    ]
