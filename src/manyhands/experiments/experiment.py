"""What every experiment can do, be it a table or a figure."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from manyhands.experiments.records import RecordStore
from manyhands.experiments.sources import Source
from manyhands.experiments.tasks import Task


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for: where the corpora are, how many seeds, and whether slow parts run.

    `runs` None is as many as an experiment usually has.

    `data` is the folder that holds the corpora, None where only simulated crowds are wanted.
    `slow` runs what takes hours without a GPU too. `recorded` is for telling of records made
    elsewhere: nothing is looked for on this machine.
    """

    data: str | None = None
    runs: int | None = None
    seed: int = 0
    slow: bool = False
    recorded: bool = False

    def lacks(self, source: Source, slow: bool = False) -> str:
        """Why a crowd cannot be used here; empty when it can."""
        if self.recorded:
            return ""
        reason = source.missing(self.data)
        if not reason and slow and not (self.slow or torch.cuda.is_available()):
            return "takes hours without a GPU; give --slow to run it all the same"
        return reason


@dataclass(frozen=True)
class Written:
    """The files that tell of an experiment, and the same in rows.

    `aside` names what a screen has no room for.
    """

    files: list[str]
    rows: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    validation_unit: frozenset[str] = frozenset()


class Experiment(ABC):
    """A table or a figure of a paper: the runs it needs, and what is made of them."""

    name: str
    paper: str
    title: str

    @property
    @abstractmethod
    def needs(self) -> list[str]:
        """The data it would use."""

    @abstractmethod
    def tasks(self, request: Request) -> list[Task]:
        """The runs it is made of, as far as they can be made here."""

    @abstractmethod
    def missing(self, request: Request) -> list[str]:
        """What cannot be made here and why, a line each."""

    @abstractmethod
    def write(self, store: RecordStore, request: Request, folder: Path) -> Written:
        """Put what the records say into files of a folder."""

    @property
    def file_name(self) -> str:
        """The name of its files, without their suffix."""
        return self.name.replace("/", "-")
