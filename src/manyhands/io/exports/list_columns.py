"""Records with a list of labels and a list of annotators each, as Hugging Face datasets have."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from manyhands.annotations.columns import find_column, is_candidate
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
)

NAME = "list-columns"
_KEY = "the key of the record"
REMEDY = "every label needs an annotator at the same place of its list"


def matches(content: Any) -> bool:
    """Whether records have lists of labels and of annotators, or of both together."""
    if isinstance(content, Mapping):
        content = _records(dict(islice(content.items(), 20)))
    if not is_records(content):
        return False
    first = content[:20]
    if _nested(first):
        return True
    lists = _lists(first)
    who = [name for name in lists if is_candidate(name, "annotator")]
    what = [name for name in lists if is_candidate(name, "label") and name not in who]
    return len(who) == 1 and any(_parallel(first, who[0], name) for name in what)


def read(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of records with lists.

    Parameters
    ----------
    content : list of dict or dict
        The records, or {item: record}. Labels are in a list beside a list of annotators, or in a
        list of dictionaries such as {"annotator": ..., "label": ...}.
    item : str
        Column of items; found by its name.
    annotator, label : str
        Columns of lists, or fields of the dictionaries; found by their names.
    """
    records: Records = _records(content)
    item = item or (_KEY if isinstance(content, Mapping) else None)
    nested = _nested(records[:20])
    column = pick("column", dict.fromkeys(nested, ""), None) if nested else None
    if column is not None:
        fields = list(
            names_of(each for record in records for each in _entries(record[column]) or [])
        )
        who, what = (
            find_column(fields, role, given)
            for role, given in (("annotator", annotator), ("label", label))
        )
    else:
        who, what = _pair(records, annotator, label)
    taken = {column, who, what}
    names = [name for name in names_of(records) if column is not None or name not in taken]
    task = item or _item_column([name for name in names if name != column])
    rows = LabelRows(NAME, who, REMEDY, task, f"{what!r}" + (f" in {column!r}" if column else ""))
    for record in records:
        name = field_of(record, task)
        if name in rows.data and item is None:
            raise DataError(
                f"the item {name!r} is in several records; name the column of items with ",
                SettingName("item", ...),
            )
        rows.data[name] = {k: v for k, v in record.items() if k not in {task, column, who, what}}
        for person, said in _said(record, name, column, who, what):
            rows.add(name, person, said)
    return rows.finish(column=column or what)


def _records(content: Any) -> Any:
    """The records; of {item: record} with the item as a field."""
    if not isinstance(content, Mapping):
        return content
    if not all(isinstance(record, Mapping) for record in content.values()):
        return []
    return [{_KEY: name, **record} for name, record in content.items()]


def _lists(records: Records) -> list[str]:
    """Columns that are lists in all records."""
    return [
        name
        for name in names_of(records)
        if all(isinstance(record.get(name), list | tuple) for record in records)
    ]


def _nested(records: Records) -> list[str]:
    """Columns of lists of dictionaries that have an annotator and a label each."""
    found = []
    for name in names_of(records):
        lists = [_entries(record.get(name)) for record in records]
        if any(each is None for each in lists):
            continue
        fields = names_of(entry for entries in lists for entry in entries or [])
        if all(any(is_candidate(f, role) for f in fields) for role in ("annotator", "label")):
            found.append(name)
    return found


def _entries(cell: Any) -> Records | None:
    """The dictionaries of a cell: a list of them, or one dictionary of lists of equal length.

    Hugging Face datasets make the second of the first.
    """
    if isinstance(cell, Mapping):
        columns = list(cell.values())
        if not columns or not all(isinstance(column, list | tuple) for column in columns):
            return None
        if len({len(column) for column in columns}) > 1:
            return None
        return [dict(zip(cell, row, strict=True)) for row in zip(*columns, strict=True)]
    if isinstance(cell, list | tuple) and all(isinstance(each, Mapping) for each in cell):
        return cell
    return None


def _pair(records: Records, annotator: str | None, label: str | None) -> tuple[str, str]:
    lists = _lists(records)
    people = {name: "" for name in lists if is_candidate(name, "annotator")}
    who = annotator or pick("column", people, None, "annotator")
    rest = [name for name in lists if name != who and _parallel(records, who, name)]
    likely = {name: "" for name in rest if is_candidate(name, "label")}
    return who, label or pick("column", likely, None)


def _parallel(records: Records, first: str, second: str) -> bool:
    return all(len(record[first]) == len(record[second]) for record in records)


def _item_column(names: list[str]) -> str:
    """The column of ids if there is one, else the column whose name fits best."""
    ids = [name for name in names if name.lower().endswith(("id", "idx", "index"))]
    return ids[0] if len(ids) == 1 else find_column(names, "item")


def _said(
    record: Record, item: Any, column: str | None, who: str, what: str
) -> Iterator[tuple[Any, Any]]:
    if column is not None:
        for each in _entries(record[column]) or []:
            yield each.get(who), each.get(what)
        return
    people, labels = field_of(record, who), field_of(record, what)
    if not all(isinstance(each, list | tuple) for each in (people, labels)):
        raise DataError(f"item {item!r}: {who!r} and {what!r} must be lists")
    if len(people) != len(labels):
        raise DataError(
            f"item {item!r} has {len(people)} {who} and {len(labels)} {what}; name columns of "
            "equal length with ", SettingName("annotator", ...), " and ", SettingName("label", ...),
        )  # fmt: skip
    yield from zip(people, labels, strict=True)
