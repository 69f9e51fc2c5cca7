"""A run of an experiment, the record kept of it, and making the runs that have no record yet."""

import platform
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import manyhands
from manyhands.aggregation import AGGREGATORS
from manyhands.core.errors import SettingError, first_line
from manyhands.core.parallel import in_processes
from manyhands.estimators import CrowdClassifier
from manyhands.estimators.many import gpu_trains
from manyhands.experiments.data import DataSource, ExperimentData
from manyhands.experiments.encoders import with_encoder
from manyhands.experiments.measures import measure
from manyhands.experiments.protocols import SETTING_GROUPS
from manyhands.experiments.records import Record, Records, fingerprint_key
from manyhands.methods import METHODS, Method
from manyhands.selection import Trial, train_seeds_on, trained_on

_FIXED_EPOCHS = 0.3  # time of a method without an epoch search, relative to one that trains twice
_EPOCHS = 50  # of such a method
_LINUX_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Run(ABC):
    """Something that is run once and recorded; its fields determine the result.

    `kind` names the kind of run. `revision` is raised when the same run would give another result
    or when more is measured; records of an earlier revision then no longer count.
    """

    kind: ClassVar[str]
    revision: ClassVar[int] = 1

    @abstractmethod
    def outcome(self, data: str | None) -> dict[str, Any]:
        """Make the run; what its record holds if it succeeds."""

    @property
    @abstractmethod
    def expected_seconds(self) -> float:
        """A rough estimate of the time on one core, from earlier runs."""

    @property
    def group(self) -> str:
        """What runs that differ by their seed alone have in common; empty for a run by itself."""
        return ""

    def outcomes(self, seeds: Sequence[int], data: str | None) -> list[dict[str, Any]]:
        """The outcomes of this run with several seeds, trained as one program.

        An error says why they cannot be trained so.
        """
        raise SettingError(f"runs of the kind {self.kind} are made one by one")

    def fingerprint(self) -> dict[str, Any]:
        """What identifies the run. The version of the library is recorded, but not part of it."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        given["source"] = given["source"].fingerprint()
        return {"kind": self.kind, "revision": self.revision, **given}

    @property
    def key(self) -> str:
        """The key of its record."""
        return fingerprint_key(self.fingerprint())


@dataclass(frozen=True)
class MethodRun(Run):
    """A method with its settings, trained on a crowd with a seed and scored."""

    source: DataSource
    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    kind: ClassVar[str] = "classification"
    revision: ClassVar[int] = 2

    def outcome(self, data: str | None) -> dict[str, Any]:
        """The scores of the trained model."""
        loaded = self.source.load(data, self.seed)
        settings = with_encoder(self.settings, data)
        model = fit_method(loaded.trial, self.method, self.seed, settings)
        return _measured(loaded, model)

    @property
    def group(self) -> str:
        """See `Run.group`."""
        usual = type(self).outcome is MethodRun.outcome  # a run of another kind may do more
        if not (usual and self.source.same_for_seeds):
            return ""
        return fingerprint_key({**self.fingerprint(), "seed": None})

    def outcomes(self, seeds: Sequence[int], data: str | None) -> list[dict[str, Any]]:
        """See `Run.outcomes`."""
        loaded = self.source.load(data, self.seed)
        models = fit_seeds(loaded.trial, self.method, seeds, with_encoder(self.settings, data))
        return [_measured(loaded, model) for model in models]

    @property
    def expected_seconds(self) -> float:
        """See `Run.expected_seconds`."""
        training = self.settings.get("training", {})
        defaults = METHODS[self.method].defaults
        searches = training.get("validation_fraction", defaults.get("validation_fraction", 0.0)) > 0
        trained = 1.0 if searches else _FIXED_EPOCHS * training.get("epochs", _EPOCHS) / _EPOCHS
        restarts = self.settings.get("method", {}).get("restarts", 1)
        return float(trained * restarts * self.source.expected_seconds)


def fit_method(
    trial: Trial, method: str, seed: int, settings: Mapping[str, Any], **fit: Any
) -> CrowdClassifier:
    """Train a method on the labelled items of a trial; `fit` goes to the estimator's `fit`.

    `settings` come in groups: `noise` for the noise model, `aggregator` for the first of two
    stages, `method` for the method itself, `training` for everything else that `CrowdClassifier`
    takes.
    """
    chosen, given = configured(method, settings)
    model: CrowdClassifier = trained_on(trial, chosen, seed, given, **fit)
    return model


def fit_seeds(
    trial: Trial, method: str, seeds: Sequence[int], settings: Mapping[str, Any]
) -> list[CrowdClassifier]:
    """`fit_method` with several seeds, trained as one program."""
    chosen, given = configured(method, settings)
    return train_seeds_on(trial, chosen, seeds, given)


def configured(method: str, settings: Mapping[str, Any]) -> tuple[str | Method, dict[str, Any]]:
    """The method, and the settings of its estimator, from the groups of settings of a run."""
    unknown = sorted(set(settings) - set(SETTING_GROUPS))
    if unknown:
        known = ", ".join(SETTING_GROUPS)
        raise SettingError(f"settings of a run must be in {known}; got {unknown[0]!r}")
    return _chosen_method(method, settings), estimator_settings(settings)


def _chosen_method(name: str, settings: Mapping[str, Any]) -> str | Method:
    """The method by its name, or with settings of its own if there are any."""
    own = dict(settings.get("method", {}))
    chosen: Any = METHODS[name]
    if "aggregator" in settings:
        aggregator = getattr(chosen, "aggregator", None)
        if not isinstance(aggregator, str):
            raise SettingError(f"aggregator settings are for two-stage methods; got {name}")
        own["aggregator"] = AGGREGATORS[aggregator](**settings["aggregator"])
    if not own:
        return name
    known = {each.name for each in fields(chosen)}
    for each in own:
        if each not in known:
            raise SettingError(f"the method {name} has no setting {each!r}")
    made: Method = replace(chosen, **own)
    return made


def _measured(loaded: ExperimentData, model: CrowdClassifier) -> dict[str, Any]:
    scores = measure(loaded, model)
    return {"scores": {name: rounded(value) for name, value in scores.items()}}


def estimator_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The groups `training` and `noise` as `CrowdClassifier` takes them."""
    noise = {"noise": dict(settings["noise"])} if "noise" in settings else {}
    return {**settings.get("training", {}), **noise}


def classification_methods() -> list[str]:
    """The names of the methods that learn classes of items; those of corpora have no order."""
    return [
        name
        for name, method in METHODS.items()
        if "classification" in method.tasks and not method.needs_order
    ]


def execute(run: Run, data: str | None) -> Record:
    """Make a run; its record, which holds the error if the run failed."""
    began = time.perf_counter()
    try:
        outcome = run.outcome(data)
    except Exception as error:  # a failed run is shown, not dropped
        outcome = {"error": f"{type(error).__name__}: {first_line(error)}"}
    return _record(run, outcome, time.perf_counter() - began)


def execute_together(runs: Sequence[Run], data: str | None) -> list[Record]:
    """Make runs that differ by their seed alone as one program; none where that is not possible.

    The time of a record is its share. A run that fails is made by itself, which shows whose error
    it was.
    """
    began = time.perf_counter()
    try:
        outcomes = runs[0].outcomes([run.seed for run in runs], data)  # type: ignore[attr-defined]
    except Exception:
        return []
    seconds = (time.perf_counter() - began) / len(runs)
    pairs = zip(runs, outcomes, strict=True)
    return [_record(run, outcome, seconds) for run, outcome in pairs]


def _record(run: Run, outcome: Mapping[str, Any], seconds: float) -> Record:
    peak = peak_mib()
    return {
        "key": run.key,
        **run.fingerprint(),
        "versions": _versions(),
        **outcome,
        "seconds": round(seconds, 3),
        "peak_mib": None if peak is None else round(peak, 1),
    }


def missing_runs(runs: Iterable[Run], records: Records | None) -> list[Run]:
    """The runs without a record, each once; failed runs are made again. None: no records."""
    different = {run.key: run for run in runs}
    return [run for key, run in different.items() if records is None or not records.finished(key)]


def run_missing(
    runs: Iterable[Run],
    records: Records,
    data: str | None,
    *,
    jobs: int = 1,
    progress: bool = False,
    together: bool | None = None,
) -> None:
    """Make the runs without a record, `jobs` at a time, and record each when it is finished.

    If the process is killed, only the runs that had begun are lost. `progress` shows a bar on
    standard error, in a terminal or a notebook. Runs that differ by their seed alone are trained as
    one program if `together` is True, and by default where there is a GPU.
    """
    todo = missing_runs(runs, records)
    groups = groups_of(todo) if (gpu_trains() if together is None else together) else []
    results = _records(todo, groups, data, jobs)
    console = Console(stderr=True)
    hidden = not (progress and (console.is_terminal or console.is_jupyter))
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=hidden)
    with bar:
        row = bar.add_task("runs", total=len(todo))
        for record in results:
            records.append(record)
            bar.advance(row)


def _records(
    runs: Sequence[Run], groups: Sequence[Sequence[Run]], data: str | None, jobs: int
) -> Iterator[Record]:
    """The records of runs as they are made: groups first, then the runs that were in none."""
    made: set[str] = set()
    for found in in_processes(execute_together, [(some, data) for some in groups], jobs):
        made |= {record["key"] for record in found}
        yield from found
    left = [(run, data) for run in runs if run.key not in made]
    yield from in_processes(execute, left, jobs)


def groups_of(runs: Iterable[Run]) -> list[list[Run]]:
    """The groups of two and more runs that differ by their seed alone."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(run)
    return [some for group, some in groups.items() if group and len(some) > 1]


def peak_mib() -> float | None:
    """The peak memory of this process in MiB; None where the system does not report it.

    Linux is asked for the peak since the program started, because the usual count begins with
    the memory of the parent process.
    """
    if _LINUX_STATUS.exists():
        for line in _LINUX_STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 2**10
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def rounded(value: float | None) -> float | None:
    """A score as a record holds it: six decimals, None if it is unknown or not finite."""
    return None if value is None or not np.isfinite(value) else round(float(value), 6)


def _versions() -> dict[str, str]:
    return {
        "manyhands": manyhands.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
