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
    """Records in memory, by key. The last record of a key counts."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records = {record["key"]: record for record in records}

    @classmethod
    def read(cls, paths: Iterable[Path]) -> "Records":
        """The records of several files together."""
        return cls(record for path in paths for record in _read(path))

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
    Opening the file removes that line.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        require_plain_file(self.path)
        if self.path.exists():
            content = self.path.read_bytes()
            complete = content.rfind(b"\n") + 1
            if complete < len(content):
                os.truncate(self.path, complete)
        super().__init__(_read(self.path))

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
