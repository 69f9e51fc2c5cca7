"""Load a consensus that `save` wrote."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.catalog import AGGREGATORS
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.parameters import Parameters
from manyhands.aggregation.quality import Quality
from manyhands.aggregation.saving import NAME, OPTIONAL, TRAITS
from manyhands.aggregation.tokens import TokenConsensus, with_spans
from manyhands.annotations import Annotations, Sentences, Vocabulary
from manyhands.core.arrays import AnyArray, read_only
from manyhands.core.errors import DataError, ManyhandsError, first_line
from manyhands.io.bundle import read_bundle, under

Arrays = Mapping[str, AnyArray]


def load_consensus(folder: str | Path) -> Consensus | TokenConsensus:
    """The consensus in a folder; `update` and `predict` continue as before it was saved."""
    stored, header = read_bundle(folder, NAME)
    arrays = {name: each.copy() for name, each in stored.items()}  # stored ones are read-only
    try:
        consensus = _consensus(arrays, header)
        if "sentence_names" not in header:
            return consensus
        return with_spans(_sentences(arrays, header["sentence_names"]), consensus)
    except ManyhandsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(
            f"{folder}: the consensus does not fit its description: {first_line(error)}"
        ) from error


def _consensus(arrays: Arrays, header: Mapping[str, Any]) -> Consensus:
    method = None if header["method"] is None else AGGREGATORS[header["method"]]
    fields: dict[str, Any] = {name: arrays[name] for name in OPTIONAL if name in arrays}
    for field in TRAITS:
        fields[field] = {name: arrays[f"{field}.{name}"] for name in header[field]}
    if method is not None:
        fields["method"] = _aggregator(method, header["settings"])
        fields["parameters"] = _parameters(method.parameters_type, arrays)
    return Consensus(
        annotations=_annotations(arrays, header),
        quality=Quality.from_interval(
            arrays["quality"], arrays["quality_low"], arrays["quality_high"]
        ),
        known=arrays["known"],
        cannot_continue=header["cannot_continue"],
        objective=tuple(arrays["objective"].tolist()),
        converged=header["converged"],
        temperature=header["temperature"],
        **fields,
    )


def _annotations(arrays: Arrays, header: Mapping[str, Any]) -> Annotations:
    names = _names(arrays, header["names"])
    classes = Vocabulary(names["classes"], "class") if "classes" in names else None
    return Annotations(
        read_only(arrays["item"]),
        read_only(arrays["annotator"]),
        read_only(arrays["label"]),
        Vocabulary(names["items"], "item"),
        Vocabulary(names["annotators"], "annotator"),
        classes,
        header["backend"],
    )


def _sentences(arrays: Arrays, lists: Mapping[str, list[Any]]) -> Sentences:
    names = _names(arrays, lists)
    return Sentences(names["words"], read_only(arrays["sentence_offsets"]), names["sentences"])


def _names(arrays: Arrays, lists: Mapping[str, list[Any]]) -> dict[str, AnyArray]:
    names = under("names.", arrays)
    for key, each in lists.items():
        names[key] = np.empty(len(each), dtype=object)
        names[key][:] = each
    return {key: read_only(each) for key, each in names.items()}


def _aggregator(method: type[Aggregator[Any]], settings: Mapping[str, Any]) -> Aggregator[Any]:
    hints = get_type_hints(method)
    return method(**{name: _setting(hints[name], value) for name, value in settings.items()})


def _setting(hint: Any, value: Any) -> Any:
    if isinstance(value, list):  # matrices by name
        return {name: np.array(matrix) for name, matrix in value}
    return float(value) if hint is float else value


def _parameters(make: type[Parameters], arrays: Arrays) -> Parameters:
    fields = under("parameters.", arrays)
    return make(**{name: each if each.ndim else each.item() for name, each in fields.items()})
