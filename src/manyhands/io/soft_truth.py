"""Soft truths: a table with the share of annotators of each class, in columns p_<class>."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations.columns import is_candidate
from manyhands.annotations.vocabulary import normalize_classes, normalize_names, repeated
from manyhands.core.errors import DataError
from manyhands.io.tables import Table

_PREFIX = "p_"
_TOLERANCE = 1e-3  # published shares are rounded to three digits


def truth_kinds(columns: Sequence[str]) -> tuple[bool, bool]:
    """Whether the columns of a truth table give a truth per item, and shares of classes.

    A single column `p_...` beside a truth is not taken for shares.

    >>> truth_kinds(["item", "p_cat", "p_dog"]), truth_kinds(["item", "truth", "p_value"])
    ((False, True), (True, False))
    """
    shares = _share_columns(columns)
    others = [name for name in columns if name not in shares]
    hard = any(is_candidate(name, role) for name in others for role in ("truth", "label"))
    return hard or not shares, len(shares) > hard


def read_soft_truth(
    path: str | Path,
    *,
    format: str | None = None,
    item: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> dict[Any, dict[Any, float]]:
    """{item: {class: share}} from a table with columns item and p_<class>, one row per item.

    The shares of an item must sum to 1. The table of a consensus or of predictions has these
    columns too. The file may be packed (.gz .bz2 .xz .zst .zip) or an Excel workbook, of which
    `sheet` names a sheet.
    """
    table = Table.open(path, format, encoding, sheet)
    names = _share_columns(table.columns)
    if not names:
        raise DataError(
            f"{table.path}: has no shares; name the columns {_PREFIX}<class>, such as {_PREFIX}cat"
        )
    classes = normalize_classes([name.removeprefix(_PREFIX) for name in names]).tolist()
    twice = repeated(classes)
    if twice:
        raise DataError(f"{table.path}: two columns have the shares of class {twice[0]!r}")
    others = [name for name in table.columns if name not in names]
    key = table.find_column("item", item, among=others)
    columns = table.select([key, *names])
    items = normalize_names(table.filled("item", columns[key], "leave the row out")).tolist()
    twice = repeated(items)
    if twice:
        raise DataError(f"{table.path}: the shares of item {twice[0]!r} are given more than once")
    share_ki = [[_share(cell) for cell in columns[name].to_pylist()] for name in names]
    share_ik = np.array(share_ki).T
    _require_shares(table, names, share_ik)
    return {
        item: dict(zip(classes, share_k, strict=True))
        for item, share_k in zip(items, share_ik.tolist(), strict=True)
    }


def _share_columns(columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name.startswith(_PREFIX) and name != _PREFIX]


def _share(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def _require_shares(table: Table, names: list[str], share_ik: Any) -> None:
    valid_ik = (share_ik >= 0) & (share_ik <= 1 + _TOLERANCE)  # not for NaN
    if not valid_ik.all():
        row, column = (int(each) for each in np.argwhere(~valid_ik)[0])
        raise DataError(
            f"{table.place(row)}, column {names[column]!r}: a share must be a number 0..1; "
            "correct it, or rename the column if it has no shares"
        )
    total_i = share_ik.sum(axis=1)
    off = np.flatnonzero(np.abs(total_i - 1) > _TOLERANCE)
    if len(off):
        raise DataError(
            f"{table.place(int(off[0]))}: the shares {', '.join(names[:3])} ... sum to "
            f"{total_i[off[0]]:.6g}; divide them by their sum, or rename the columns if they have "
            "no shares"
        )
