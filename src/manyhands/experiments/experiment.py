"""What every experiment can do, whether it is a table or a figure."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from manyhands.core.settings import require_choice
from manyhands.experiments.data import CorpusSource, Source
from manyhands.experiments.encoders import missing_encoder
from manyhands.experiments.grids import Grid
from manyhands.experiments.pages import code_block, write_page
from manyhands.experiments.protocols import PROTOCOLS, Protocol
from manyhands.experiments.records import Record, Records
from manyhands.experiments.run_lists import list_runs
from manyhands.experiments.runs import Run


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Which runs to make: where the corpora are, how many seeds, and whether slow parts run.

    `data` is the folder of the corpora; None if only simulated crowds are wanted. `n_runs` is the
    number of seeds; None means the usual number of each experiment. `slow` also runs what takes
    hours without a GPU. `protocol` "published" makes the runs by the protocol of the paper, "ours"
    those by ours, "both" both; pages show all that are recorded. `recorded` assumes that all data
    are available, to show records that were made elsewhere.
    """

    data: str | None = None
    n_runs: int | None = None
    seed: int = 0
    slow: bool = False
    protocol: str = "both"
    recorded: bool = False

    def __post_init__(self) -> None:
        require_choice("protocol", self.protocol, PROTOCOLS)

    def runs_by(self, protocol: str) -> bool:
        """Whether runs by the protocol "published" or "ours" are wanted."""
        return self.protocol in (protocol, "both")

    def unavailable(
        self, source: Source, slow: bool = False, settings: Mapping[str, Any] | None = None
    ) -> str:
        """Why a source cannot be used here, or the encoder of the settings; empty if it can."""
        if self.recorded:
            return ""
        reason = source.unavailable(self.data) or missing_encoder(settings or {}, self.data)
        if not reason and slow and not (self.slow or torch.cuda.is_available()):
            return "takes hours without a GPU; give --slow to run it all the same"
        return reason


@dataclass(frozen=True)
class WrittenPages:
    """The files that were written about an experiment, and the same content as rows.

    `hidden` names columns that are left out where a screen has no room for them. `grids` are the
    tables as they are printed, where there are any.
    """

    files: list[str]
    rows: Sequence[Mapping[str, Any]] = ()
    hidden: frozenset[str] = frozenset()
    grids: Sequence[Grid] = ()


@dataclass(frozen=True)
class Summary:
    """Counts of published figures: all, reached as published and by our protocol, and judged so.

    `why` is why others are not reached.
    """

    published: int = 0
    judged: Mapping[str, int] = field(default_factory=dict)
    reached: Mapping[str, int] = field(default_factory=dict)
    why: str = ""


class Experiment(ABC):
    """A table or a figure: the runs it needs, and the pages written from their records."""

    name: str
    paper: str
    title: str

    @property
    @abstractmethod
    def needs(self) -> list[str]:
        """The data it uses."""

    @abstractmethod
    def runs(self, options: RunOptions) -> Sequence[Run]:
        """The runs that can be made here."""

    @abstractmethod
    def reasons(self, options: RunOptions) -> dict[str, str]:
        """Why parts cannot be run here, by part; empty if all can be run."""

    @abstractmethod
    def write(self, records: Records, options: RunOptions, folder: Path) -> WrittenPages:
        """Write the content of the records into files of a folder."""

    @property
    def protocol(self) -> Protocol | None:
        """How the paper made it; None if it is ours."""
        return None

    @property
    def open_fields(self) -> list[str]:
        """The fields of the protocol of the paper that are missing, empty if it is complete."""
        return []

    @property
    def stand_ins(self) -> list[str]:
        """What takes the place of what in the data, a line each."""
        return []

    def summary(self, records: Records, options: RunOptions) -> Summary:
        """How many of its published figures are reached; nothing for what publishes none."""
        return Summary()

    def unavailable(self, options: RunOptions) -> list[str]:
        """What cannot be run here and why, one line each."""
        return [f"{part}: {reason}" for part, reason in self.reasons(options).items()]

    @property
    def file_name(self) -> str:
        """The name of its files, without the suffix."""
        return self.name.replace("/", "-")

    def command(self, options: RunOptions) -> str:
        """The command that makes it again."""
        seeds = "" if options.n_runs is None else f" --runs {options.n_runs}"
        whose = "" if options.protocol == "both" else f" --protocol {options.protocol}"
        return f"manyhands reproduce {self.name} --data DIR{seeds}{whose}"

    def write_page(
        self, folder: Path, options: RunOptions, about: Sequence[str], body: Sequence[str]
    ) -> str:
        """Write a page of its heading, lines about it, its command, a body and its runs.

        Returns its path.
        """
        head = [f"# {self.name}: {self.title}", "", *about, code_block(self.command(options)), ""]
        lines = [*head, *body, *self.run_lines(options)]
        return write_page(folder / f"{self.file_name}.md", "\n".join(lines).rstrip() + "\n")

    def run_lines(self, options: RunOptions) -> list[str]:
        """Where the records of its runs are, as lines of a page."""
        return list_runs(self.runs(options))

    def missing_lines(self, options: RunOptions) -> list[str]:
        """What cannot be run here, as a list of a page."""
        return [f"- missing: {line}" for line in self.unavailable(options)]


class CorpusExperiment(Experiment):
    """An experiment of ours on public corpora, whose runs come in groups of seeds."""

    paper = "ours"
    usual_runs = 10
    datasets: tuple[str, ...]

    @abstractmethod
    def groups(self, options: RunOptions) -> Mapping[Any, Sequence[Run]]:
        """The runs that can be made here, by what their records are shown for."""

    @property
    def needs(self) -> list[str]:
        """See `Experiment.needs`."""
        return list(self.datasets)

    def runs(self, options: RunOptions) -> list[Run]:
        """See `Experiment.runs`."""
        return [run for group in self.groups(options).values() for run in group]

    def reasons(self, options: RunOptions) -> dict[str, str]:
        """See `Experiment.reasons`; the parts are corpora."""
        reasons = {name: options.unavailable(CorpusSource(name)) for name in self.datasets}
        return {name: reason for name, reason in reasons.items() if reason}

    def available(self, options: RunOptions) -> list[str]:
        """The corpora that can be used here."""
        return [name for name in self.datasets if name not in self.reasons(options)]

    def seeds(self, options: RunOptions) -> range:
        """The seeds of its runs."""
        return range(options.seed, options.seed + (options.n_runs or self.usual_runs))

    def introduction(self, given: Mapping[str, Any], options: RunOptions) -> str:
        """The text above its tables, from its specification."""
        return str(given["introduction"]).format(n_runs=len(self.seeds(options)))

    def found(self, records: Records, options: RunOptions) -> dict[Any, list[Record]]:
        """The records of every group."""
        return {key: found_records(runs, records) for key, runs in self.groups(options).items()}


def found_records(runs: Sequence[Run], records: Records) -> list[Record]:
    """The records of those runs that were made."""
    return [record for run in runs if (record := records.get(run.key)) is not None]
