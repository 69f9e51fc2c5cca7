"""What an epoch reports: a progress bar, JSON lines, and TensorBoard where it is installed."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manyhands.engine.task import VALIDATION
from manyhands.io import atomic_write
from manyhands.io.bundle import require_plain_file
from manyhands.io.folders import LOG_FILE, claim_folder


class EpochBar:
    """A progress bar with the epoch, the loss and the time left, on a terminal or in a notebook."""

    def __init__(self, epochs: int) -> None:
        self._bar: Any = None
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        if not (console.is_terminal or console.is_jupyter):
            return
        self._bar = Progress(
            TextColumn("epoch {task.completed}/{task.total}"),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._row = self._bar.add_task("", total=epochs)
        self._bar.start()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

    def add(self, entry: dict[str, Any]) -> None:
        """Show one more epoch."""
        if self._bar is not None:
            shown = [name for name in ("loss", VALIDATION) if name in entry]
            scores = "  ".join(f"{name} {entry[name]:.4f}" for name in shown)
            self._bar.update(self._row, completed=entry["epoch"], description=scores)


class EpochLog:
    """A line per epoch in `log.jsonl`, and TensorBoard's files beside it if it is installed."""

    def __init__(self, folder: str | Path, history: Sequence[dict[str, Any]]) -> None:
        home = claim_folder(folder)
        require_plain_file(home / LOG_FILE)
        # Epochs after the checkpoint are trained again: only those before it are kept.
        with atomic_write(home / LOG_FILE) as stream:
            stream.write("".join(json.dumps(entry) + "\n" for entry in history).encode())
        self._stream = (home / LOG_FILE).open("a", encoding="utf-8")
        self._board = _tensorboard(home)

    def close(self) -> None:
        """Close the files."""
        self._stream.close()
        if self._board is not None:
            self._board.close()

    def add(self, entry: dict[str, Any]) -> None:
        """Write one more epoch."""
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
