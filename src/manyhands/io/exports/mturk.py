"""Amazon Mechanical Turk's results: one row per assignment, a column per answer or per option."""

import json
from collections.abc import Mapping
from typing import Any

from manyhands.annotations.labels import is_blank
from manyhands.io.exports.exported import (
    ExportedLabels,
    LabelRows,
    Records,
    field_of,
    is_records,
    names_of,
    pick,
)

NAME = "mturk"
REMEDY = "download the results again with the column WorkerId"
_ANSWER, _INPUT, _PACKED = "Answer.", "Input.", "Answer.taskAnswers"
_REMARKS = {
    "comment", "comments", "feedback", "submit", "useragent", "starttime", "endtime", "workerid",
    "hitid", "assignmentid",
}  # fmt: skip
_FLAGS = {"true", "false", ""}
_EXTRAS = ("AssignmentId", "AcceptTime", "SubmitTime", "WorkTimeInSeconds")


def matches(content: Any) -> bool:
    """Whether these are rows of a results file of Mechanical Turk."""
    if not is_records(content):
        return False
    names = names_of(content[:20])
    return {"HITId", "WorkerId"} <= set(names) and any(name.startswith(_ANSWER) for name in names)


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
    column = item or _item_column(rows)
    found = LabelRows(NAME, "WorkerId", REMEDY)
    for row, answer in zip(rows, answers, strict=True):
        name = field_of(row, column)
        inputs = {key.removeprefix(_INPUT): row[key] for key in row if key.startswith(_INPUT)}
        found.data.setdefault(name, inputs)
        rejected = str(row.get("AssignmentStatus")).lower() == "rejected"
        if rejected or not is_blank(row.get("Reject")):  # the column for a reason, when reviewed
            found.skipped["rejected"] += 1
            continue
        chosen = [text for name, text in options.items() if answer.get(name) == "true"]
        who = field_of(row, annotator or "WorkerId")
        extras = {key: row.get(key) for key in _EXTRAS}
        found.add(name, who, chosen if options else answer.get(question), **extras)
    return found.finish(answer=question)


def _answers(row: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of a row by name, those that are packed into one cell as JSON too."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if name == _PACKED and not is_blank(value):
            _unpack("", json.loads(value)[0], found)
        elif name.startswith(_ANSWER):
            text = value.strip() if isinstance(value, str) else value
            is_flag = str(text).lower() in _FLAGS
            found[name.removeprefix(_ANSWER)] = str(text).lower() if is_flag else text
    return found


def _unpack(name: str, value: Any, found: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _unpack(f"{name}.{key}" if name else key, inner, found)
    else:
        found[name] = str(value).lower() if isinstance(value, bool) else value


def _questions(answers: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Every question with its options, {column: option}; none if one column holds the label."""
    names = names_of(answers)
    cells = {name: {str(each.get(name) or "") for each in answers} for name in names}
    used = [
        name for name in names if cells[name] != {""} and name.lower().split(".")[0] not in _REMARKS
    ]
    flags = [name for name in used if cells[name] <= _FLAGS]
    groups: dict[str, dict[str, str]] = {}
    for name in flags:
        question, dot, option = name.rpartition(".")
        # A lone checkbox is written as name.on.
        groups.setdefault(question if dot else "", {})[name] = option
    found: dict[str, dict[str, str]] = {}
    for name in used:
        question = name.rpartition(".")[0] if name in flags else ""
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


def _item_column(rows: Records) -> str:
    """The column of the requester's own ids, if it tells HITs apart as HITId does."""
    names = [name for name in names_of(rows) if name.startswith(_INPUT)]
    ids = [name for name in names if name.lower().endswith(("id", "index", "key"))]
    if len(ids) != 1:
        return "HITId"
    pairs = {(row.get("HITId"), row.get(ids[0])) for row in rows}
    n_hits, n_ids = (len({pair[n] for pair in pairs}) for n in range(2))
    return ids[0] if n_hits == n_ids == len(pairs) else "HITId"
