"""The one epoch loop."""

import copy
import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import asdict, replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from manyhands.core.arrays import digest
from manyhands.core.errors import DataError, DivergedError, SettingError
from manyhands.core.settings import require
from manyhands.engine.checkpoint import Checkpoint, TrainingState, unshared
from manyhands.engine.launch import launch
from manyhands.engine.learner import Learner, TrainingResult, TrainingRun
from manyhands.engine.memory import out_of_memory
from manyhands.engine.optimisers import Stepper, make_optimisers, table_parameters
from manyhands.engine.processes import Processes
from manyhands.engine.progress import EpochBar, EpochLog
from manyhands.engine.randomness import deterministic, own_random_numbers
from manyhands.engine.row_optimisers import average_rows
from manyhands.engine.schedules import set_rates
from manyhands.engine.stack import StackedLearner
from manyhands.engine.stackable import why_separate
from manyhands.engine.task import VALIDATION, torch_threads
from manyhands.engine.weight_average import WeightAverage
from manyhands.evaluation import CRITERIA, CROWD_METRICS
from manyhands.io.folders import locked_folder, make_folder
from manyhands.networks.batch_norm import share_statistics
from manyhands.networks.images import set_memory_format

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["TrainingResult", "TrainingRun", "best_epoch", "train", "train_together"]

OBJECTIVE = "objective"  # the key of the log-likelihood per label before an epoch in a history


def train(run: TrainingRun) -> TrainingResult:
    """Train in this process or in several; the module ends with the weights of the result."""
    return train_together([run])[0]


def train_together(runs: Sequence[TrainingRun]) -> list[TrainingResult]:
    """Train runs that differ by their seeds as one program, with one step for all of them.

    Each has the result that `train` gives, but for rounding. A `SettingError` says why runs cannot
    be trained together (`why_separate`).
    """
    settings = runs[0].settings
    if len(runs) > 1 and (reason := why_separate(runs)):
        raise SettingError(f"these runs cannot be trained together: {reason}")
    work = partial(_work, runs=list(runs))
    results: list[TrainingResult] = launch(settings, work, write=_write_result, read=_read_result)
    for run, result in zip(runs, results, strict=True):
        set_memory_format(run.module, torch.contiguous_format)
        run.module.load_state_dict(result.weights)
        if settings.compile:  # a copy is not compiled: predictions have batches of any size
            run.module.network = copy.deepcopy(run.module.network)
    return results


def _write_result(results: list[TrainingResult], home: Path) -> None:
    """Leave a result in a folder: through a pipe, a large one would wait for a reader forever."""
    (result,) = results
    safetensors.torch.save_file(unshared(result.weights), home / "weights.safetensors")
    (home / "epochs.json").write_text(json.dumps([result.epoch, result.history]))


def _read_result(home: Path) -> list[TrainingResult]:
    epoch, history = json.loads((home / "epochs.json").read_text())
    weights = safetensors.torch.load_file(home / "weights.safetensors")
    return [TrainingResult(weights, epoch, history)]


def _work(fabric: "Fabric", runs: list[TrainingRun]) -> list[TrainingResult]:
    """The results of all runs, in one process of those that train them."""
    run = runs[0]
    if run.settings.n_processes > 1:
        # The module that was sent lies in memory that all processes share; it is also changed.
        runs = [replace(run, module=copy.deepcopy(run.module))]
    cuda = [fabric.device] if fabric.device.type == "cuda" else []
    n_items = round(run.settings.batch_size * run.inputs.tokens_per_item) * len(runs)
    threads = torch_threads(run.module.network, run.inputs.shape, n_items, run.settings)
    same = deterministic(fabric.device)
    try:
        with own_random_numbers(devices=cuda), torch.enable_grad(), threads, same:
            return _Worker(fabric, runs).run_epochs()
    except (MemoryError, RuntimeError) as error:
        told = out_of_memory(error, run.settings)
        if told is None:
            raise
        raise told from error


class _Worker:
    """One process's part of a run, or of several runs as one program."""

    def __init__(self, fabric: "Fabric", runs: Sequence[TrainingRun]) -> None:
        self.fabric, self.runs, self.run, self.settings = fabric, runs, runs[0], runs[0].settings
        self.processes = Processes(fabric.global_rank, fabric.world_size)
        stacked, several = len(runs) > 1, self.processes.n > 1
        self.learner = (
            StackedLearner(runs, fabric.device)
            if stacked
            else Learner(self.run, fabric.device, self.processes)
        )
        self.module = self.learner.module
        if fabric.device.type == "cuda" and not several and not stacked:
            set_memory_format(self.module, torch.channels_last)
        self.tables = self._share_module() if several else []
        made = make_optimisers(self.module, self.settings, self.processes)
        if not made:
            raise DataError("the network has no parameters to train")
        if self.settings.compile:
            self.module.network.compile()
        self.wrapped: Any = self.learner if stacked else self.module
        self.optimisers: list[Any] = made
        if several or self.settings.precision != "32":
            # One device in full precision does not need the wrappers, which slow a small step.
            self.wrapped, *self.optimisers = fabric.setup(self.module, *made)
        self.step = Stepper(self.module, self.optimisers, self.settings, self.learner.n_stacked)
        decay = self.settings.ema_decay
        self.average = WeightAverage(self.module, decay) if decay > 0 else None
        self.place = Checkpoint(self.run.folder, self.run.fingerprint) if self.run.folder else None
        self.states = [TrainingState() for _ in runs]

    def _share_module(self) -> list[Tensor]:
        """Prepare the module for several processes; its tables with sparse gradients."""
        _require_same(self.run, self.processes)
        share_statistics(self.module, self.processes.sum)
        tables = table_parameters(self.module)
        for table in tables.values():
            self.processes.copy_first(table.data)
        # Not every backend of torch sums sparse gradients: the loop exchanges their rows itself.
        names: Any = list(tables)
        self.module._ddp_params_and_buffers_to_ignore = names
        return list(tables.values())

    def run_epochs(self) -> list[TrainingResult]:
        """All epochs, from the start or from a checkpoint; the results."""
        first = self.fabric.is_global_zero
        with ExitStack() as stack:
            if self.run.folder is not None and first:
                stack.enter_context(locked_folder(make_folder(self.run.folder)))
            if self._resumes() and self.place is not None:
                self.states = [self.place.restore(self.module, self.optimisers, self.average)]
            shown = [stack.enter_context(closing(each)) for each in self._reports()]
            while going := [n for n, state in enumerate(self.states) if not state.finished]:
                began = time.perf_counter()
                entries = self._epoch(self.states[going[0]].epoch)
                with self._averaged():
                    self._evaluate(entries, going, began)
                for report in shown:
                    report.add(mean_entry([entries[n] for n in going]))
                self._save()
        with self._averaged():
            return self.learner.results(self.states)

    def _resumes(self) -> bool:
        """Whether there is a checkpoint to go on from: the first process decides for all."""
        if not self.run.resume or self.place is None:
            return False
        there = self.processes.objects(self.place.exists())
        if there[0] and not all(there):
            raise DataError(
                f"{self.place.folder}: the checkpoint is not on all machines; give them a folder "
                "that they share"
            )
        return bool(there[0])

    def _save(self) -> None:
        """Save a checkpoint if it is time to; the first process decides, and writes."""
        if self.place is None:
            return
        if self.processes.objects(self.place.is_due(self.states[0]))[0]:
            self.place.save(
                self.states[0],
                self.module,
                self.optimisers,
                self.average,
                write=self.fabric.is_global_zero,
            )

    def _averaged(self) -> AbstractContextManager[None]:
        """The module with the moving average of its weights, if there is one."""
        return nullcontext() if self.average is None else self.average.applied()

    def _reports(self) -> list[EpochLog | EpochBar]:
        """What tells of every epoch; of several processes only the first does."""
        reports: list[EpochLog | EpochBar] = []
        if self.run.folder is not None and self.fabric.is_global_zero:
            reports.append(EpochLog(self.run.folder, self.states[0].history))
        if self.run.progress and self.fabric.is_global_zero:
            reports.append(EpochBar(max(run.n_epochs for run in self.runs)))
        return reports

    def _epoch(self, epoch: int) -> list[dict[str, Any]]:
        """One pass over the labelled items; its entry of the history, for every run."""
        settings = self.settings
        set_rates(self.optimisers, settings, epoch)
        rises = epoch < settings.learning_rate_warm_up
        order = self.learner.start_epoch(epoch)
        n_batches = self.learner.n_steps(order) if rises else 0
        warm_up_epoch = epoch < settings.warm_up
        if not warm_up_epoch:
            self.learner.on_epoch_start(epoch - settings.warm_up)
        total, n_steps = torch.zeros(self.learner.loss_shape, device=self.fabric.device), 0
        self.wrapped.train()
        for batches in self.learner.steps(order):

            def backward(batches: Any = batches) -> Tensor:
                losses = [self._backward(each, warm_up_epoch) for each in batches]
                average_rows(self.tables, self.processes)
                return losses[0] if len(losses) == 1 else torch.stack(losses).mean(dim=0)

            n_steps += 1
            if rises:
                set_rates(self.optimisers, settings, epoch, n_steps / n_batches)
            total += self.step(backward)
            if self.average is not None:
                self.average.update()
        mean: Any = self.fabric.all_reduce(total / max(n_steps, 1), reduce_op="mean")
        objective = self.module.objective
        found = {} if objective is None or warm_up_epoch else {OBJECTIVE: objective}
        return [
            {"epoch": epoch + 1, "loss": loss, "warm_up_epoch": warm_up_epoch, **found}
            for loss in mean.reshape(-1).tolist()
        ]

    def _backward(self, batch: Any, warm_up_epoch: bool) -> Tensor:
        """Add the gradient of a batch to those of the step; return its loss."""
        loss: Tensor = self.wrapped(batch, warm_up_epoch)
        n_parts = self.settings.accumulate
        whole = loss.sum() if loss.dim() else loss  # runs of a stack share no parameter
        self.fabric.backward(whole if n_parts == 1 else whole / n_parts)
        return loss.detach()

    def _evaluate(self, entries: list[dict[str, Any]], going: list[int], began: float) -> None:
        """Validate the module after an epoch, and add the epoch to the states of these runs."""
        # One process decides: the last bits may differ between machines.
        found = self.learner.validation_scores()
        scores = None if found is None else self.fabric.broadcast(found)
        seconds = (time.perf_counter() - began) / len(going)
        for n in going:
            entries[n] |= {} if scores is None else scores[n]
            entries[n]["seconds"] = seconds
            if self.run.callback is not None:
                entries[n] |= checked_metrics(self.run.callback(self.module), entries[n])
        kept = [n for n in going if self._record(entries[n], n, validated=scores is not None)]
        for n, weights in zip(kept, self.learner.weights(kept), strict=True):
            self.states[n].best = weights

    def _record(self, entry: dict[str, Any], n: int, *, validated: bool) -> bool:
        """Add an epoch to the state of a run; whether its weights are to be kept."""
        state, settings = self.states[n], self.settings
        if not math.isfinite(entry["loss"] + entry.get(VALIDATION, 0.0)):
            whose = "" if len(self.runs) == 1 else f" with seed {self.runs[n].settings.seed}"
            raise DivergedError(
                f"the loss is not finite after epoch {entry['epoch']}{whose}; "
                "lower learning_rate, set max_grad_norm, or scale the features"
            )
        state.epoch += 1
        state.history.append(entry)
        if validated:
            state.best_epoch = best_epoch(state.history, settings.monitor)
        waited = state.epoch - (state.best_epoch or state.epoch)
        stop = settings.patience is not None and waited >= settings.patience
        stop |= settings.tol is not None and converged(state.history, settings.tol)
        state.finished = stop or state.epoch >= self.runs[n].n_epochs
        # Other runs of a stack may go on: the last weights of this one would be lost.
        last = len(self.runs) > 1 and state.finished and state.best is None
        return (validated and state.best_epoch == state.epoch) or last


def _require_same(run: TrainingRun, processes: Processes) -> None:
    """Raise a `DataError` unless all processes have the same labels, features and settings."""
    ann = run.annotations
    told = {
        "labels": digest(ann.item, ann.annotator, ann.label),
        "features": (len(run.inputs), run.inputs.shape),
        "settings": {**asdict(run.settings), "threads": None},
    }
    for rank, other in enumerate(processes.objects(told)):
        for name, value in told.items():
            if other[name] != value:
                raise DataError(
                    f"process {rank + 1} of {processes.n} has other {name} than the rest; give all "
                    "machines the same files and the same command"
                )


def converged(history: Sequence[Mapping[str, Any]], tol: float) -> bool:
    """Whether the objective, or the loss if there is none, last changed by less than this."""
    objectives = [entry[OBJECTIVE] for entry in history if OBJECTIVE in entry]
    losses = [entry["loss"] for entry in history if not entry["warm_up_epoch"]]
    values = objectives or losses
    if len(values) < 2 or (objectives and OBJECTIVE not in history[-1]):
        return False
    return bool(abs(values[-1] - values[-2]) < tol)


def mean_entry(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The entry of an epoch; its mean over the runs of a stack."""
    if len(entries) == 1:
        return dict(entries[0])
    return {name: float(np.mean([entry[name] for entry in entries])) for name in entries[0]}


def checked_metrics(found: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, float]:
    """What a callback returned, as finite numbers under names that the history does not have."""
    numbers = {}
    for name, value in found.items():
        require(name not in entry, "callback", "without names the history has already", name)
        finite = isinstance(value, Real) and math.isfinite(value)
        require(finite, "callback", "a function that returns finite numbers by name", {name: value})
        numbers[name] = float(value)
    return numbers


def best_epoch(history: Sequence[Mapping[str, Any]], monitor: str) -> int | None:
    """The number of the best epoch so far, the earliest of equals; None during the warm-up."""
    entries = [entry for entry in history if not entry["warm_up_epoch"]]
    if not entries:
        return None
    keys = {name: VALIDATION if name == "likelihood" else name for name in CROWD_METRICS}
    scores = {
        name: np.array([entry[key] for entry in entries])
        for name, key in keys.items()
        if key in entries[0]
    }
    return int(entries[int(np.argmax(CRITERIA[monitor](scores)))]["epoch"])
