"""The one epoch loop."""

import copy
import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, ManyhandsError, SettingError
from manyhands.core.seeds import generator, seed_for
from manyhands.core.settings import require
from manyhands.engine.batches import CrowdData
from manyhands.engine.checkpoint import Checkpoint, TrainingState
from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.deterministic import deterministic
from manyhands.engine.inputs import Inputs
from manyhands.engine.log import EpochLog
from manyhands.engine.optimisers import Stepper, make_optimisers, set_rates
from manyhands.engine.progress import EpochBar
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.tensors import unshared
from manyhands.engine.threads import fitting_threads
from manyhands.engine.validation import VALIDATION, best_epoch, epoch_scores

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy

_ADDED_SPARSE = (nn.Embedding, nn.EmbeddingBag)  # whose sparse gradients torch adds up


@dataclass(frozen=True)
class TrainingRun:
    """A learner, its data, and how to train it.

    `held` are labels kept aside, which say how long to train: nothing else may have seen them.
    `stop_after` ends training early, with the rates of a whole one. `watch` looks at the learner
    after every epoch; what it gives stands in the history.
    With a `folder`, checkpoints and the log go there; `identity` tells one run from another.
    """

    module: CrowdModule
    inputs: Inputs
    annotations: Annotations
    settings: TrainingSettings
    held: Annotations | None = None
    stop_after: int | None = None
    folder: Path | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)
    resume: bool = False
    progress: bool = True
    callback: Callable[[CrowdModule], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        require(
            self.callback is None or self.settings.devices == 1,
            "devices",
            "1 for watch to see the model",
            self.settings.devices,
        )


@dataclass(frozen=True)
class TrainingResult:
    """The weights that were kept, the epoch they are of, and what happened on the way.

    Judged by ranks the epoch may be one whose weights are gone; a refit makes them anew.
    """

    weights: dict[str, Tensor]
    epoch: int
    history: list[dict[str, Any]]
    search: list[dict[str, Any]] = field(default_factory=list)


def train(job: TrainingRun) -> TrainingResult:
    """Train as the job says, in this process or in several; the learner ends with the outcome."""
    from lightning_fabric import Fabric  # takes seconds, and predictions need none of it

    settings = job.settings
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it tells of every precision
    fabric = Fabric(
        accelerator=settings.accelerator,
        devices=settings.devices,
        strategy=_several(job.module) if settings.devices > 1 else "auto",
        precision="bf16-mixed" if settings.precision == "bf16" else "32-true",
    )
    # The job goes in with the function: Fabric looks into arguments, and refuses frozen ones.
    found: Any = fabric.launch(partial(_work, job=job))
    if isinstance(found, ManyhandsError):
        raise found
    weights, epoch, history = found
    if settings.devices > 1:
        weights = safetensors.torch.load(weights)
    outcome = TrainingResult(weights, epoch, history)
    job.module.load_state_dict(outcome.weights)
    return outcome


def _several(module: CrowdModule) -> "DDPStrategy":
    """One process per device. Buffers are not sent around: those of large crowds are large."""
    from lightning_fabric.strategies.ddp import DDPStrategy

    for each in module.modules():
        lost = getattr(each, "sparse", False) is True and not isinstance(each, _ADDED_SPARSE)
        require(not lost, "sparse", "False with several devices", True)
    newer = "forward_sync_buffers" in signature(DistributedDataParallel).parameters
    quiet: dict[str, Any] = {"forward_sync_buffers" if newer else "broadcast_buffers": False}
    # The noise model rests while the network warms up: its parameters are unused then.
    return DDPStrategy(start_method="spawn", find_unused_parameters=True, **quiet)


def _work(fabric: "Fabric", job: TrainingRun) -> Any:
    """The parts of the outcome in a form that crosses processes, or the error to be read."""
    several = job.settings.devices > 1
    if several:  # what was sent lies in memory that all processes share
        job = replace(job, module=copy.deepcopy(job.module))
    cuda = [fabric.device] if fabric.device.type == "cuda" else []
    at_once = round(job.settings.batch_size * job.inputs.words_per_item)
    threads = fitting_threads(job.module.network, job.inputs.shape, at_once, job.settings)
    same = deterministic(fabric.device)
    try:
        with torch.random.fork_rng(devices=cuda), torch.enable_grad(), threads, same:
            weights, epoch, history = _Run(fabric, job).whole()
            return safetensors.torch.save(unshared(weights)) if several else weights, epoch, history
    except ManyhandsError as error:
        return error


class _Run:
    """One process's part of a job."""

    def __init__(self, fabric: "Fabric", job: TrainingRun) -> None:
        self.fabric, self.job, self.settings = fabric, job, job.settings
        self.module = job.module.to(fabric.device)
        made = make_optimisers(self.module, self.settings)
        if not made:
            raise DataError("the network has no parameters to train")
        _add_own_parts(made[0], self.module, self.settings)
        self.wrapped: Any = self.module
        self.optimisers: list[Any] = made
        if self.settings.devices > 1 or self.settings.precision != "32":
            # One device in full precision has no use for the wrappers, which a small step feels.
            self.wrapped, *self.optimisers = fabric.setup(self.module, *made)
        self.step = Stepper(self.module, self.optimisers, self.settings)
        self.crowd = CrowdData(job.inputs, job.annotations, fabric.device)
        self.held = None if job.held is None else CrowdData(job.inputs, job.held, fabric.device)
        self.place = Checkpoint(job.folder, job.identity) if job.folder else None
        self.state = TrainingState()
        self.last = job.stop_after or self.settings.epochs

    def whole(self) -> tuple[dict[str, Tensor], int, list[dict[str, Any]]]:
        """All epochs, from the start or from a checkpoint; the parts of the outcome."""
        if self.job.resume and self.place is not None and self.place.exists():
            self.state = self.place.restore(self.module, self.optimisers)
        first = self.fabric.is_global_zero
        with (
            closing(EpochLog(self.job.folder if first else None, self.state.history)) as log,
            closing(EpochBar(self.last, self.job.progress and first)) as bar,
        ):
            while not self.state.finished:
                entry = self._epoch(self.state.epoch)
                if self.job.callback is not None:
                    entry |= checked_metrics(self.job.callback(self.module), entry)
                self._settle(entry)
                log.write(entry)
                if self.place is not None and first:
                    self.place.save(self.state, self.module, self.optimisers)
                bar.show(entry)
        if self.state.best is not None:
            self.module.load_state_dict(self.state.best)
        self.module.profile_annotators(self.crowd)
        epoch = self.state.best_epoch or self.state.epoch
        return _copied(self.module), epoch, self.state.history

    def _epoch(self, epoch: int) -> dict[str, Any]:
        """One pass over the labelled items; what the log says of it."""
        settings, rank, n_ranks = self.settings, self.fabric.global_rank, self.fabric.world_size
        began = time.perf_counter()
        set_rates(self.optimisers, settings, epoch)
        torch.manual_seed(seed_for(settings.seed, f"epoch {epoch} of process {rank}"))
        drawn = generator(settings.seed, f"order of epoch {epoch}")
        order = self.crowd.shuffled(drawn, settings.batch_size)
        warming_up = epoch < settings.warm_up
        if not warming_up:
            self.module.begin_epoch(self.crowd, epoch - settings.warm_up)
        total, n_steps = torch.zeros((), device=self.fabric.device), 0
        self.wrapped.train()
        for batch in self.crowd.batches(order, settings.batch_size, rank=rank, n_ranks=n_ranks):

            def backward(batch: Any = batch) -> Tensor:
                loss: Tensor = self.wrapped(batch, warming_up)
                self.fabric.backward(loss)
                return loss.detach()

            total += self.step(backward)
            n_steps += 1
        loss: Any = self.fabric.all_reduce(total / max(n_steps, 1), reduce_op="mean")
        entry = {"epoch": epoch + 1, "loss": float(loss), "warming_up": warming_up}
        if self.held is not None:
            # One process decides: batch statistics may differ between them by their share.
            entry |= self.fabric.broadcast(epoch_scores(self.module, self.held, settings.monitor))
        return entry | {"seconds": time.perf_counter() - began}

    def _settle(self, entry: dict[str, Any]) -> None:
        """Take note of an epoch: whether it is the best, and whether it was the last."""
        if not math.isfinite(entry["loss"] + entry.get(VALIDATION, 0.0)):
            raise SettingError(
                f"the loss is not finite after epoch {entry['epoch']}; "
                "lower learning_rate, clip gradients, or scale the features"
            )
        state, settings = self.state, self.settings
        state.epoch += 1
        state.history.append(entry)
        if self.held is not None:
            state.best_epoch = best_epoch(state.history, settings.monitor)
            if state.best_epoch == state.epoch:
                state.best = _copied(self.module)
        waited = state.epoch - (state.best_epoch or state.epoch)
        tired = settings.patience is not None and waited >= settings.patience
        state.finished = tired or state.epoch >= self.last


def _add_own_parts(
    optimiser: torch.optim.Optimizer, module: CrowdModule, settings: TrainingSettings
) -> None:
    """What a learner has beyond network and noise model learns as the network does."""
    held = [*module.network.parameters(), *module.noise.parameters()]
    known = {id(each) for each in held}
    own = [each for each in module.parameters() if id(each) not in known]
    if own:
        rate = settings.learning_rate
        group = {"params": own, "lr": rate, "start": rate, "weight_decay": settings.weight_decay}
        optimiser.add_param_group(group)


def checked_metrics(found: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, float]:
    """Numbers by name, as a history can keep them; a name that it uses already is refused."""
    numbers = {}
    for name, value in found.items():
        require(name not in entry, "callback", "without names the history has already", name)
        finite = isinstance(value, Real) and math.isfinite(value)
        require(finite, "callback", "a function that gives finite numbers by name", {name: value})
        numbers[name] = float(value)
    return numbers


def _copied(module: CrowdModule) -> dict[str, Tensor]:
    return {name: each.detach().cpu().clone() for name, each in module.state_dict().items()}
