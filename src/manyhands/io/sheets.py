"""Excel workbooks: one sheet, written as CSV, which all readers of tables read."""

import csv
import datetime
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

from manyhands.core.errors import DataError, SettingName, first_line
from manyhands.core.settings import nearest_names
from manyhands.io.input_file import InputFile

Cells = list[list[Any]]
_MAX_CELLS = 50_000_000
_MAX_ROWS = 1_048_576  # of Excel


def sheet_as_csv(file: InputFile, sheet: str | None = None) -> InputFile:
    """A sheet of a workbook as a file of CSV: the named one, or the only one with content.

    Whole numbers stay whole, dates are text, and a formula counts by the value that was saved with
    it. Blank rows and columns around the table are left out.
    """
    with _workbook(file) as book:
        name = _sheet_name(file, book, sheet)
        grid = _cells(file, book[name])
    if any(cell is None for row in grid for cell in row):
        _require_saved_values(file, name, grid)
    rows, first = _trimmed(grid)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        if any(row):
            writer.writerow(row)
        else:
            text.write("\n")
    note = f"read the sheet {name!r}" + (f"; its row {first} is line 1" if first > 1 else "")
    made = InputFile.temporary(
        [text.getvalue().encode()], str(file), file.content_name, (*file.notes, note)
    )
    made.content_suffix, made.from_sheet, made.from_archive = ".csv", True, file.from_archive
    return made


def sheet_names(file: InputFile) -> list[str]:
    """The names of the sheets of a workbook that have content."""
    with _workbook(file) as book:
        return [sheet.title for sheet in book.worksheets if _has_content(sheet)]


@contextmanager
def _workbook(file: InputFile, *, formulas: bool = False) -> Iterator[Any]:
    import openpyxl

    book = None
    try:
        with warnings.catch_warnings():  # about styles and rules that are not read
            warnings.simplefilter("ignore")
            with file.open("rb") as stream:
                book = openpyxl.load_workbook(stream, read_only=True, data_only=not formulas)
                for sheet in book.worksheets:
                    sheet.reset_dimensions()  # some programs save wrong ones
                yield book
    except DataError as error:
        raise error.at(file) from None
    except MemoryError:
        raise
    except Exception as error:  # the reader of workbooks raises many kinds for broken ones
        raise DataError(f"{file}: not a workbook, or cut short ({first_line(error)})") from None
    finally:
        if book is not None:
            book.close()


def _cells(file: InputFile, sheet: Any) -> Cells:
    """The cells of a sheet; a `DataError` for cells so far to the right that they fill memory."""
    grid, n_cells = [], 0
    for row in _rows(sheet):
        grid.append(list(row))
        n_cells += len(row)
        if n_cells > _MAX_CELLS:
            raise DataError(
                f"{file}, sheet {sheet.title!r}: has more than {_MAX_CELLS} cells, blank ones "
                "included; delete the cells to the right of the table, or save it as .csv"
            )
    return grid


def _has_content(sheet: Any) -> bool:
    return any(_text(cell) for row in _rows(sheet) for cell in row)


def _rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """The values of all rows, blank ones included; a `DataError` for more than Excel has."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if number > _MAX_ROWS:
            raise DataError(
                f"the sheet {sheet.title!r} has more than {_MAX_ROWS} rows, which no workbook can "
                "have; save the table as .csv"
            )
        yield row


def _sheet_name(file: InputFile, book: Any, given: str | None) -> str:
    names = [sheet.title for sheet in book.worksheets]
    if given is not None:
        if given not in names:
            near = nearest_names(given, names)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            raise DataError(f"{file}: no sheet {given!r}; {hint}sheets: {', '.join(names)}")
        return given
    filled = [sheet.title for sheet in book.worksheets if _has_content(sheet)]
    if not filled:
        raise DataError(f"{file}: no sheet has content")
    if len(filled) > 1:
        raise DataError(
            f"{file}: several sheets have content: {', '.join(filled)}; name one with ",
            SettingName("sheet", filled[0]),
        )
    return str(filled[0])


def _require_saved_values(file: InputFile, name: str, grid: Cells) -> None:
    """Raise a `DataError` for a formula without a value, which no blank cell must be taken for."""
    with _workbook(file, formulas=True) as book:
        for row, (cells, values) in enumerate(
            zip_longest(book[name].iter_rows(values_only=True), grid, fillvalue=()), 1
        ):
            for column, (cell, value) in enumerate(zip_longest(cells, values), 1):
                if value is None and cell is not None:
                    raise DataError(
                        f"{file}, sheet {name!r}, row {row}, column {column}: the formula has no "
                        "saved value; open the file in a spreadsheet program and save it"
                    )


def _trimmed(grid: Cells) -> tuple[list[list[str]], int]:
    """The cells as text, from the first row with content, and the number of that row."""
    rows = [[_text(cell) for cell in row] for row in grid]
    filled = [number for number, row in enumerate(rows) if any(row)]
    if not filled:
        return [], 1
    rows = rows[filled[0] : filled[-1] + 1]
    columns = sorted({column for row in rows for column, cell in enumerate(row) if cell})
    return [
        [row[column] if column < len(row) else "" for column in columns] if row else []
        for row in rows
    ], filled[0] + 1


def _text(cell: Any) -> str:
    """A cell as a spreadsheet program saves it as CSV; dates as ISO 8601 has them."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        has_time = cell.time() != datetime.time()
        return cell.isoformat(sep=" ") if has_time else cell.date().isoformat()
    return str(cell)
