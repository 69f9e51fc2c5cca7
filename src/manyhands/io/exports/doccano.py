"""doccano's JSONL export: a file of records per user, or one file of a shared project."""

from collections.abc import Mapping
from typing import Any

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

NAME = "doccano"
SHARED = "all"  # the name of the only file of a project whose users share their annotations
REMEDY = "export a project in which users do not share their annotations"
_LABELS = ("label", "labels", "cats", "annotations")
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
    files = content if isinstance(content, Mapping) else {SHARED: content}
    files = {user: records for user, records in files.items() if records}
    names = names_of(record for records in files.values() for record in records)
    column = pick("field", {name: "" for name in _LABELS if name in names}, label)
    shared = set(files) == {SHARED} and annotator is None and column != "annotations"
    if shared:
        raise DataError(
            "the users of this doccano project share their annotations, so the export does not "
            f"tell them apart; {REMEDY}, or name a field of annotators with ",
            SettingName("annotator", ...),
        )  # fmt: skip
    rows = LabelRows(NAME, annotator or "the name of the file", REMEDY)
    for user, records in files.items():
        for record in records:
            name = field_of(record, item or "id", "meta")
            kept = {key: value for key, value in record.items() if key not in {"id", column}}
            rows.data.setdefault(name, kept)
            rows.own.setdefault(name, {"id": record["id"]} if "id" in record else {})
            who = field_of(record, annotator, "meta") if annotator else user
            for each, said in _said(record, column, who):
                rows.add(name, each, said)
    return rows.finish(field=column)


def _are_records(content: Any) -> bool:
    if not is_records(content):
        return False
    return all(
        "id" in record
        and any(isinstance(record.get(name), str) for name in _TEXTS)
        and any(_are_labels(name, record.get(name)) for name in _LABELS)
        and not any(_is_person(name) for name in record)
        for record in content[:20]
    )


def _are_labels(name: str, value: Any) -> bool:
    """Whether a field is a list of labels; old versions have annotations with their users."""
    return isinstance(value, list) and (
        name != "annotations"
        or all(isinstance(each, Mapping) and {"user", "label"} <= set(each) for each in value)
    )


def _is_person(name: str) -> bool:
    """Whether a field names annotators, who stand in no record of doccano."""
    return any(word in name.lower() for word in ("annotator", "worker", "rater"))


def _said(record: Record, column: str, user: Any) -> list[tuple[Any, Any]]:
    """Annotators and what they said; in old versions a record has the annotations of all."""
    cell = record.get(column)
    labels: Records | list[Any] = cell if isinstance(cell, list) else [cell]
    if column != "annotations":
        if any(isinstance(each, list | Mapping) for each in labels):
            raise refuse_spans("doccano", f"the field {column!r}")
        return [(user, list(labels))]
    by_user: dict[Any, list[Any]] = {}
    for each in labels:
        if "start_offset" in each:
            raise refuse_spans("doccano", f"the field {column!r}")
        by_user.setdefault(each.get("user"), []).append(each.get("label", each.get("text")))
    return list(by_user.items())
