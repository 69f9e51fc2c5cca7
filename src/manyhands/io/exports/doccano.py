"""doccano's JSONL export: a file of records per user, or one file of a shared project."""

from collections.abc import Iterator, Mapping
from typing import Any

from manyhands.core.errors import DataError, SettingName
from manyhands.io.exports.exported import (
    FILE_NAME,
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
from manyhands.io.exports.span_documents import MarkedDocument, MarkedSpan

NAME = "doccano"
SHARED = "all"  # the name of the only file of a project whose users share their annotations
REMEDY = "export a project in which users do not share their annotations"
_LABELS = ("label", "labels", "cats", "entities", "annotations")
_TEXTS = ("text", "filename", "data")


def matches(content: Any) -> bool:
    """Whether these are records of doccano, or a dictionary of users with such records."""
    if isinstance(content, Mapping):
        files = [records for records in content.values() if records]
        return bool(files) and all(isinstance(file, list) and _are_records(file) for file in files)
    return _are_records(content)


def read(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of a JSONL export.

    Parameters
    ----------
    content : dict or list of dict
        The parsed lines of the file of every user, {user: records}; the name of a file in the zip
        is the name of its user. A list of records must have a field of annotators.
    item : str
        Field that names the item; by default `id`.
    annotator : str
        Field that names the annotator, for a list of records.
    label : str
        Field of labels, if a record has several.
    """
    files = _files(content)
    annotator = annotator or _person(files)
    found = {name: "" for name, is_span in span_answers(content).items() if not is_span}
    if not found:
        raise refuse_spans("the file")
    column = pick("field", found, label)
    _require_users(files, annotator, column)
    people = annotator or places_of(content, column)[1]
    rows = LabelRows(NAME, people, REMEDY, item or "id", f"{column!r}")
    left_out = {"id", column, FILE_NAME}
    for user, records in files.items():
        for record in records:
            name = field_of(record, item or "id", "meta")
            kept = {key: value for key, value in record.items() if key not in left_out}
            rows.data.setdefault(name, kept)
            rows.own.setdefault(name, {"id": record["id"]} if "id" in record else {})
            who = field_of(record, annotator, "meta") if annotator else user
            for each, said in _said(record, column, who):
                rows.add(name, each, said)
    return rows.finish(field=column)


def places_of(content: Any, label: str) -> tuple[str, str]:
    """Where items and annotators stand."""
    return "id", "user" if label == "annotations" else _person(_files(content)) or FILE_NAME


def span_answers(content: Any) -> dict[str, bool]:
    """The fields of labels, and whether they are spans."""
    records = [record for records in _files(content).values() for record in records]
    names = names_of(records)
    found = {
        name: any(_is_span(each) for record in records for each in _as_list(record.get(name)))
        for name in _LABELS
        if name in names
    }
    # Some projects have a field of labels and one of spans, and one of them is never filled.
    filled = {name for name in found if any(record.get(name) for record in records)}
    return {name: found[name] for name in found if name in filled or not filled}


def documents(
    content: Any, label: str, item: str | None, annotator: str | None
) -> Iterator[MarkedDocument]:
    """What every annotator marked; a record without spans is a text without entities."""
    files = _files(content)
    annotator = annotator or _person(files)
    _require_users(files, annotator, label)
    for user, records in files.items():
        for record in records:
            name = field_of(record, item or "id", "meta")
            text = record.get("text", record.get("data"))
            n_relations = len(record.get("relations") or [])
            who = field_of(record, annotator, "meta") if annotator else user
            marked = _as_list(record.get(label))
            if label != "annotations":
                spans = [_span(each) for each in marked if _is_span(each)]
                yield MarkedDocument(name, text, who, spans, n_relations=n_relations)
                continue
            for each in {span.get("user"): None for span in marked}:
                spans = [_span(span) for span in marked if span.get("user") == each]
                yield MarkedDocument(name, text, each, spans)


def _files(content: Any) -> dict[Any, Records]:
    """The records of every user; those of a project that users share have one name.

    Records that are given alone have none: they may be of one user or of all.
    """
    files = content if isinstance(content, Mapping) else {None: content}
    return {user: records for user, records in files.items() if records}


def _person(files: Mapping[Any, Records]) -> str | None:
    """The field of annotators of records that share a file, if they have one."""
    if not set(files) <= {SHARED, None}:
        return None
    found = [name for records in files.values() for name in names_of(records) if _is_person(name)]
    return found[0] if len(found) == 1 else None


def _require_users(files: Mapping[Any, Records], annotator: str | None, column: str) -> None:
    if not set(files) <= {SHARED, None} or annotator is not None or column == "annotations":
        return
    if SHARED in files:
        raise DataError(
            "the users of this doccano project share their annotations, so the export does not "
            f"tell them apart; {REMEDY}, or name a field of annotators with ",
            SettingName("annotator", ...),
        )  # fmt: skip
    raise DataError(
        "the file does not tell who labelled: it may be that of one user, then give the zip or the "
        "files of all users, or take its name for the annotator with ",
        SettingName("annotator", FILE_NAME), "; or its users share their annotations, then "
        f"{REMEDY}, or name a field of annotators with ", SettingName("annotator", ...),
    )  # fmt: skip


def _as_list(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else [cell]


def _is_span(entry: Any) -> bool:
    """Whether an entry is [start, end, type], or a dictionary with its places."""
    return (isinstance(entry, list) and len(entry) == 3) or (
        isinstance(entry, Mapping) and "start_offset" in entry
    )


def _span(entry: Any) -> MarkedSpan:
    if isinstance(entry, Mapping):
        return MarkedSpan(entry["start_offset"], entry["end_offset"], entry["label"])
    return MarkedSpan(*entry)


def _are_records(content: Any) -> bool:
    if not is_records(content):
        return False
    return all(
        "id" in record
        and any(isinstance(record.get(name), str) for name in _TEXTS)
        and any(_are_labels(name, record.get(name)) for name in _LABELS)
        and not any(_is_person(name) and isinstance(record[name], list) for name in record)
        for record in content[:20]
    )


def _are_labels(name: str, value: Any) -> bool:
    """Whether a field is a list of labels; old versions have annotations with their users."""
    return isinstance(value, list) and (
        name != "annotations"
        or all(isinstance(each, Mapping) and {"user", "label"} <= set(each) for each in value)
    )


def _is_person(name: str) -> bool:
    """Whether a field names annotators; doccano has none, but files that were put together may."""
    return any(word in name.lower() for word in ("annotator", "worker", "rater", "user"))


def _said(record: Record, column: str, user: Any) -> list[tuple[Any, Any]]:
    """Annotators and what they said; in old versions a record has the annotations of all."""
    cell = record.get(column)
    labels: Records | list[Any] = cell if isinstance(cell, list) else [cell]
    if column != "annotations":
        return [(user, list(labels))]
    by_user: dict[Any, list[Any]] = {}
    for each in labels:
        by_user.setdefault(each.get("user"), []).append(each.get("label", each.get("text")))
    return list(by_user.items())
