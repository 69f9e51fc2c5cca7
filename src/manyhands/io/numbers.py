"""Labels that are numbers as spreadsheets write them: 1,5 and 38 %."""

import re
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from manyhands.annotations.plausible import distinct_cells
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingName

_COMMA = re.compile(r"[+-]?[0-9]+(,[0-9]+)?")
_PERCENT = re.compile(r"([+-]?[0-9]+([.,][0-9]+)?) ?%")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")


def plain_numbers(column: Any, missing: Collection[str] = ()) -> tuple[Any, str] | None:
    """A column with decimal points and without percent signs, and a note; None for any other.

    Cells that mean "no label" stay as they are.
    """
    if not pa.types.is_string(_type(column)):
        return None
    found = number_of_cell(distinct_cells(column), missing)
    if found is None:
        return None
    numbers, note = found
    cells: list[Any] = column.to_pylist()
    return pa.chunked_array([[numbers.get(cell, cell) for cell in cells]], pa.string()), note


def plain_grid(grid: AnyArray, missing: Collection[str] = ()) -> tuple[AnyArray, str] | None:
    """The same for the cells of a wide table."""
    cells = [None if cell is None else str(cell) for cell in grid.ravel().tolist()]
    found = number_of_cell(dict.fromkeys(cell for cell in cells if cell is not None), missing)
    if found is None:
        return None
    numbers, note = found
    plain = [cell if cell is None else numbers.get(cell, cell) for cell in cells]
    return np.array(plain, dtype=object).reshape(grid.shape), note


def number_of_cell(
    cells: Iterable[str], missing: Collection[str] = ()
) -> tuple[dict[str, str], str] | None:
    """{cell: number} of different cells that are all such numbers, and a note; otherwise None.

    >>> number_of_cell(["1,5", "2"])
    ({'1,5': '1.5', '2': '2.0'}, 'labels such as 1,5 are read as numbers: 1.5')
    """
    filled = [cell for cell in cells if cell.strip() and cell not in missing]
    texts = {cell: cell.strip() for cell in filled}
    for form in (_COMMA, _PERCENT):
        if not texts or not all(form.fullmatch(text) for text in texts.values()):
            continue
        signs = ",%" if form is _PERCENT else ","
        shown = next((cell for cell in filled if any(sign in cell for sign in signs)), None)
        if shown is None or _is_unclear(filled):
            return None
        numbers = {
            cell: str(float(text.rstrip("% ").replace(",", "."))) for cell, text in texts.items()
        }
        return numbers, f"labels such as {shown} are read as numbers: {float(numbers[shown]):g}"
    return None


def require_clear_numbers(name: str, column: Any) -> None:
    """Raise a `DataError` for labels such as 1,500, which may be two numbers or a list."""
    cells = distinct_cells(column) if pa.types.is_string(_type(column)) else []
    numbers = cells and all(_COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell) for cell in cells)
    if not numbers or not _is_unclear(cells):
        return
    shown = next(cell for cell in cells if "," in cell)
    other = shown.replace(",", "") if _THOUSANDS.fullmatch(shown) else "a list of classes"
    raise DataError(
        f"the label {shown!r} in the column {name!r} may be {shown.replace(',', '.', 1)} or "
        f"{other}; write numbers with a point and without commas, or take every cell for a class "
        "with ", SettingName("kind", "classes"),
    )  # fmt: skip


def require_task(shown: str, task: str | None, kind: str) -> None:
    """Raise a `DataError` if the labels of a file are numbers where the task is classification."""
    if task == "classification" and kind == "numbers":
        raise DataError(
            f"{shown}: the labels are numbers with decimals, which is ",
            SettingName("task", "regression"), "; ", SettingName("kind", "classes"),
            " reads every number as a class of its own",
        )  # fmt: skip


def _is_unclear(cells: Iterable[str]) -> bool:
    """Whether commas may part thousands, or classes in their order, as in 1,3."""
    parted = [cell.strip() for cell in cells if "," in cell]
    pairs = [cell.split(",") for cell in parted]
    listed = all(len(a) == len(b) == 1 and a < b for a, *rest in pairs for b in rest)
    behind = {pair[-1] for pair in pairs}  # of half points it is 5
    thousands = all(_THOUSANDS.fullmatch(cell) for cell in parted)
    return bool(parted) and (thousands or (listed and len(behind) > 1))


def _type(column: Any) -> pa.DataType:
    kind = column.type
    return kind.value_type if pa.types.is_dictionary(kind) else kind
