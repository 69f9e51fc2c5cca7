"""Finished runs, a line each: what was run, with which versions, and what came of it."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from manyhands.core.errors import DataError

FILE = "records.jsonl"
NOT_RUN = "not run yet"


class RecordStore:
    """Records of finished runs in a folder; a line is there whole or not at all.

    A process killed while it writes leaves half a line at the end, which is taken away.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder) / FILE
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._mend()
        self._records = {record["key"]: record for record in self._read()}

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: str) -> dict[str, Any] | None:
        """The record of a run; None when it was not run."""
        return self._records.get(key)

    def finished(self, key: str) -> bool:
        """Whether a run was made and did not fail."""
        record = self._records.get(key)
        return record is not None and "error" not in record

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record; the last one of a key counts."""
        line = json.dumps(dict(record), ensure_ascii=False, sort_keys=True) + "\n"
        with self.path.open("ab") as stream:
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())
        self._records[record["key"]] = dict(record)

    def _read(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_bytes().splitlines(), 1):
            try:
                record = json.loads(line)
                record["key"]
            except (ValueError, KeyError, TypeError):
                raise DataError(f"{self.path}, line {number}: is not a record") from None
            yield record

    def _mend(self) -> None:
        if self.path.exists():
            content = self.path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.truncate(self.path, whole)


def content_key(content: Mapping[str, Any]) -> str:
    """A short name for everything that matters to a run."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
