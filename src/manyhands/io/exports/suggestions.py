"""What annotation tools import: the consensus as suggestions, and items without labels.

A tool is a `ToolImport` of `TOOL_IMPORTS`: the suffix of the files that it imports, and two
functions that make one entry of such a file.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from manyhands.annotations import TokenizedTexts
from manyhands.annotations.vocabulary import name_to_text
from manyhands.core.errors import DataError, SettingName
from manyhands.io.exports.exported import ExportedLabels
from manyhands.io.exports.label_studio import PATH
from manyhands.io.exports.prodigy import NOT

Entry = dict[str, Any]


class Believed(NamedTuple):
    """The consensus of one item; `score` is None if the confidence is not known."""

    item: Any
    label: Any
    score: float | None
    probabilities: Mapping[Any, float] | None = None  # of the classes; None for numbers


class ItemTexts(Mapping[Any, Mapping[str, Any]]):
    """The texts of a table by item; they are looked up when they are asked for.

    `columns` holds the column of items and columns of texts. The first row of an item counts.
    """

    def __init__(self, item: str, columns: Mapping[str, Any]) -> None:
        self._item, self._columns = item, columns

    @cached_property
    def _by_item(self) -> dict[Any, dict[str, Any]]:
        names = [name for name in self._columns if name != self._item]
        items, *texts = (
            self._columns[name].to_pylist() for name in (self._item, *names)
        )  # fmt: skip
        found: dict[Any, dict[str, Any]] = {}
        for item, *cells in zip(items, *texts, strict=True):
            if item not in found:
                found[item] = dict(zip(names, cells, strict=True))
        return found

    def __getitem__(self, item: Any) -> Mapping[str, Any]:
        return self._by_item[item]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._by_item)

    def __len__(self) -> int:
        return len(self._by_item)


@dataclass(frozen=True)
class ToolItems:
    """What goes back into a tool beside the consensus.

    Parameters
    ----------
    tool : str
        Name of the format in `EXPORTS`; empty for a plain table.
    data : Mapping
        What the file holds of every item.
    own : Mapping
        What the tool keeps of an item beside its data: its id in the tool, metadata.
    question : dict
        Where the tool keeps the label.
    labels : tuple
        All labels that annotators gave, as they are in the export.
    texts : TokenizedTexts
        The texts and their tokens, if the labels are spans.
    """

    tool: str
    data: Mapping[Any, Mapping[str, Any]]
    own: Mapping[Any, Mapping[str, Any]] = field(default_factory=dict)
    question: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[Any, ...] = ()
    texts: TokenizedTexts | None = None

    @classmethod
    def of(cls, found: ExportedLabels) -> "ToolItems":
        """Those of an export that was read."""
        labels = tuple({name_to_text(label): label for label in found.label}.values())
        return cls(found.tool, found.data, found.own, found.question, labels)

    @cached_property
    def _names(self) -> dict[str, Any]:
        return {name_to_text(name): name for name in self.data}

    @cached_property
    def _said(self) -> dict[str, Any]:
        return {name_to_text(label): label for label in self.labels}

    @cached_property
    def _numbers(self) -> dict[float, Any]:
        numbers = ((_number(label), label) for label in self.labels)
        return {number: label for number, label in numbers if math.isfinite(number)}

    def name_of(self, item: Any) -> Any:
        """An item as the export names it: 7 or "7"."""
        if name_to_text(item) not in self._names:
            raise DataError(f"the export has no item {item!r}; give the labels of this export")
        return self._names[name_to_text(item)]

    def said(self, label: Any, *, numbers: bool) -> Any:
        """A label as the export has it.

        A number becomes the nearest label that was given, unless the tool asks for any number.
        """
        if numbers and self.question.get("type") == "number":
            return float(label)
        if numbers:
            return self._numbers[min(self._numbers, key=lambda number: abs(number - label))]
        return self._said.get(name_to_text(label), label)

    def data_of(self, item: Any) -> Entry:
        """What the export holds of an item."""
        return dict(self.data[item])

    def own_of(self, item: Any) -> Entry:
        """The id of an item in the tool, and what else the tool keeps beside the data."""
        return dict(self.own.get(item, {"id": item}))


@dataclass(frozen=True)
class ToolImport:
    """The files that a tool imports: their suffix, and how an item becomes an entry of them."""

    tool: str
    suffix: str
    suggestion: (
        Callable[[Believed, ToolItems, str], Any] | None
    )  # None: the export tells too little
    bare: Callable[[Any, ToolItems], Entry] | None = None  # None: as a plain table


# How a control of Label Studio keeps a label.
_VALUES: dict[str, Callable[[Any], Entry]] = {
    "choices": lambda label: {"choices": [str(label)]},
    "rating": lambda label: {"rating": int(float(label))},
    "number": lambda label: {"number": float(label)},
    "taxonomy": lambda label: {"taxonomy": [str(label).split(PATH)]},
    "pairwise": lambda label: {"selected": str(label)},
}


def _label_studio_task(item: Any, items: ToolItems) -> Entry:
    return items.own_of(item) | {"data": items.data_of(item)}


def _label_studio_prediction(believed: Believed, items: ToolItems, version: str) -> Entry:
    question = items.question
    place = {key: question[key] for key in ("from_name", "to_name", "type")}
    value = _VALUES[question["type"]](believed.label)
    prediction = {
        "model_version": version,
        "score": believed.score,
        "result": [{"id": "result1"} | place | {"value": value}],
    }
    return _label_studio_task(believed.item, items) | {"predictions": [prediction]}


def _prodigy_task(item: Any, items: ToolItems) -> Entry:
    """A task without what Prodigy itself adds; the hash of the input stays, it names the item."""
    data = items.data_of(item)
    task = {key: data[key] for key in data if key == "_input_hash" or not key.startswith("_")}
    return task | ({"label": items.question["label"]} if "label" in items.question else {})


def _prodigy_suggestion(believed: Believed, items: ToolItems, version: str) -> Entry:
    task = _prodigy_task(believed.item, items)
    score = {} if believed.score is None else {"score": believed.score}
    task["meta"] = (task.get("meta") or {}) | score | {"model_version": version}
    kind = items.question["kind"]
    if kind == "choice":
        return task | {"accept": [believed.label]}
    if kind == "label":
        rejected = believed.label == f"{NOT}{items.question['label']}"
        return task | {"answer": "reject" if rejected else "accept"}
    return task | {"answer": believed.label}


def _argilla_record(item: Any, items: ToolItems) -> Entry:
    return items.own_of(item) | {"fields": items.data_of(item)}


def _argilla_suggestion(believed: Believed, items: ToolItems, version: str) -> Entry:
    suggestion = {"value": believed.label, "score": believed.score, "agent": version}
    named = {items.question["question"]: suggestion}
    return _argilla_record(believed.item, items) | {"suggestions": named}


def _doccano_document(item: Any, items: ToolItems) -> Entry:
    data = {key: value for key, value in items.data_of(item).items() if key != "Comments"}
    if "text" not in data and "data" in data:
        data["text"] = data.pop("data")
    return items.own_of(item) | data


def _doccano_suggestion(believed: Believed, items: ToolItems, version: str) -> Entry:
    return _doccano_document(believed.item, items) | {"label": [believed.label]}


def _mturk_row(item: Any, items: ToolItems) -> Entry:
    data = items.data_of(item)
    if not data:
        raise DataError("the results have no column Input.NAME, so no batch can be made of them")
    return data


def _mturk_suggestion(believed: Believed, items: ToolItems, version: str) -> Entry:
    added = {"suggestion": believed.label, "suggestion_score": believed.score}
    return _mturk_row(believed.item, items) | added


def _lewidi_soft_label(believed: Believed, items: ToolItems, version: str) -> list[Any]:
    """The item and its probabilities in the order of the classes, without a header."""
    if not believed.probabilities:
        raise DataError(
            "a soft label has a probability per class, and the consensus is of numbers; read the "
            "labels with ", SettingName("kind", "classes"),
        )  # fmt: skip
    classes = believed.probabilities
    order = sorted(classes, key=lambda name: (_number(name), str(name)))
    return [believed.item, str([round(float(classes[name]), 9) for name in order])]


def _number(label: Any) -> float:
    """The number that a label is, infinite for other labels."""
    try:
        return float(label)
    except (TypeError, ValueError):
        return math.inf


TOOL_IMPORTS: dict[str, ToolImport] = {
    "label-studio": ToolImport(
        "Label Studio", ".json", _label_studio_prediction, _label_studio_task
    ),
    "label-studio-table": ToolImport("Label Studio", ".json", None, _label_studio_task),
    "prodigy": ToolImport("Prodigy", ".jsonl", _prodigy_suggestion, _prodigy_task),
    "argilla": ToolImport("Argilla", ".json", _argilla_suggestion, _argilla_record),
    "doccano": ToolImport("doccano", ".jsonl", _doccano_suggestion, _doccano_document),
    "mturk": ToolImport("Mechanical Turk", ".csv", _mturk_suggestion, _mturk_row),
    "lewidi": ToolImport("LeWiDi", ".tsv", _lewidi_soft_label),
}


def bare_entry(item: Any, items: ToolItems) -> Entry:
    """An item without labels, as its tool imports it."""
    make = TOOL_IMPORTS[items.tool].bare
    assert make is not None, "the target was checked"
    return make(item, items)
