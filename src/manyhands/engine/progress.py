"""A bar for the epochs, on standard error and on a terminal only."""

import sys
from typing import Any


class EpochBar:
    """Shows epochs, the loss and the time left; shows nothing where nobody looks."""

    def __init__(self, epochs: int, wanted: bool) -> None:
        self._bar: Any = None
        if wanted and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("epoch {task.completed}/{task.total}"),
                BarColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._row = self._bar.add_task("", total=epochs)
            self._bar.start()

    def close(self) -> None:
        """The terminal is as it was."""
        if self._bar is not None:
            self._bar.stop()

    def show(self, entry: dict[str, Any]) -> None:
        """One epoch more."""
        if self._bar is not None:
            said = "  ".join(f"{name} {entry[name]:.4f}" for name in _SHOWN if name in entry)
            self._bar.update(self._row, completed=entry["epoch"], description=said)


_SHOWN = ("loss", "held_out")
