"""The one epoch loop."""

import copy
import json
import logging
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import replace
from functools import partial
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from manyhands.core.errors import DataError, ManyhandsError, SettingError
from manyhands.core.settings import require
from manyhands.engine.checkpoint import Checkpoint, TrainingState, unshared
from manyhands.engine.learner import Learner, TrainingResult, TrainingRun
from manyhands.engine.memory import out_of_memory
from manyhands.engine.optimisers import Stepper, make_optimisers
from manyhands.engine.progress import EpochBar, EpochLog
from manyhands.engine.randomness import deterministic, own_random_numbers
from manyhands.engine.schedules import set_rates
from manyhands.engine.stack import StackedLearner
from manyhands.engine.stackable import why_separate
from manyhands.engine.task import VALIDATION, CrowdModule, torch_threads
from manyhands.engine.weight_average import WeightAverage
from manyhands.evaluation import CRITERIA, CROWD_METRICS
from manyhands.io.folders import locked_folder, make_folder
from manyhands.networks.images import set_memory_format

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy

__all__ = ["TrainingResult", "TrainingRun", "best_epoch", "train", "train_together"]

_SUMS_SPARSE = (nn.Embedding, nn.EmbeddingBag)  # modules whose sparse gradients torch sums


def train(run: TrainingRun) -> TrainingResult:
    """Train in this process or in several; the module ends with the weights of the result."""
    return train_together([run])[0]


def train_together(runs: Sequence[TrainingRun]) -> list[TrainingResult]:
    """Train runs that differ by their seeds as one program, with one step for all of them.

    Each has the result that `train` gives, but for rounding. A `SettingError` says why runs cannot
    be trained together (`why_separate`).
    """
    from lightning_fabric import Fabric  # takes seconds, and predictions do not need it

    settings = runs[0].settings
    if len(runs) > 1 and (reason := why_separate(runs)):
        raise SettingError(f"these runs cannot be trained together: {reason}")
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it logs every precision
    fabric = Fabric(
        accelerator=settings.accelerator,
        devices=settings.devices,
        strategy=_several(runs[0].module) if settings.devices > 1 else "auto",
        precision="bf16-mixed" if settings.precision == "bf16" else "32-true",
    )
    with tempfile.TemporaryDirectory() if settings.devices > 1 else nullcontext("") as home:
        # Runs go in with the function: Fabric looks into arguments, and refuses frozen ones.
        found: Any = fabric.launch(partial(_work, runs=list(runs), home=Path(home)))
        if isinstance(found, ManyhandsError):
            raise found
        results: list[TrainingResult] = (
            [_read_result(Path(home))] if settings.devices > 1 else found
        )
    for run, result in zip(runs, results, strict=True):
        set_memory_format(run.module, torch.contiguous_format)
        run.module.load_state_dict(result.weights)
        if settings.compile:  # a copy is not compiled: predictions have batches of any size
            run.module.network = copy.deepcopy(run.module.network)
    return results


def _write_result(result: TrainingResult, home: Path) -> None:
    """Leave a result in a folder: through a pipe, a large one would wait for a reader forever."""
    safetensors.torch.save_file(unshared(result.weights), home / "weights.safetensors")
    (home / "epochs.json").write_text(json.dumps([result.epoch, result.history]))


def _read_result(home: Path) -> TrainingResult:
    epoch, history = json.loads((home / "epochs.json").read_text())
    return TrainingResult(safetensors.torch.load_file(home / "weights.safetensors"), epoch, history)


def _several(module: CrowdModule) -> "DDPStrategy":
    """One process per device. Buffers are not broadcast: those of large crowds are large."""
    from lightning_fabric.strategies.ddp import DDPStrategy

    for each in module.modules():
        lost = getattr(each, "sparse", False) is True and not isinstance(each, _SUMS_SPARSE)
        require(not lost, "sparse", "False with several devices", True)
    newer = "forward_sync_buffers" in signature(DistributedDataParallel).parameters
    quiet: dict[str, Any] = {"forward_sync_buffers" if newer else "broadcast_buffers": False}
    # The noise model is not trained during the warm-up: its parameters are unused then.
    return DDPStrategy(start_method="spawn", find_unused_parameters=True, **quiet)


def _work(
    fabric: "Fabric", runs: list[TrainingRun], home: Path
) -> list[TrainingResult] | Exception | None:
    """The results, or the error to raise; the first of several processes leaves it in a folder."""
    run = runs[0]
    several = run.settings.devices > 1
    if several:  # the module that was sent lies in memory that all processes share
        runs = [replace(run, module=copy.deepcopy(run.module))]
    cuda = [fabric.device] if fabric.device.type == "cuda" else []
    n_items = round(run.settings.batch_size * run.inputs.tokens_per_item) * len(runs)
    threads = torch_threads(run.module.network, run.inputs.shape, n_items, run.settings)
    same = deterministic(fabric.device)
    try:
        with own_random_numbers(devices=cuda), torch.enable_grad(), threads, same:
            results = _Worker(fabric, runs).run_epochs()
            if not several:
                return results
            if fabric.is_global_zero:
                _write_result(results[0], home)
            return None
    except ManyhandsError as error:
        return error
    except (MemoryError, RuntimeError) as error:
        told = out_of_memory(error, run.settings)
        if told is None:
            raise
        return told
    finally:
        if several:  # or its threads may be running when the process ends, which aborts it
            torch.distributed.destroy_process_group()


class _Worker:
    """One process's part of a run, or of several runs as one program."""

    def __init__(self, fabric: "Fabric", runs: Sequence[TrainingRun]) -> None:
        self.fabric, self.runs, self.run, self.settings = fabric, runs, runs[0], runs[0].settings
        stacked = len(runs) > 1
        self.learner = (
            StackedLearner(runs, fabric.device) if stacked else Learner(self.run, fabric.device)
        )
        self.module = self.learner.module
        if fabric.device.type == "cuda" and self.settings.devices == 1 and not stacked:
            set_memory_format(self.module, torch.channels_last)
        made = make_optimisers(self.module, self.settings)
        if not made:
            raise DataError("the network has no parameters to train")
        if self.settings.compile:
            self.module.network.compile()
        self.wrapped: Any = self.learner if stacked else self.module
        self.optimisers: list[Any] = made
        if self.settings.devices > 1 or self.settings.precision != "32":
            # One device in full precision does not need the wrappers, which slow a small step.
            self.wrapped, *self.optimisers = fabric.setup(self.module, *made)
        self.step = Stepper(self.module, self.optimisers, self.settings, self.learner.n_stacked)
        decay = self.settings.ema_decay
        self.average = WeightAverage(self.module, decay) if decay > 0 else None
        self.place = Checkpoint(self.run.folder, self.run.fingerprint) if self.run.folder else None
        self.states = [TrainingState() for _ in runs]

    def run_epochs(self) -> list[TrainingResult]:
        """All epochs, from the start or from a checkpoint; the results."""
        first = self.fabric.is_global_zero
        with ExitStack() as stack:
            if self.run.folder is not None and first:
                stack.enter_context(locked_folder(make_folder(self.run.folder)))
            if self.run.resume and self.place is not None and self.place.exists():
                self.states = [self.place.restore(self.module, self.optimisers, self.average)]
            shown = [stack.enter_context(closing(each)) for each in self._reports()]
            while going := [n for n, state in enumerate(self.states) if not state.finished]:
                began = time.perf_counter()
                entries = self._epoch(self.states[going[0]].epoch)
                with self._averaged():
                    self._evaluate(entries, going, began)
                for report in shown:
                    report.add(mean_entry([entries[n] for n in going]))
                if self.place is not None and first:
                    self.place.save(self.states[0], self.module, self.optimisers, self.average)
        with self._averaged():
            return self.learner.results(self.states)

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
        settings, rank, n_ranks = self.settings, self.fabric.global_rank, self.fabric.world_size
        set_rates(self.optimisers, settings, epoch)
        rises = epoch < settings.learning_rate_warm_up
        order = self.learner.start_epoch(epoch, rank)
        n_batches = self.learner.n_steps(order, n_ranks) if rises else 0
        warm_up_epoch = epoch < settings.warm_up
        if not warm_up_epoch:
            self.learner.on_epoch_start(epoch - settings.warm_up)
        total, n_steps = torch.zeros(self.learner.loss_shape, device=self.fabric.device), 0
        self.wrapped.train()
        for batches in self.learner.steps(order, rank, n_ranks):

            def backward(batches: Any = batches) -> Tensor:
                losses = [self._backward(each, warm_up_epoch) for each in batches]
                return losses[0] if len(losses) == 1 else torch.stack(losses).mean(dim=0)

            n_steps += 1
            if rises:
                set_rates(self.optimisers, settings, epoch, n_steps / n_batches)
            total += self.step(backward)
            if self.average is not None:
                self.average.update()
        mean: Any = self.fabric.all_reduce(total / max(n_steps, 1), reduce_op="mean")
        return [
            {"epoch": epoch + 1, "loss": loss, "warm_up_epoch": warm_up_epoch}
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
        # One process decides: batch statistics may differ between processes.
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
            raise SettingError(
                f"the loss is not finite after epoch {entry['epoch']}{whose}; "
                "lower learning_rate, set max_grad_norm, or scale the features"
            )
        state.epoch += 1
        state.history.append(entry)
        if validated:
            state.best_epoch = best_epoch(state.history, settings.monitor)
        waited = state.epoch - (state.best_epoch or state.epoch)
        stop = settings.patience is not None and waited >= settings.patience
        state.finished = stop or state.epoch >= self.runs[n].n_epochs
        # Other runs of a stack may go on: the last weights of this one would be lost.
        last = len(self.runs) > 1 and state.finished and state.best is None
        return (validated and state.best_epoch == state.epoch) or last


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
