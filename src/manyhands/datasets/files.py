"""The files that public data comes in: which are there, and an error that tells what is not."""

from collections.abc import Sequence
from pathlib import Path

from manyhands.core.errors import DataError


def missing_files(home: Path, names: Sequence[str]) -> list[str]:
    """The files that are not there; a `*` in a name stands for anything, and one match is enough.

    >>> missing_files(Path("nowhere"), ["truth.txt"]) == [str(Path("nowhere/truth.txt"))]
    True
    """
    return [str(home / name) for name in names if not any(map(Path.is_file, home.glob(name)))]


def require_files(home: Path, names: Sequence[str], what: str) -> None:
    """Refuse a folder that lacks some of the files."""
    missing = missing_files(home, names)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DataError(f"{missing[0]}: no such file{more}; {what} needs {', '.join(names)}")
