"""The protocol of a paper on the page of its table or figure."""

from collections.abc import Iterator, Sequence

from manyhands.experiments import pages
from manyhands.experiments.protocols import FIELDS, Statement
from manyhands.experiments.published import Column, PublishedTable, Row

PROTOCOL_HEADER = ("field", "for", "the paper says", "where", "reading taken", "settings that run")


def published_pairs(table: PublishedTable) -> Iterator[tuple[Row, Column]]:
    """The rows of the paper with a method of ours, each with its columns."""
    for row in table.rows:
        for column in table.columns:
            if not row.ours and row.method and (not row.only or column.dataset in row.only):
                yield row, column


def protocol_rows(table: PublishedTable) -> list[list[str]]:
    """Every statement of the protocol once: who it is for, what the paper says, what runs."""
    found: dict[tuple[str, int], tuple[Statement, list[str], list[str]]] = {}
    for row, column in published_pairs(table):
        stated = table.protocol.statements(column.dataset, str(row.method))
        for name, statement in stated.items():
            _, datasets, rows = found.setdefault((name, id(statement)), (statement, [], []))
            datasets.append(column.dataset)
            rows.append(row.published)
    n_pairs = len(list(published_pairs(table)))
    order = list(FIELDS)
    keyed = sorted(found.items(), key=lambda each: order.index(each[0][0]))
    return [
        [
            FIELDS[name],
            "all" if len(datasets) == n_pairs else _who(table, datasets, rows),
            statement.says or "not stated",
            statement.where,
            statement.reading,
            _settings_text(statement),
        ]
        for (name, _), (statement, datasets, rows) in keyed
    ]


def protocol_lines(table: PublishedTable) -> list[str]:
    """The protocol of the paper as a section of a page."""
    text = pages.markdown_table(PROTOCOL_HEADER, protocol_rows(table))
    return ["## Protocol", "", text]


def _who(table: PublishedTable, datasets: Sequence[str], rows: Sequence[str]) -> str:
    """The rows and datasets that a statement is for, as far as they are not all."""
    pairs = list(published_pairs(table))
    names = list(dict.fromkeys(rows))
    places = list(dict.fromkeys(datasets))
    all_names = {row.published for row, _ in pairs}
    all_places = {column.dataset for _, column in pairs}
    some_names = "" if set(names) == all_names else ", ".join(names)
    some_places = "" if set(places) == all_places else ", ".join(_short(places))
    return "; ".join(each for each in (some_names, some_places) if each) or "all"


def _short(names: Sequence[str]) -> list[str]:
    """Names up to the value that varies: simulated/setup-1/T=100 is simulated/setup-1."""
    return list(dict.fromkeys(name.rsplit("/T=", 1)[0] for name in names))


def _settings_text(statement: Statement) -> str:
    given = [
        f"{name}={value}" if group == "training" else f"{group}.{name}={value}"
        for group, values in statement.settings.items()
        for name, value in values.items()
    ]
    given += [f"n_runs={statement.n_runs}"] if statement.n_runs else []
    return ", ".join(f"`{each}`" for each in given)


def html_protocol(table: PublishedTable) -> str:
    """The protocol of the paper behind a fold, as HTML."""
    return pages.html_list("Protocol of the paper", PROTOCOL_HEADER, protocol_rows(table))
