"""The first rows of a table as HTML, for notebooks."""

from abc import abstractmethod
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray

_ROWS, _COLUMNS, _CHARACTERS = 6, 10, 80


class HtmlTable:
    """What notebooks show as a short table: the text of the object, and its first rows."""

    @abstractmethod
    def _preview(self, n_rows: int) -> Mapping[str, AnyArray]:
        """The columns of the table, at least their first rows."""

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._preview(_ROWS))


def html_table(title: str, columns: Mapping[str, AnyArray]) -> str:
    """A title and the first rows and columns of a table; every text is escaped and shortened.

    >>> html_table("<a>", {"name": np.array(["<b>"])})[:16]
    '<p>&lt;a&gt;</p>'
    """
    shown = dict(list(columns.items())[:_COLUMNS])
    rows = zip(*(column[:_ROWS].tolist() for column in shown.values()), strict=True)
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    left_out = len(columns) - len(shown)
    more = f"<p>{left_out} more columns</p>" if left_out else ""
    head = f"<thead><tr>{_cells('th', shown)}</tr></thead>"
    return f"<p>{escape(title)}</p><table>{head}<tbody>{body}</tbody></table>{more}"


def _cells(tag: str, values: Any) -> str:
    return "".join(f"<{tag}>{escape(_text(value))}</{tag}>" for value in values)


def _text(value: object) -> str:
    text = f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"
