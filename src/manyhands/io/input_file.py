"""The path of a file to read, whose content may lie elsewhere than the file that errors name."""

import os
import tempfile
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from manyhands.io.atomic import naming_file

if TYPE_CHECKING:
    _Path = Path
else:
    _Path = type(Path())  # Python 3.11 makes subclasses of this one only


class InputFile(_Path):
    """The path of a file to read: opening it gives the content, its text is the name for errors.

    What was packed, a sheet of a workbook or standard input lies in a private temporary file, which
    is removed with this object.
    """

    shown = ""  # the name that errors and notes show
    content_name = ""  # the name of the content: labels.csv for labels.csv.gz
    content_suffix: str | None = None  # by the content, if the name does not tell the format
    is_temporary = False  # whether it is removed with this object
    from_archive = False  # whether an archive gives the content its name
    from_sheet = False  # whether the content is a sheet, written as CSV in UTF-8
    notes: tuple[str, ...] = ()  # what a user should know about how the content was found

    @classmethod
    def of(cls, path: str | Path, shown: str, content_name: str) -> "InputFile":
        """The file at a path, under another name."""
        file = cls(path)
        file.shown, file.content_name = shown, content_name
        return file

    @classmethod
    def temporary(
        cls, parts: Iterable[bytes], shown: str, content_name: str, notes: tuple[str, ...] = ()
    ) -> "InputFile":
        """A private temporary file with this content."""
        handle, path = tempfile.mkstemp(prefix="manyhands-")
        file = cls.of(path, shown, content_name)
        file.notes, file.is_temporary = notes, True
        remove = weakref.finalize(file, _remove, path)
        try:
            with naming_file(Path(path).parent), os.fdopen(handle, "wb") as stream:
                for part in parts:
                    stream.write(part)
        except BaseException:
            remove()
            raise
        return file

    def __str__(self) -> str:
        return self.shown or super().__str__()

    def __fspath__(self) -> str:
        return super().__str__()

    @property
    def suffix(self) -> str:
        """The suffix that tells the format of the content."""
        return self.content_suffix or Path(self.content_name).suffix

    @property
    def title(self) -> str:
        """The name of the content without folders and its suffix: ann for round 1/ann.csv.gz."""
        return Path(self.content_name).stem

    def encoding(self, given: str) -> str:
        """The encoding of the content: the given one, unless the content was written here."""
        return "utf-8" if self.from_sheet else given


def is_opened(path: object) -> TypeGuard[InputFile]:
    """Whether a path is that of an opened file."""
    return hasattr(path, "content_name")


def _remove(path: str) -> None:
    with suppress(OSError):  # it is gone, or still open on a system that does not allow it
        Path(path).unlink()
