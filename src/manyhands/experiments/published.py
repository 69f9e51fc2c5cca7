"""Published tables as data: rows, columns, values and where they stand."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Column:
    """One measured thing: on which data, by which metric, in percent or as it is."""

    key: str
    dataset: str
    metric: str
    unit: str = ""


@dataclass(frozen=True)
class Value:
    """A published number; None where the paper gives none."""

    mean: float | None
    deviation: float | None = None


@dataclass(frozen=True)
class Row:
    """A published method: its name in the paper, ours, its options, and its values by column."""

    published: str
    method: str | None
    values: Mapping[str, Value]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper."""

    name: str
    paper: str
    title: str
    source: str
    selection: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


@cache
def published_tables() -> dict[str, PublishedTable]:
    """Every published table, by the name of its experiment."""
    folder = files("manyhands.experiments").joinpath("published")
    found = [
        _table(json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(folder.iterdir(), key=lambda each: each.name)
        if "-table-" in path.name
    ]
    return {table.name: table for table in found}


def _table(content: Mapping[str, Any]) -> PublishedTable:
    columns = [
        Column(each["key"], each["dataset"], each["metric"], each.get("unit") or "")
        for each in content["columns"]
    ]
    return PublishedTable(
        name=content["name"],
        paper=content["paper"],
        title=content["title"],
        source=content["source"],
        selection=content["selection"],
        columns=tuple(columns),
        rows=tuple(_row(each) for each in content["rows"]),
        notes=tuple(content.get("notes", ())),
    )


def _row(content: Mapping[str, Any]) -> Row:
    values = {
        key: Value(each.get("mean"), each.get("deviation"))
        for key, each in content["values"].items()
        if each is not None
    }
    return Row(content["published"], content["method"], values, content.get("options") or {})
