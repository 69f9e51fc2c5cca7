"""Amazon Mechanical Turk's results: one row per assignment, a column per answer or per option."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from manyhands.annotations.columns import NONE, strength
from manyhands.annotations.labels import is_blank
from manyhands.core.errors import DataError, SettingName
from manyhands.io.exports.exported import (
    ExportedLabels,
    LabelRows,
    Record,
    Records,
    field_of,
    is_records,
    names_of,
    pick,
    refuse_spans,
)
from manyhands.io.exports.span_documents import MarkedDocument, MarkedSpan, text_field
from manyhands.io.json_text import parse_cell

NAME = "mturk"
REMEDY = "download the results again with the column WorkerId"
_HIT = "HITId"
_ANSWER, _INPUT, _PACKED = "Answer.", "Input.", "Answer.taskAnswers"
_COMMENTS = {"comment", "comments", "feedback"}
_REMARKS = _COMMENTS | {
    "submit", "useragent", "starttime", "endtime", "workerid",
    "hitid", "assignmentid",
}  # fmt: skip
_PICTURES = {"inputimageproperties", "labeledimage", "labelmappings"}  # beside marked regions
_ENTITY = {"startOffset", "endOffset", "label"}
_JOIN = "|"  # between the check boxes that a worker ticked
_FLAGS = {"true", "false", ""}
_TICKED = {"true", "on", "yes", "checked", "selected"}  # ends of the name of a box of its own
_EXTRAS = ("AssignmentId", "AcceptTime", "SubmitTime", "WorkTimeInSeconds")


def matches(content: Any) -> bool:
    """Whether these are rows of a results file of Mechanical Turk.

    Published files often have lost the column HITId; then an `Input.` column has the items.
    """
    if not is_records(content):
        return False
    names = names_of(content[:20])
    items = _HIT in names or any(name.startswith(_INPUT) for name in names)
    return items and _worker(names) in names and any(name.startswith(_ANSWER) for name in names)


def read(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of a results file.

    Rejected assignments are skipped and counted. Options with a column each, true or false, are one
    question: its label is the option that is true. Blank answers and those named comment,
    feedback or submit are no labels, nor are times.

    Parameters
    ----------
    content : list of dict
        The rows of the file.
    item : str
        Column of items; by default HITId, or the only `Input.` column of ids if every HIT has its
        own.
    annotator : str
        Column of annotators; by default WorkerId.
    label : str
        The question, with or without `Answer.`, if there are several.
    """
    rows: Records = content
    answers = [_answers(row) for row in rows]
    questions = _questions(answers)
    named = label.removeprefix(_ANSWER) if label is not None else None
    flags = {name for options in questions.values() for name in options}
    if named in flags:  # one option alone: was it chosen?
        question, options = named, {}
    else:
        question = pick("answer", {name: _shown(opts) for name, opts in questions.items()}, named)
        options = questions[question]
    _require_labels(question, answers)
    column = item or item_column(rows)
    person = annotator or _worker(names_of(rows))
    found = LabelRows(NAME, person, REMEDY, column, f"{question!r}")
    boxes = not options and _are_check_boxes([answer.get(question) for answer in answers])
    for row, answer in zip(rows, answers, strict=True):
        name = field_of(row, column)
        found.data.setdefault(name, inputs_of(row))
        if _is_rejected(row):
            found.skipped["rejected"] += 1
            continue
        said: Any = answer.get(question)
        if options:
            said = [text for name, text in options.items() if answer.get(name) == "true"]
        elif boxes and isinstance(said, str):
            said = said.split(_JOIN)
        extras = {key: row.get(key) for key in _EXTRAS}
        found.add(name, field_of(row, person), said, **extras)
    others = _others(answers, questions, question)
    found.notes += ["answers not taken: " + ", ".join(others)] if others else []
    return found.finish(answer=question)


def places_of(content: Any, label: str) -> tuple[str, str]:
    """Where items and annotators stand."""
    return item_column(content), _worker(names_of(content))


def span_answers(content: Any) -> dict[str, bool]:
    """The answers, and whether they are spans of texts."""
    answers = [_answers(row) for row in content]
    return {
        name: any(_are_entities(answer.get(name)) for answer in answers)
        for name in _questions(answers)
    }


def documents(
    content: Any, label: str, item: str | None, annotator: str | None
) -> Iterator[MarkedDocument]:
    """What every worker marked; rejected assignments do not count."""
    rows: Records = content
    said = [_spans(_answers(row).get(label.removeprefix(_ANSWER))) for row in rows]
    field = text_field(zip(map(inputs_of, rows), said, strict=True))
    column, person = item or item_column(rows), annotator or _worker(names_of(rows))
    for row, spans in zip(rows, said, strict=True):
        text = inputs_of(row).get(field) if field else None
        who, kept = field_of(row, person), None if _is_rejected(row) else spans
        yield MarkedDocument(field_of(row, column), text, who, kept, "rejected")


def inputs_of(row: Record) -> dict[str, Any]:
    """The data of a HIT."""
    return {key.removeprefix(_INPUT): row[key] for key in row if key.startswith(_INPUT)}


def _worker(names: Iterable[str]) -> str:
    """The column of workers, which some files write WorkerID."""
    return next((name for name in names if name.lower() == "workerid"), "WorkerId")


def _is_rejected(row: Record) -> bool:
    rejected = str(row.get("AssignmentStatus")).lower() == "rejected"
    return rejected or not is_blank(row.get("Reject"))  # the column for a reason, when reviewed


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, Mapping) for each in value)


def _are_entities(value: Any) -> bool:
    return _are_objects(value) and all(set(each) >= _ENTITY for each in value)


def _spans(value: Any) -> list[MarkedSpan]:
    return [
        MarkedSpan(each["startOffset"], each["endOffset"], each["label"])
        for each in (value if isinstance(value, list) else [])
    ]


def _require_labels(question: str, answers: list[dict[str, Any]]) -> None:
    """Raise a `DataError` for answers that mark parts of an item."""
    said = [answer.get(question) for answer in answers]
    if any(map(_are_entities, said)):
        raise refuse_spans(f"the answer {question!r}")
    if any(map(_are_objects, said)) or _PICTURES & set(question.lower().split(".")):
        raise DataError(
            f"the answer {question!r} marks regions, which are not read; an answer that labels "
            "whole items can be named with ", SettingName("label", ...),
        )  # fmt: skip


def _are_check_boxes(cells: list[Any]) -> bool:
    """Whether some cells join values that occur alone or in other cells too: several labels."""
    distinct = {cell for cell in cells if isinstance(cell, str) and cell}
    n_cells = Counter(part for cell in distinct for part in set(cell.split(_JOIN)))
    parts = {part for cell in distinct if _JOIN in cell for part in cell.split(_JOIN)}
    return bool(parts) and sum(n_cells[part] > 1 for part in parts) > len(parts) / 2


def _others(
    answers: list[dict[str, Any]], questions: dict[str, dict[str, str]], taken: str
) -> list[str]:
    """The answers that may be of interest and are not the label."""
    names = [name for name in questions if name != taken and taken not in questions[name]]
    comments = [name for name in names_of(answers) if name.lower().split(".")[0] in _COMMENTS]
    said = {name for answer in answers for name, cell in answer.items() if not is_blank(cell)}
    return names + [name for name in comments if name in said and name != taken]


def _answers(row: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of a row by name, those that are packed into one cell as JSON too."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if name == _PACKED and not is_blank(value):
            packed = parse_cell(str(value).strip())
            if not isinstance(packed, list) or not packed:
                raise DataError(f"{_PACKED}: expected a JSON list of answers; got {value!r}")
            _unpack("", packed[0], found)
        elif name.startswith(_ANSWER):
            text = parse_cell(value.strip()) if isinstance(value, str) else value
            if isinstance(text, str) and text.lower() in _FLAGS:
                text = text.lower()
            _unpack(name.removeprefix(_ANSWER), text, found)
    return found


def _unpack(name: str, value: Any, found: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _unpack(f"{name}.{key}" if name else key, inner, found)
    elif _are_entities(value) or value == []:
        found[name.removesuffix(".entities")] = value
    else:
        found[name] = str(value).lower() if isinstance(value, bool) else value


def _questions(answers: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Every question with its options, {column: option}; none if one column holds the label."""
    names = names_of(answers)
    cells = {name: {str(each.get(name) or "") for each in answers} for name in names}
    used = [
        name for name in names if cells[name] != {""} and name.lower().split(".")[0] not in _REMARKS
    ]
    whole = [name for name in used if not _PICTURES & set(name.lower().split("."))]
    used = whole or used[:1]
    flags = [name for name in used if cells[name] <= _FLAGS]
    groups: dict[str, dict[str, str]] = {}
    for name in flags:
        question, dot, option = name.rpartition(".")
        # A lone checkbox is written as name.on.
        groups.setdefault(question if dot else "", {})[name] = option
    for question, options in list(groups.items()):  # boxes of their own may be one question
        name, option = next(iter(options.items()))
        if question and len(options) == 1 and option.lower() in _TICKED:
            groups.setdefault("", {})[name] = question
            del groups[question]
    found: dict[str, dict[str, str]] = {}
    for name in used:
        question = next((key for key, options in groups.items() if name in options), "")
        options = groups.get(question, {}) if name in flags else {}
        if len(options) > 1 and (question or _exclusive(answers, options)):
            found.setdefault(question or ", ".join(options), options)
        else:
            found[name] = {}
    return found


def _exclusive(answers: list[dict[str, Any]], options: dict[str, str]) -> bool:
    """Whether every row has exactly one option that is true, so that they are one question."""
    return all(sum(each.get(name) == "true" for name in options) == 1 for each in answers)


def _shown(options: dict[str, str]) -> str:
    return "one of " + ", ".join(options.values()) if options else ""


def item_column(rows: Records) -> str:
    """The column of the requester's own ids, if it tells HITs apart as HITId does."""
    names = [name for name in names_of(rows) if name.startswith(_INPUT)]
    if _HIT not in names_of(rows):
        names = [name for name in names if strength(name, "truth") == NONE]
    ids = [name for name in names if name.lower().endswith(("id", "index", "key"))]
    if _HIT not in names_of(rows):
        return pick("input", dict.fromkeys(ids if len(ids) == 1 else names, ""), None, "item")
    if len(ids) != 1:
        return _HIT
    pairs = {(row.get(_HIT), row.get(ids[0])) for row in rows}
    n_hits, n_ids = (len({pair[n] for pair in pairs}) for n in range(2))
    return ids[0] if n_hits == n_ids == len(pairs) else _HIT
