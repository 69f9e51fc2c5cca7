"""The call that makes a consensus: by the default, by a named method, or by one chosen for it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from manyhands.aggregation.base import Aggregator, read_kind
from manyhands.aggregation.catalog import (
    AGGREGATORS,
    default_method,
    make_aggregator,
)
from manyhands.aggregation.compare import affordable, leave_one_label_out, predict_validation_labels
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.guard import fit_guarded
from manyhands.aggregation.pairs import Ranking, fit_ranking, means_pairs
from manyhands.annotations import Annotations, Comparisons, Labels, Truth, as_annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import require
from manyhands.evaluation import paired_difference

_COLUMNS = ("item", "annotator", "label")
AUTO = "auto"
CANDIDATES = (
    "annotator-types",
    "majority",
    "one-coin",
    "dawid-skene",
    "ebcc",
    "worker-clustering",
)
_ORDINAL = ("ordinal-thresholds", "ordinal-dawid-skene")  # before them, for ordinal labels


@overload
def aggregate(annotations: Comparisons, method: str | None = None, **settings: Any) -> Ranking: ...


@overload
def aggregate(
    annotations: Labels,
    method: str | Aggregator[Any] | None = None,
    *,
    known: Truth | None = None,
    **settings: Any,
) -> Consensus: ...


def aggregate(
    annotations: Labels,
    method: str | Aggregator[Any] | None = None,
    *,
    known: Truth | None = None,
    **settings: Any,
) -> Consensus | Ranking:
    """The consensus of a set of labels by a method of `AGGREGATORS`, or the ranking of items.

    A method is a name, or an aggregator with its settings: `DawidSkene(max_iter=20)`.

    `Comparisons`, or a frame with two items and a winner in a row, become a `Ranking` by a method
    of `PAIR_AGGREGATORS`; `left`, `right`, `annotator` and `winner` name columns of a frame.

    Labels are `Annotations`, or what `as_annotations` makes them of: a long frame, a matrix of
    items x annotators, or {item: {annotator: label}}. `item`, `annotator` and `label` name columns
    of a frame.

    Without a method it is annotator-types for classes, ordinal-thresholds for ordinal labels,
    multilabel-mixture for sets of classes and gaussian for numbers. `settings` are those of the
    method; `known` maps some items to their certain truths, by default those that the
    file marks as such (`annotations.source.known`).

    "auto" takes the method of `CANDIDATES` under which labels held out of the fit are most
    probable, one label of every item with three or more; `chosen` of the consensus says by how
    much. It takes as long as all of them together, and it is not more accurate than the default on
    public label sets.

    `warnings` of the consensus tell why it should not be believed: it collapsed, or annotators do
    not agree more than by chance. Without a method a collapsed consensus is replaced by that of
    the next best method; a method that you name is kept.

    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> aggregate(ann, method="majority").confidence.round(2).tolist()
    [0.67, 1.0, 1.0]
    >>> aggregate(ann, method="dawid-skene", max_iter=5).n_iterations
    5
    """
    method, model = _named(method)
    if means_pairs(annotations, method):
        if known is not None:
            raise SettingError("known truths are for labels of items, not for comparisons")
        return fit_ranking(annotations, method, settings)
    columns = {name: settings.pop(name) for name in _COLUMNS if name in settings}
    if model is not None and settings:
        raise SettingError(f"give {', '.join(settings)} to {type(model).__name__}, not beside it")
    kind = None if method in (None, AUTO) else read_kind(AGGREGATORS[str(method)].kind)
    annotations = (
        Annotations.from_frame(annotations, kind=kind, **columns)
        if columns
        else as_annotations(annotations, kind=kind)
    )
    if known is None:
        known = _marked_truths(annotations)
    name, why = method or default_method(annotations), ""
    if name == AUTO:
        if settings:
            raise SettingError(f"auto has no settings; got {', '.join(settings)}")
        name, why = _choose(annotations)
    model = model or make_aggregator(name, settings)
    replaceable = method is None or method == AUTO
    consensus = fit_guarded(model, annotations, known, replace_collapsed=replaceable)
    return replace(consensus, chosen=why) if why else consensus


def _named(method: Any) -> tuple[str | None, Aggregator[Any] | None]:
    """The name of a method, and the aggregator if it is one."""
    if method is None or isinstance(method, str):
        return method, None
    if isinstance(method, type) or not hasattr(method, "require_affordable"):
        require(False, "method", "a name of AGGREGATORS, or an aggregator: DawidSkene()", method)
    return method.name, method


def _marked_truths(annotations: Annotations) -> Mapping[Any, Any]:
    """The truths that the file of the labels marks as such, of the items that are here."""
    marked = {} if annotations.source is None else annotations.source.known
    codes = annotations.item_vocabulary.codes(list(marked)).tolist()
    return {item: marked[item] for item, code in zip(marked, codes, strict=True) if code >= 0}


def _choose(annotations: Annotations) -> tuple[str, str]:
    """The best candidate for these labels, and why."""
    if annotations.kind != "classes":
        what = {"numbers": "numbers", "multilabel": "sets of classes"}[annotations.kind]
        raise SettingError(f"auto chooses among methods for classes; these labels are {what}")
    default = default_method(annotations)
    try:
        train, validation = leave_one_label_out(annotations, seed=0)
    except DataError as error:
        return default, f"{default}, the default: {error}"
    log_likelihood: dict[str, Floats] = {}
    item_n: AnyArray = np.empty(0)
    names = affordable((*_ORDINAL * annotations.ordered, *CANDIDATES), annotations)
    for name in names:
        predictions = predict_validation_labels(AGGREGATORS[name](), train, validation)
        log_likelihood[name] = predictions.log_likelihood_n
        item_n = predictions.item[predictions.row]
    first, second = sorted(names, key=lambda name: -log_likelihood[name].mean())[:2]
    gain = paired_difference(log_likelihood[first], log_likelihood[second], item_n)
    return first, (
        f"{first}, the best of {len(names)} methods on {len(item_n)} held-out labels: log-"
        f"probability {log_likelihood[first].mean():.3f}, {gain} against {second}"
    )
