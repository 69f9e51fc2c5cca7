"""The first rows of a table as HTML, for notebooks."""

from abc import abstractmethod
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray

_ROWS, _COLUMNS = 6, 10


class HtmlTable:
    """What notebooks show as a short table: the text of the object, and its first rows."""

    @abstractmethod
    def _preview(self, n_rows: int) -> Mapping[str, AnyArray]:
        """The columns of the table, at least their first rows."""

    def _repr_html_(self) -> str:
        columns = self._preview(_ROWS)
        shown = dict(list(columns.items())[:_COLUMNS])
        rows = zip(*(column[:_ROWS].tolist() for column in shown.values()), strict=True)
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
        left_out = len(columns) - len(shown)
        more = f"<p>{left_out} more columns</p>" if left_out else ""
        head = f"<thead><tr>{_cells('th', shown)}</tr></thead>"
        return f"<p>{escape(repr(self))}</p><table>{head}<tbody>{body}</tbody></table>{more}"


def _cells(tag: str, values: Any) -> str:
    return "".join(f"<{tag}>{escape(_text(value))}</{tag}>" for value in values)


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)
