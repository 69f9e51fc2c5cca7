"""Tables and figures as data: published ones with their values, and experiments of ours."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from manyhands.core.errors import DataError
from manyhands.experiments.protocols import NO_PROTOCOL, Protocol, read_protocol

T = TypeVar("T", "Column", "Row", "Layout", "PublishedTable", "PublishedFigure")


@dataclass(frozen=True)
class Column:
    """A metric on a dataset, and its unit.

    `tested_on` and `anonymous` say how a corpus is used; `scenario`, `settings` and `items` define
    a simulated crowd; `annotators` are settings of the network whose perturbed copies its
    annotators are (`NetworkAnnotators`). `network` names the network if it is not the usual one.
    `training` holds settings of our protocol on these data. `slow` marks what takes hours without a
    GPU, and `runs` is its number of seeds by our protocol if it is not that of the table.
    `stands_in` says what the data are in place of.
    """

    key: str
    dataset: str
    metric: str
    unit: str = ""
    tested_on: str = "test"
    anonymous: bool = False
    scenario: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    items: str | None = None
    annotators: Mapping[str, Any] = field(default_factory=dict)
    network: str = ""
    slow: bool = False
    training: Mapping[str, Any] = field(default_factory=dict)
    axis: Mapping[str, Any] = field(default_factory=dict)
    runs: int | None = None
    stands_in: str = ""


@dataclass(frozen=True)
class Value:
    """A published number; None where the paper gives none."""

    mean: float | None
    deviation: float | None = None


@dataclass(frozen=True)
class Row:
    """A published method: its name in the paper, ours, its options, and its values by column.

    `ours` marks a row that the paper does not have and that we added for comparison. `only` names
    its datasets if it is not for all of them, `features` its set of features if not the usual one.
    `as_published` runs a row of ours by the protocol of the paper.
    """

    published: str
    method: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    ours: bool = False
    only: tuple[str, ...] = ()
    features: str | None = None
    as_published: bool = False


@dataclass(frozen=True)
class Layout:
    """How a paper prints its table.

    `groups` are columns under a common heading, each with its title; `transposed` prints the
    columns as lines. `side_by_side` are lists of rows that are printed next to each other. `titles`
    are short names of rows. `curve` names the setting of the columns that a figure is drawn
    against.
    """

    corner: str = "Method"
    transposed: bool = False
    groups: tuple[Mapping[str, Any], ...] = ()
    side_by_side: tuple[tuple[str, ...], ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    curve: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    `protocol` is how the paper trained. `notes` are about the paper, `remarks` about our runs;
    `shortfall` says in a sentence why figures are not reached. `runs` is the usual number of seeds
    of a cell by our protocol.
    """

    name: str
    paper: str
    title: str
    source: str
    selection: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    protocol: Protocol = NO_PROTOCOL
    layout: Layout = field(default_factory=Layout)
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    shortfall: str = ""
    runs: int = 10


@cache
def published_tables() -> dict[str, PublishedTable]:
    """Every published table, by the name of its experiment."""
    tables = [_table(each) for name, each in _contents().items() if "/table-" in name]
    return {table.name: table for table in tables}


def published_curves(name: str) -> PublishedTable:
    """A figure whose points are runs, as the cells of a table are, by the name of its file."""
    return _table(published_content(name))


def published_content(name: str) -> dict[str, Any]:
    """What a file of the published tables and figures holds, by its name."""
    path = files("manyhands.experiments").joinpath("published", name)
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def our_specification(name: str) -> dict[str, Any]:
    """The texts and settings of an experiment of ours, by the name of its file."""
    path = files("manyhands.experiments").joinpath("ours", f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _contents() -> dict[str, dict[str, Any]]:
    """The content of every file that is about one table or figure, by the name of it."""
    folder = files("manyhands.experiments").joinpath("published")
    names = sorted(path.name for path in folder.iterdir())
    contents = [published_content(name) for name in names if re.match(r"p\d-(table|figure)-", name)]
    return {each["name"]: each for each in contents}


def _table(content: Mapping[str, Any]) -> PublishedTable:
    rows = [_row(each) for each in content["rows"]]
    rows += [_row({**each, "ours": True}) for each in content.get("also", ())]
    columns = tuple(_make(Column, each) for each in content["columns"])
    made = {
        "columns": columns,
        "rows": tuple(rows),
        "protocol": read_protocol(content, content["name"], _contents()),
        "layout": _layout(content.get("layout", {}), columns, content["name"]),
    }
    return _make(PublishedTable, {**content, **made})


def _layout(content: Mapping[str, Any], columns: tuple[Column, ...], name: str) -> Layout:
    whole = {"title": "", "columns": {column.key: column.key for column in columns}}
    layout = _make(Layout, {"groups": [whole], **content})
    placed = [key for group in layout.groups for key in group["columns"]]
    if sorted(placed) != sorted(column.key for column in columns):
        raise DataError(f"{name}: its layout does not have every column once")
    return layout


def _row(content: Mapping[str, Any]) -> Row:
    values = {
        key: Value(each.get("mean"), each.get("deviation"))
        for key, each in content.get("values", {}).items()
        if each is not None
    }
    return _make(Row, {**content, "values": values})


def _make(kind: type[T], content: Mapping[str, Any]) -> T:
    """An object of JSON content; what is absent or empty has its default, lists become tuples."""
    given = {name: content[name] for name in kind.__dataclass_fields__ if content.get(name)}
    tuples = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return kind(**given | tuples)


@dataclass(frozen=True)
class PublishedFigure:
    """A figure of a paper: what it shows, and what the paper concludes from it.

    `protocol_of` is the table or figure that its protocol is that of.
    """

    name: str
    paper: str
    title: str
    shows: str
    data: str
    claim: str
    protocol: Protocol = NO_PROTOCOL
    protocol_of: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@cache
def published_figures() -> dict[str, PublishedFigure]:
    """Every published figure, by the name of its experiment."""
    papers = {name.split("/")[0]: table.paper for name, table in published_tables().items()}
    given = published_content("figures.json")["figures"]
    figures = [
        _make(
            PublishedFigure,
            {
                **each,
                "paper": papers[each["name"].split("/")[0]],
                "protocol": read_protocol(each, each["name"], _contents()),
                "protocol_of": each["protocol"].get("like", ""),
            },
        )
        for each in given
    ]
    return {figure.name: figure for figure in figures}
