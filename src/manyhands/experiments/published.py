"""Published tables as data: rows, columns, values and where they stand."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Column:
    """One measured thing: on which data, by which metric, in percent or as it is.

    `tested_on` and `who` say how a corpus is used, `scenario` with `settings` and `items` which
    simulated crowd it is; `network` names the network it needs, if not the usual one, and `slow`
    says that it takes hours without a GPU.
    """

    key: str
    dataset: str
    metric: str
    unit: str = ""
    tested_on: str = "test"
    who: str = "individual"
    scenario: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    items: str | None = None
    network: str = ""
    slow: bool = False
    training: Mapping[str, Any] = field(default_factory=dict)
    axis: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """A published number; None where the paper gives none."""

    mean: float | None
    deviation: float | None = None


@dataclass(frozen=True)
class Row:
    """A published method: its name in the paper, ours, its options, and its values by column.

    `ours` marks a row that the paper does not have, added for comparison; `only` names the data it
    is for, where not all, and `features` the set of features it needs, if not the usual one.
    """

    published: str
    method: str | None
    values: Mapping[str, Value]
    options: Mapping[str, Any]
    ours: bool = False
    only: tuple[str, ...] = ()
    features: str | None = None


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    `notes` are about the paper, `remarks` about our runs of it; `runs` is how many seeds a cell of
    ours usually has.
    """

    name: str
    paper: str
    title: str
    source: str
    selection: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    runs: int = 10


@cache
def published_tables() -> dict[str, PublishedTable]:
    """Every published table, by the name of its experiment."""
    folder = files("manyhands.experiments").joinpath("published")
    found = [
        _table(_content(path.name))
        for path in sorted(folder.iterdir(), key=lambda each: each.name)
        if "-table-" in path.name
    ]
    return {table.name: table for table in found}


def published_curves(name: str) -> PublishedTable:
    """A figure whose curves are runs like those of a table, by its file."""
    return _table(_content(name))


def _content(name: str) -> dict[str, Any]:
    path = files("manyhands.experiments").joinpath("published", name)
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _table(content: Mapping[str, Any]) -> PublishedTable:
    rows = [_row(each) for each in content["rows"]]
    rows += [_row(each, ours=True) for each in content.get("also", ())]
    return PublishedTable(
        name=content["name"],
        paper=content["paper"],
        title=content["title"],
        source=content["source"],
        selection=content["selection"],
        columns=tuple(_column(each) for each in content["columns"]),
        rows=tuple(rows),
        notes=tuple(content.get("notes", ())),
        remarks=tuple(content.get("remarks", ())),
        runs=content.get("runs", PublishedTable.runs),
    )


def _column(content: Mapping[str, Any]) -> Column:
    known = {each.name for each in fields(Column)}
    return Column(**{name: value for name, value in content.items() if name in known and value})


def _row(content: Mapping[str, Any], ours: bool = False) -> Row:
    values = {
        key: Value(each.get("mean"), each.get("deviation"))
        for key, each in content.get("values", {}).items()
        if each is not None
    }
    options = content.get("options") or {}
    only = tuple(content.get("only", ()))
    features = content.get("features")
    return Row(content["published"], content["method"], values, options, ours, only, features)


@dataclass(frozen=True)
class PublishedFigure:
    """A figure of a paper: what it shows, and what the paper reads in it."""

    name: str
    paper: str
    title: str
    shows: str
    data: str
    claim: str
    numbers: Mapping[str, Any]
    notes: tuple[str, ...]


@cache
def published_figures() -> dict[str, PublishedFigure]:
    """Every published figure, by the name of its experiment."""
    papers = {name.split("/")[0]: table.paper for name, table in published_tables().items()}
    return {
        each["name"]: PublishedFigure(
            each["name"],
            papers[each["name"].split("/")[0]],
            each["title"],
            each["shows"],
            each["data"],
            each["claim"],
            each.get("numbers", {}),
            tuple(each.get("notes", ())),
        )
        for each in _content("figures.json")["figures"]
    }
