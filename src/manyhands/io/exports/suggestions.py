"""A consensus as annotation tools import it: Label Studio, Prodigy and Argilla.

The functions take items, labels and confidences of equal length, and `source`, the labels as they
were read from the tool: it has the data of the items and the question that the labels answer.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from manyhands.core.errors import DataError, SettingName
from manyhands.io.exports.exported import ExportedLabels
from manyhands.io.exports.label_studio import PATH
from manyhands.io.exports.prodigy import NOT

# How a control of Label Studio keeps a label.
_VALUES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "choices": lambda label: {"choices": [str(label)]},
    "rating": lambda label: {"rating": int(float(label))},
    "number": lambda label: {"number": float(label)},
    "taxonomy": lambda label: {"taxonomy": [str(label).split(PATH)]},
    "pairwise": lambda label: {"selected": str(label)},
}


def predictions_for_label_studio(
    items: Iterable[Any],
    labels: Iterable[Any],
    confidence: Iterable[float],
    *,
    source: ExportedLabels,
    model_version: str = "manyhands",
    to_name: str | None = None,
) -> list[dict[str, Any]]:
    """Tasks with a prediction each, to import into a Label Studio project.

    `to_name` is the object that the control labels; a JSON export has it, JSON-MIN and CSV do not.
    """
    found = label_studio_predictions(
        items, labels, confidence, source=source, model_version=model_version, to_name=to_name
    )
    return [
        {
            "id": each["task"],
            "data": _data(source, each["task"]),
            "predictions": [{key: each[key] for key in ("model_version", "score", "result")}],
        }
        for each in found
    ]


def label_studio_predictions(
    items: Iterable[Any],
    labels: Iterable[Any],
    confidence: Iterable[float],
    *,
    source: ExportedLabels,
    model_version: str = "manyhands",
    to_name: str | None = None,
) -> list[dict[str, Any]]:
    """Predictions for tasks that exist, one call of Label Studio's /api/predictions each."""
    _require_tool(source, "label-studio", "label-studio-table")
    question = source.question
    target = to_name or question["to_name"]
    if not target:
        raise DataError(
            "the export does not tell which object the control labels; give ",
            SettingName("to_name", ...), " (toName in the labelling interface)",
        )  # fmt: skip
    place = {"from_name": question["from_name"], "to_name": target, "type": question["type"]}
    return [
        {
            "task": item,
            "model_version": model_version,
            "score": score,
            "result": [place | {"value": _VALUES[question["type"]](label)}],
        }
        for item, label, score in _rows(items, labels, confidence)
    ]


def tasks_for_prodigy(
    items: Iterable[Any],
    labels: Iterable[Any],
    confidence: Iterable[float],
    *,
    source: ExportedLabels,
    model_version: str = "manyhands",
) -> list[dict[str, Any]]:
    """Tasks with the consensus chosen: an accepted option, or the answer to a label."""
    _require_tool(source, "prodigy")
    tasks = []
    for item, label, score in _rows(items, labels, confidence):
        task = dict(_data(source, item))
        meta = {"score": score, "model_version": model_version}
        task["meta"] = (task.get("meta") or {}) | meta
        if source.question["kind"] == "choice":
            task["accept"] = [label]
        elif source.question["kind"] == "label":
            task["answer"] = "reject" if label == f"{NOT}{source.question['label']}" else "accept"
        else:
            task["answer"] = label
        tasks.append(task)
    return tasks


def suggestions_for_argilla(
    items: Iterable[Any],
    labels: Iterable[Any],
    confidence: Iterable[float],
    *,
    source: ExportedLabels,
    model_version: str = "manyhands",
) -> list[dict[str, Any]]:
    """Records with a suggestion each, as `Record.from_dict` of Argilla takes them."""
    _require_tool(source, "argilla")
    question = source.question["question"]
    return [
        {
            "id": item,
            "fields": _data(source, item),
            "suggestions": {question: {"value": label, "score": score, "agent": model_version}},
        }
        for item, label, score in _rows(items, labels, confidence)
    ]


def items_to_relabel(items: Iterable[Any], *, source: ExportedLabels) -> list[dict[str, Any]]:
    """Items without labels, to import into the tool again; rows of a CSV file for Mechanical Turk.

    Items of plain tables are rows with what the table has of them.
    """
    make = _IMPORTS.get(source.tool, _row)
    return [make(_plain(item), _data(source, item)) for item in items]


def _row(item: Any, data: dict[str, Any]) -> dict[str, Any]:
    return {"id": item} | data


# What the tools import, made from an item and its data.
_IMPORTS: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {
    "label-studio": lambda item, data: {"id": item, "data": data},
    "label-studio-table": lambda item, data: {"id": item, "data": data},
    "prodigy": lambda item, data: dict(data),
    "argilla": lambda item, data: {"id": item, "fields": data},
    "mturk": lambda item, data: dict(data),
}


def _rows(
    items: Iterable[Any], labels: Iterable[Any], confidence: Iterable[float]
) -> Iterator[tuple[Any, Any, float]]:
    """Items, labels and confidences as plain values that can be written as JSON."""
    columns = [list(items), list(labels), list(confidence)]
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1:
        raise DataError(
            f"items, labels and confidence must have one entry per item; got {sizes[0]}, "
            f"{sizes[1]} and {sizes[2]}"
        )
    for item, label, score in zip(*columns, strict=True):
        yield _plain(item), _plain(label), round(float(score), 6)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _data(source: ExportedLabels, item: Any) -> dict[str, Any]:
    if item in source.data:
        return source.data[item]
    by_text = {str(key): fields for key, fields in source.data.items()}
    if str(item) not in by_text:
        raise DataError(f"the export has no item {item!r}; give items of the export only")
    return by_text[str(item)]


def _require_tool(source: ExportedLabels, *tools: str) -> None:
    if source.tool not in tools:
        raise DataError(f"the labels were exported from {source.tool}, not from {tools[0]}")
