"""How well a method foretells labels it has not seen: a score that needs no truth."""

from typing import Any

import numpy as np

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.consensus import Consensus
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.confusions import symmetric_confusions
from manyhands.core.errors import DataError
from manyhands.core.seeds import generator
from manyhands.evaluation import LabelPredictions

_FEWEST = 3  # labels an item needs before one of them is taken away


def validation_score(method: Aggregator[Any], annotations: Annotations, *, seed: int = 0) -> float:
    """The mean log-probability of one label per item, taken away before fitting; higher is better.

    p(y_n) = sum_k q_ik C[a_n, k, y_n] with q and C from the other labels. A method without
    confusions is given those of a coin with each annotator's quality. For numbers, the labels
    are normal around the consensus, with each annotator's bias and noise. Items with fewer than
    three labels lose none.
    """
    kept, held = leave_one_label_out(annotations.as_kind(method.kind), seed)
    consensus = method.fit(kept)
    item, annotator, label = held.item, held.annotator, held.label
    if consensus.probabilities is None:
        return float(_log_p_numbers(consensus, item, annotator, label).mean())
    p_n = (consensus.probabilities[item] * _confusion(consensus)[annotator, :, label]).sum(axis=1)
    return float(_log(p_n).mean())


def predicted_labels(
    method: Aggregator[Any], kept: Annotations, held: Annotations
) -> LabelPredictions:
    """Labels of classes beside what a method says of them that was fitted to the others."""
    consensus = method.fit(kept)
    assert consensus.probabilities is not None, "labels are classes here"
    item, row = np.unique(held.item, return_inverse=True)
    class_nk, confusion_akl = consensus.probabilities[held.item], _confusion(consensus)
    # Label by label: a matrix for every annotation would take K times the memory.
    p_nl = np.stack(
        [
            (class_nk * confusion_akl[held.annotator, :, label]).sum(axis=1)
            for label in range(kept.n_classes)
        ],
        axis=1,
    )
    log_class_ik = _log(consensus.probabilities[item])
    return LabelPredictions(item, row.astype(np.int32), held.label, log_class_ik, _log(p_nl))


def _confusion(consensus: Consensus) -> Floats:
    """Everybody's portrait; a coin of their quality where the method draws none."""
    if consensus.confusion is not None:
        return consensus.confusion
    return symmetric_confusions(consensus.annotator_quality, consensus.annotations.n_classes)


def _log(probability: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(probability, np.finfo(np.float64).tiny)))


def leave_one_label_out(annotations: Annotations, seed: int) -> tuple[Annotations, Annotations]:
    """The labels without one of every item that can spare one, and those taken away.

    A repeat of a label taken away would give it away, so the whole (item, annotator) pair goes.
    """
    held = _one_label_each(annotations, seed)
    if len(held) == 0:
        raise DataError("no item has three labels or more, so none can be held out")
    pair = annotations.item.astype(np.int64) * annotations.n_annotators + annotations.annotator
    return annotations.only(~np.isin(pair, pair[held])), annotations.only(held)


def _one_label_each(annotations: Annotations, seed: int) -> AnyArray:
    """The position of one random label of every item that can spare one."""
    n_i = annotations.labels_per_item
    rich = np.flatnonzero(n_i >= _FEWEST)
    draw = generator(seed, "held-out labels").random(len(rich))
    return annotations.item_offsets[rich] + (draw * n_i[rich]).astype(np.int64)


def _log_p_numbers(
    consensus: Consensus, item: AnyArray, annotator: AnyArray, label: AnyArray
) -> Floats:
    assert consensus.spread is not None, "a consensus of numbers holds its spread"
    bias_a, noise_a = (consensus.annotator_traits[trait] for trait in ("bias", "noise"))
    variance = consensus.spread[item] ** 2 + noise_a[annotator] ** 2
    off = label - consensus.labels[item] - bias_a[annotator]
    return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + off**2 / variance))
