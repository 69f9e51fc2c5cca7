"""Records of finished runs: one JSON line per run, under the hash of the run's fingerprint."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.core.errors import DataError
from manyhands.io.atomic import naming_file
from manyhands.io.bundle import require_plain_file
from manyhands.io.headers import NUMBER, TEXT, Field, optional, require_fields
from manyhands.io.json_text import parse_json

FILE = "records.jsonl"
_FIELDS = {
    "error": TEXT,
    "scores": Field(
        "an object of numbers",
        lambda value: isinstance(value, dict) and all(map(optional(NUMBER).fits, value.values())),
    ),
}
NOT_RUN = "not run yet"

Record = dict[str, Any]


def fingerprint_key(fingerprint: Mapping[str, Any]) -> str:
    """The key of a record: a short hash of everything that determines the run's result."""
    text = json.dumps(fingerprint, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Records:
    """Records in memory, by key.

    The last record of a key counts, but a run that finished counts before one that failed.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records: dict[str, Record] = {}
        for record in records:
            if "error" not in record or not self.finished(record["key"]):
                self._records[record["key"]] = record

    @classmethod
    def read(cls, paths: Iterable[Path]) -> "Records":
        """The records of several files together."""
        return cls(record for path in paths for record in _read(path))

    @classmethod
    def in_folder(cls, folder: str | Path) -> "Records":
        """The records of all files of a folder; other files of JSON lines are left out."""
        return cls.read(_files_of_records(Path(folder)))

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: str) -> Record | None:
        """The record of a run; None if the run was not made."""
        return self._records.get(key)

    def finished(self, key: str) -> bool:
        """Whether a run was made and did not fail."""
        record = self._records.get(key)
        return record is not None and "error" not in record

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record."""
        self._records[record["key"]] = dict(record)


class RecordStore(Records):
    """Records that are also kept in a file. A line is written whole or not at all.

    A process that is killed while it writes may leave an incomplete line at the end of the file.
    Opening the file removes that line. `others` are files with more records, which are only read.
    """

    def __init__(self, path: str | Path, others: Iterable[Path] = ()) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        require_plain_file(self.path)
        if self.path.exists():
            content = self.path.read_bytes()
            complete = content.rfind(b"\n") + 1
            if complete < len(content):
                os.truncate(self.path, complete)
        super().__init__(record for each in (*others, self.path) for record in _read(each))

    @classmethod
    def in_folder(cls, folder: str | Path) -> "RecordStore":
        """The records of all files of a folder, with new ones in the file `FILE` of it."""
        path = Path(folder) / FILE
        return cls(path, [each for each in _files_of_records(Path(folder)) if each != path])

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record to the file at once."""
        line = json.dumps(dict(record), ensure_ascii=False, sort_keys=True) + "\n"
        with naming_file(self.path), self.path.open("ab") as stream:
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())
        super().append(record)


def _read(path: Path) -> Iterator[Record]:
    if not path.exists():
        return
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            record = parse_json(line, path)
            require_fields(record, {"key": TEXT})
            require_fields(record, {name: _FIELDS[name] for name in _FIELDS if name in record})
        except (DataError, TypeError):
            raise DataError(f"{path}, line {number}: is not a record") from None
        yield record


def _files_of_records(folder: Path) -> list[Path]:
    """The files whose first line is a record, by name."""
    return [path for path in sorted(folder.glob("*.jsonl")) if _begins_with_record(path)]


def _begins_with_record(path: Path) -> bool:
    if path.name == FILE or not path.is_file():
        return path.is_file()
    with path.open("rb") as stream:
        line = stream.readline()
    try:
        require_fields(parse_json(line, path), {"key": TEXT})
    except (DataError, TypeError):
        return False
    return True


def json_content(content: Any) -> Any:
    """Content for a line of JSON: arrays as lists, numbers to five digits, None if not finite."""
    if isinstance(content, Mapping):
        return {str(key): json_content(value) for key, value in content.items()}
    if isinstance(content, np.ndarray | np.generic):
        return json_content(content.tolist())
    if isinstance(content, list | tuple):
        return [json_content(value) for value in content]
    if isinstance(content, float):
        return float(f"{content:.5g}") if np.isfinite(content) else None
    return content
