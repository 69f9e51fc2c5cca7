"""The one epoch loop."""

import copy
import json
import logging
import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
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

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, ManyhandsError, SettingError
from manyhands.core.settings import generator, require, seed_for
from manyhands.engine.augment import augmented
from manyhands.engine.batches import CrowdData
from manyhands.engine.checkpoint import Checkpoint, TrainingState, unshared
from manyhands.engine.inputs import Inputs
from manyhands.engine.memory import out_of_memory
from manyhands.engine.optimisers import Stepper, make_optimisers
from manyhands.engine.progress import EpochBar, EpochLog
from manyhands.engine.randomness import deterministic, own_random_numbers
from manyhands.engine.schedules import set_rates
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import VALIDATION, CrowdModule, torch_threads
from manyhands.engine.weight_average import WeightAverage
from manyhands.evaluation import CRITERIA, CROWD_METRICS
from manyhands.io.folders import locked_folder, make_folder
from manyhands.networks.images import set_memory_format

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy

_SUMS_SPARSE = (nn.Embedding, nn.EmbeddingBag)  # modules whose sparse gradients torch sums


@dataclass(frozen=True)
class TrainingRun:
    """A module, its data, and how to train it.

    `validation` labels choose the epoch; nothing else may have seen them. `stop_after` ends
    training early, with the learning rates of a full run. `callback` is called with the module
    after every epoch; the numbers it returns are added to the history. With a `folder`, checkpoints
    and the log are written there; `fingerprint` tells one run from another.
    """

    module: CrowdModule
    inputs: Inputs
    annotations: Annotations
    settings: TrainingSettings
    validation: Annotations | None = None
    stop_after: int | None = None
    folder: Path | None = None
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False
    progress: bool = True
    callback: Callable[[CrowdModule], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        require(
            self.callback is None or self.settings.devices == 1,
            "devices",
            "1 for a callback to see the model",
            self.settings.devices,
        )


@dataclass(frozen=True)
class TrainingResult:
    """The weights that were kept, their epoch, and the history.

    With monitor "ranks" the epoch may be one whose weights are gone; a refit trains them again.
    """

    weights: dict[str, Tensor]
    epoch: int
    history: list[dict[str, Any]]
    search_history: list[dict[str, Any]] = field(default_factory=list)


def train(run: TrainingRun) -> TrainingResult:
    """Train in this process or in several; the module ends with the weights of the result."""
    from lightning_fabric import Fabric  # takes seconds, and predictions do not need it

    settings = run.settings
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it logs every precision
    fabric = Fabric(
        accelerator=settings.accelerator,
        devices=settings.devices,
        strategy=_several(run.module) if settings.devices > 1 else "auto",
        precision="bf16-mixed" if settings.precision == "bf16" else "32-true",
    )
    with tempfile.TemporaryDirectory() if settings.devices > 1 else nullcontext("") as home:
        # The run goes in with the function: Fabric looks into arguments, and refuses frozen ones.
        found: Any = fabric.launch(partial(_work, run=run, home=Path(home)))
        if isinstance(found, ManyhandsError):
            raise found
        result: TrainingResult = _read_result(Path(home)) if settings.devices > 1 else found
    set_memory_format(run.module, torch.contiguous_format)
    run.module.load_state_dict(result.weights)
    if settings.compile:  # a copy is not compiled: predictions have batches of any size
        run.module.network = copy.deepcopy(run.module.network)
    return result


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


def _work(fabric: "Fabric", run: TrainingRun, home: Path) -> TrainingResult | Exception | None:
    """The result, or the error to raise; the first of several processes leaves it in a folder."""
    several = run.settings.devices > 1
    if several:  # the module that was sent lies in memory that all processes share
        run = replace(run, module=copy.deepcopy(run.module))
    cuda = [fabric.device] if fabric.device.type == "cuda" else []
    n_items = round(run.settings.batch_size * run.inputs.tokens_per_item)
    threads = torch_threads(run.module.network, run.inputs.shape, n_items, run.settings)
    same = deterministic(fabric.device)
    try:
        with own_random_numbers(devices=cuda), torch.enable_grad(), threads, same:
            result = _Worker(fabric, run).run_epochs()
            if not several:
                return result
            if fabric.is_global_zero:
                _write_result(result, home)
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
    """One process's part of a run."""

    def __init__(self, fabric: "Fabric", run: TrainingRun) -> None:
        self.fabric, self.run, self.settings = fabric, run, run.settings
        self.module = run.module.to(fabric.device)
        if fabric.device.type == "cuda" and self.settings.devices == 1:
            set_memory_format(self.module, torch.channels_last)
        made = make_optimisers(self.module, self.settings)
        if not made:
            raise DataError("the network has no parameters to train")
        if self.settings.compile:
            self.module.network.compile()
        self.wrapped: Any = self.module
        self.optimisers: list[Any] = made
        if self.settings.devices > 1 or self.settings.precision != "32":
            # One device in full precision does not need the wrappers, which slow a small step.
            self.wrapped, *self.optimisers = fabric.setup(self.module, *made)
        self.step = Stepper(self.module, self.optimisers, self.settings)
        decay = self.settings.ema_decay
        self.average = WeightAverage(self.module, decay) if decay > 0 else None
        self.crowd = CrowdData(run.inputs, run.annotations, fabric.device)
        self.validation = (
            None if run.validation is None else CrowdData(run.inputs, run.validation, fabric.device)
        )
        self.augment = augmented(self.settings.augment, run.inputs.shape)
        self.place = Checkpoint(run.folder, run.fingerprint) if run.folder else None
        self.state = TrainingState()
        self.last = run.stop_after or self.settings.epochs

    def run_epochs(self) -> TrainingResult:
        """All epochs, from the start or from a checkpoint; the result."""
        first = self.fabric.is_global_zero
        with ExitStack() as stack:
            if self.run.folder is not None and first:
                stack.enter_context(locked_folder(make_folder(self.run.folder)))
            if self.run.resume and self.place is not None and self.place.exists():
                self.state = self.place.restore(self.module, self.optimisers, self.average)
            shown = [stack.enter_context(closing(each)) for each in self._reports()]
            while not self.state.finished:
                began = time.perf_counter()
                entry = self._epoch(self.state.epoch)
                with self._averaged():
                    self._evaluate(entry, began)
                for report in shown:
                    report.add(entry)
                if self.place is not None and first:
                    self.place.save(self.state, self.module, self.optimisers, self.average)
        with self._averaged():
            if self.state.best is not None:
                self.module.load_state_dict(self.state.best)
            self.module.profile_annotators(self.crowd)
            epoch = self.state.best_epoch or self.state.epoch
            return TrainingResult(_copied(self.module), epoch, self.state.history)

    def _averaged(self) -> AbstractContextManager[None]:
        """The module with the moving average of its weights, if there is one."""
        return nullcontext() if self.average is None else self.average.applied()

    def _reports(self) -> list[EpochLog | EpochBar]:
        """What tells of every epoch; of several processes only the first does."""
        reports: list[EpochLog | EpochBar] = []
        if self.run.folder is not None and self.fabric.is_global_zero:
            reports.append(EpochLog(self.run.folder, self.state.history))
        if self.run.progress and self.fabric.is_global_zero:
            reports.append(EpochBar(self.last))
        return reports

    def _epoch(self, epoch: int) -> dict[str, Any]:
        """One pass over the labelled items; its entry of the history."""
        settings, rank, n_ranks = self.settings, self.fabric.global_rank, self.fabric.world_size
        set_rates(self.optimisers, settings, epoch)
        rises = epoch < settings.learning_rate_warm_up
        torch.manual_seed(seed_for(settings.seed, f"epoch {epoch} of process {rank}"))
        drawn = generator(settings.seed, f"order of epoch {epoch}")
        order = self.crowd.shuffled(drawn, settings.batch_size)
        n_parts = settings.accumulate
        size = settings.batch_size * n_parts  # items of a step
        n_batches = self.crowd.n_batches(order, size, n_ranks * n_parts) if rises else 0
        warm_up_epoch = epoch < settings.warm_up
        if not warm_up_epoch:
            self.module.on_epoch_start(self.crowd, epoch - settings.warm_up)
        total, n_steps = torch.zeros((), device=self.fabric.device), 0
        self.wrapped.train()
        # A batch is shared between processes, and the share of a process between its parts.
        steps = zip(*(
            self.crowd.batches(order, size, rank=rank * n_parts + part, n_ranks=n_ranks * n_parts)
            for part in range(n_parts)
        ), strict=True)  # fmt: skip
        for batches in steps:
            if self.augment is not None:  # a noise model sees the image as the annotators saw it
                for batch in batches:
                    batch.inputs = self.augment(batch.inputs)

            def backward(batches: Any = batches) -> Tensor:
                losses = [self._backward(each, warm_up_epoch) for each in batches]
                return losses[0] if n_parts == 1 else torch.stack(losses).mean()

            n_steps += 1
            if rises:
                set_rates(self.optimisers, settings, epoch, n_steps / n_batches)
            total += self.step(backward)
            if self.average is not None:
                self.average.update()
        loss: Any = self.fabric.all_reduce(total / max(n_steps, 1), reduce_op="mean")
        return {"epoch": epoch + 1, "loss": float(loss), "warm_up_epoch": warm_up_epoch}

    def _backward(self, batch: Any, warm_up_epoch: bool) -> Tensor:
        """Add the gradient of a batch to those of the step; return its loss."""
        loss: Tensor = self.wrapped(batch, warm_up_epoch)
        n_parts = self.settings.accumulate
        self.fabric.backward(loss if n_parts == 1 else loss / n_parts)
        return loss.detach()

    def _evaluate(self, entry: dict[str, Any], began: float) -> None:
        """Validate the module after an epoch, and add the epoch to the state."""
        if self.validation is not None:
            # One process decides: batch statistics may differ between processes.
            scores = self.module.validation_scores(self.validation, self.settings.monitor)
            entry |= self.fabric.broadcast(scores)
        entry["seconds"] = time.perf_counter() - began
        if self.run.callback is not None:
            entry |= checked_metrics(self.run.callback(self.module), entry)
        self._record(entry)

    def _record(self, entry: dict[str, Any]) -> None:
        """Add an epoch to the state: whether it is the best, and whether it was the last."""
        if not math.isfinite(entry["loss"] + entry.get(VALIDATION, 0.0)):
            raise SettingError(
                f"the loss is not finite after epoch {entry['epoch']}; "
                "lower learning_rate, set max_grad_norm, or scale the features"
            )
        state, settings = self.state, self.settings
        state.epoch += 1
        state.history.append(entry)
        if self.validation is not None:
            state.best_epoch = best_epoch(state.history, settings.monitor)
            if state.best_epoch == state.epoch:
                state.best = _copied(self.module)
        waited = state.epoch - (state.best_epoch or state.epoch)
        stop = settings.patience is not None and waited >= settings.patience
        state.finished = stop or state.epoch >= self.last


def checked_metrics(found: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, float]:
    """What a callback returned, as finite numbers under names that the history does not have."""
    numbers = {}
    for name, value in found.items():
        require(name not in entry, "callback", "without names the history has already", name)
        finite = isinstance(value, Real) and math.isfinite(value)
        require(finite, "callback", "a function that returns finite numbers by name", {name: value})
        numbers[name] = float(value)
    return numbers


def _copied(module: CrowdModule) -> dict[str, Tensor]:
    plain = torch.contiguous_format
    held = {name: each.detach().cpu() for name, each in module.state_dict().items()}
    return {name: each.clone(memory_format=plain) for name, each in held.items()}


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
