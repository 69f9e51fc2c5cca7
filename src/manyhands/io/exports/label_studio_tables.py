"""Label Studio's JSON-MIN and CSV exports: one flat record per annotation.

Fields of the task and answers stand side by side. A field of a task is the same in all records of
the task, so a column that differs between two annotators of one task is an answer.
"""

from collections.abc import Iterator
from typing import Any

from manyhands.annotations.columns import is_candidate
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
from manyhands.io.exports.label_studio import VALUES
from manyhands.io.exports.span_documents import MarkedDocument, MarkedSpan, text_field
from manyhands.io.json_text import parse_cell

NAME = "label-studio-table"
REMEDY = "export again as JSON, which has completed_by"
_OWN = {
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "was_cancelled",
    "agreement", "inner_id", "project", "updated_by", "completed_by", "file_upload", "meta",
    "comment_count", "unresolved_comment_count", "comment_authors", "last_comment_updated_at",
    "total_annotations", "cancelled_annotations", "total_predictions", "is_labeled", "history",
    "ground_truth", "last_action", "draft_created_at", "parent_prediction", "parent_annotation",
}  # fmt: skip
_SURE = "answers"  # what a column surely holds
_KINDS = ("choices", "rating", "number", "taxonomy")  # a type is also the field of its value


def matches(content: Any) -> bool:
    """Whether these are the records of Label Studio's JSON-MIN or CSV."""
    return is_records(content) and {"annotation_id", "annotator", "lead_time"} <= set(content[0])


def read(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of a JSON-MIN or CSV export.

    Parameters
    ----------
    content : list of dict
        The parsed file: a record per annotation. Cells of a CSV file may hold JSON.
    item : str
        Column of items; by default `id`, the id of the task.
    annotator : str
        Column of annotators; by default `annotator`.
    label : str
        Column of labels (the name of a control), if several may be.
    """
    records: Records = content
    who = annotator or "annotator"
    task = item or "id"
    if task not in names_of(records):
        raise DataError(
            f"the export has no column {task!r}; name the column of items with ",
            SettingName("item", ...),
        )
    answers = _answers(records, task, {task, who})
    column = pick("column", answers, label)
    others = {name for name, what in answers.items() if what == _SURE}
    kind = _kind([_parsed(record.get(column)) for record in records])
    rows = LabelRows(NAME, who, REMEDY, item or "task id", f"{column!r}")
    for record in records:
        name = field_of(record, task)
        skip = {column, task, who} | others | _OWN
        rows.data.setdefault(name, {k: v for k, v in record.items() if k not in skip})
        rows.own.setdefault(name, {"id": record["id"]} if "id" in record else {})
        if _is_cancelled(record):
            rows.skipped["cancelled"] += 1
            continue
        rows.add(
            name, record.get(who), _said(_parsed(record.get(column)), column),
            annotation_id=record.get("annotation_id"), lead_time=record.get("lead_time"),
            created_at=record.get("created_at"),
        )  # fmt: skip
    return rows.finish(from_name=column, to_name="", type=kind)


def places_of(content: Any, label: str) -> tuple[str, str]:
    """Where items and annotators stand."""
    return "task id", "annotator"


def span_answers(content: Any) -> dict[str, bool]:
    """The columns that may hold labels, and whether they are spans of texts."""
    if "id" not in names_of(content):
        return {}
    return {
        name: any(_are_spans(_parsed(record.get(name))) for record in content)
        for name in _answers(content, "id", {"annotator"})
    }


def documents(
    content: Any, label: str, item: str | None, annotator: str | None
) -> Iterator[MarkedDocument]:
    """What every annotator marked; cancelled annotations do not count."""
    records: Records = content
    marked = [_spans(_parsed(record.get(label))) for record in records]
    taken = {label, annotator} | _OWN
    data = [{k: v for k, v in record.items() if k not in taken} for record in records]
    field = text_field(zip(data, marked, strict=True))
    for record, spans in zip(records, marked, strict=True):
        name, text = field_of(record, item or "id"), record.get(field) if field else None
        who = record.get(annotator or "annotator")
        cancelled = _is_cancelled(record)
        yield MarkedDocument(name, text, who, None if cancelled else spans, "cancelled")


def _are_spans(cell: Any) -> bool:
    return (
        isinstance(cell, list)
        and bool(cell)
        and all(isinstance(each, dict) for each in cell)
        and any(isinstance(each.get("start"), int) and "channel" not in each for each in cell)
    )


def _spans(cell: Any) -> list[MarkedSpan]:
    found = []
    for each in cell if isinstance(cell, list) else []:
        labels = each.get("labels", each.get("hypertextlabels")) or []
        label = labels[0] if len(labels) == 1 else labels or None
        places = each.get("globalOffsets") or each
        found.append(MarkedSpan(places["start"], places["end"], label, each.get("text")))
    return found


def _is_cancelled(record: Record) -> bool:
    return str(record.get("was_cancelled", "")).lower() == "true"


def _answers(records: Records, task: str, taken: set[str]) -> dict[str, str]:
    """The columns that may hold labels: the sure ones, or else all that are plausible."""
    columns = {
        name: [_parsed(record.get(name)) for record in records]
        for name in names_of(records)
        if name not in _OWN | taken
    }
    tasks = [record.get("id", record.get(task)) for record in records]
    sure = {
        name: _SURE for name, cells in columns.items()
        if any(_is_answer(cell) for cell in cells) or _differs(tasks, cells)
    }  # fmt: skip
    if sure:
        return sure
    n_tasks = len(set(map(str, tasks)))
    shown = {name: f"such as {str(cells[0])[:40]!r}" for name, cells in columns.items()}
    few = {
        name: text
        for name, text in shown.items()
        if len(set(map(str, columns[name]))) < max(2, n_tasks)
    }
    # Annotators of a few tasks agree: then the names tell, or the user does.
    called = {name: text for name, text in shown.items() if is_candidate(name, "label")}
    return few or called or shown


def _is_answer(cell: Any) -> bool:
    first = cell[0] if isinstance(cell, list) and cell else cell
    return isinstance(first, dict) and bool(({"labels", "start"} | set(_KINDS)) & set(first))


def _kind(cells: list[Any]) -> str:
    """The type of the control, which these exports do not name."""
    first = next((cell for cell in cells if not is_blank(cell) and cell != []), "")
    first = first[0] if isinstance(first, list) else first
    if isinstance(first, dict):
        return next((kind for kind in _KINDS if kind in first), "choices")
    if isinstance(first, bool | str):
        return "choices"
    return "rating" if isinstance(first, int) else "number"


def _differs(tasks: list[Any], cells: list[Any]) -> bool:
    """Whether two records of one task have different cells; blank ones are not compared."""
    seen: dict[str, str] = {}
    return any(
        seen.setdefault(str(task), str(cell)) != str(cell)
        for task, cell in zip(tasks, cells, strict=True)
        if not is_blank(cell)
    )


def _parsed(cell: Any) -> Any:
    """A cell of a CSV file that holds JSON, parsed."""
    return parse_cell(cell) if isinstance(cell, str) else cell


def _said(cell: Any, column: str) -> list[Any]:
    said: list[Any] = []
    for each in cell if isinstance(cell, list) else [cell]:
        if not isinstance(each, dict):
            said.append(each)
            continue
        kind = next((name for name in _KINDS if name in each), None)
        if kind is None or "start" in each:
            raise refuse_spans(f"the column {column!r}")
        value = VALUES[kind](each)
        said += value if isinstance(value, list) else [value]
    return said
