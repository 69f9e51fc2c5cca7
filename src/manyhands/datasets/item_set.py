"""Items with truth and features that a simulated crowd is put on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from manyhands.datasets.files import missing_files, require_files
from manyhands.simulation.items import Items


@dataclass(frozen=True)
class ItemSet:
    """How items are found in a folder and read; nobody labelled them yet.

    The files lie together in the folder, or in one of its folders that `places` names.
    """

    folder: str
    about: str
    files: Sequence[str]
    load: Callable[[Path, int], Items]
    places: Sequence[str] = ("",)

    def missing(self, data: str | Path) -> list[str]:
        """The files that are not there."""
        return missing_files(self._home(data), self.files)

    def read(self, data: str | Path, seed: int = 0) -> Items:
        """The items in a folder of corpora; the seed splits those that come without a test set."""
        home = self._home(data)
        require_files(home, self.files, self.folder)
        return self.load(home, seed)

    def _home(self, data: str | Path) -> Path:
        homes = [Path(data) / self.folder / place for place in self.places]
        return next((home for home in homes if not missing_files(home, self.files)), homes[0])
