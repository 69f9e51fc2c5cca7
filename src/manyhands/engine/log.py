"""What happened in every epoch: JSON lines, and TensorBoard where it is installed."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from manyhands.io import atomic_write
from manyhands.io.bundle import make_folder, remove_matching

FILE = "log.jsonl"


class EpochLog:
    """A line per epoch in `log.jsonl`; TensorBoard's files beside it when it is installed.

    Without a folder nothing is written.
    """

    def __init__(self, folder: str | Path | None, history: Sequence[dict[str, Any]]) -> None:
        self._stream: TextIO | None = None
        self._board: Any = None
        if folder is None:
            return
        home = make_folder(folder)
        remove_matching(home, f".{FILE}.*")
        # Epochs after the checkpoint will be made again: only those before it are kept.
        with atomic_write(home / FILE) as stream:
            stream.write("".join(json.dumps(entry) + "\n" for entry in history).encode())
        self._stream = (home / FILE).open("a", encoding="utf-8")
        self._board = _tensorboard(home)

    def close(self) -> None:
        """Everything is on disk."""
        for each in (self._stream, self._board):
            if each is not None:
                each.close()

    def write(self, entry: dict[str, Any]) -> None:
        """Add one epoch."""
        if self._stream is not None:
            self._stream.write(json.dumps(entry) + "\n")
            self._stream.flush()
        if self._board is not None:
            for name, value in entry.items():
                if isinstance(value, float):
                    self._board.add_scalar(name, value, entry["epoch"])


def _tensorboard(home: Path) -> Any:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(log_dir=str(home / "tensorboard"))
