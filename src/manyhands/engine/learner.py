"""What the epoch loop trains: a module with its data, and the weights that are kept of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from manyhands.annotations import Annotations
from manyhands.core.settings import generator, require, seed_for
from manyhands.engine.augment import augmented
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.checkpoint import TrainingState
from manyhands.engine.inputs import Inputs
from manyhands.engine.processes import Processes
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule

Weights = dict[str, Tensor]


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
            self.callback is None or self.settings.n_processes == 1,
            "devices",
            "1 for a callback to see the model",
            self.settings.n_processes,
        )

    @property
    def n_epochs(self) -> int:
        """The number of epochs, if none is better earlier."""
        return self.stop_after or self.settings.epochs


@dataclass(frozen=True)
class TrainingResult:
    """The weights that were kept, their epoch, and the history.

    With monitor "ranks" the epoch may be one whose weights are gone; a refit trains them again.
    """

    weights: Weights
    epoch: int
    history: list[dict[str, Any]]
    search_history: list[dict[str, Any]] = field(default_factory=list)


class Learner:
    """One run as the epoch loop sees it; `StackedLearner` is several with different seeds.

    `module` has the parameters that a step changes, with an axis of runs in a stack. Losses have
    `loss_shape`: a number, or one per run.
    """

    loss_shape: tuple[int, ...] = ()
    n_stacked: int | None = None

    def __init__(
        self,
        run: TrainingRun,
        device: torch.device,
        processes: Processes = Processes(),  # noqa: B008 - it is frozen
    ) -> None:
        self.settings, self.device, self.processes = run.settings, device, processes
        self.module = run.module.to(device)
        self._crowd = CrowdData(run.inputs, run.annotations, device, processes)
        self._validation = (
            None
            if run.validation is None
            else CrowdData(run.inputs, run.validation, device, processes)
        )
        self._augment = augmented(self.settings.augment, run.inputs.shape)

    def start_epoch(self, epoch: int) -> Any:
        """Seed everything that is drawn in an epoch; the order of its items."""
        seed, rank = self.settings.seed, self.processes.rank
        torch.manual_seed(seed_for(seed, f"epoch {epoch} of process {rank}"))
        return self._crowd.shuffled(
            generator(seed, f"order of epoch {epoch}"), self.settings.batch_size
        )

    def on_epoch_start(self, number: int) -> None:
        """Called before every epoch after the warm-up; see `CrowdModule.on_epoch_start`."""
        self.module.on_epoch_start(self._crowd, number)

    def n_steps(self, order: Any) -> int:
        """How many steps an epoch in this order has."""
        n_parts = self.settings.accumulate
        size = self.settings.batch_size * n_parts
        return self._crowd.n_batches(order, size, self.processes.n * n_parts)

    def steps(self, order: Any) -> Iterator[Sequence[CrowdBatch]]:
        """The batches of every step; a noise model sees images as the annotators saw them.

        A batch is shared between processes, and the share of a process between its parts.
        """
        n_parts, rank, n_ranks = self.settings.accumulate, self.processes.rank, self.processes.n
        size = self.settings.batch_size * n_parts  # items of a step
        for batches in zip(*(
            self._crowd.batches(order, size, rank=rank * n_parts + part, n_ranks=n_ranks * n_parts)
            for part in range(n_parts)
        ), strict=True):  # fmt: skip
            if self._augment is not None:
                for batch in batches:
                    batch.inputs = self._augment(batch.inputs)
            yield batches

    def validation_scores(self) -> list[dict[str, float]] | None:
        """The scores on the validation labels of every run; None where there are none."""
        if self._validation is None:
            return None
        return [self.module.validation_scores(self._validation, self.settings.monitor)]

    def weights(self, runs: Sequence[int]) -> list[Weights]:
        """A copy of the present weights of some runs."""
        return [copied(self.module) for _ in runs]

    def results(self, states: Sequence[TrainingState]) -> list[TrainingResult]:
        """The results of all runs, after the last epoch."""
        if states[0].best is not None:
            self.module.load_state_dict(states[0].best)
        return [result_of(self.module, self._crowd, states[0])]


def result_of(module: CrowdModule, crowd: CrowdData, state: TrainingState) -> TrainingResult:
    """The result of a run whose module has the weights that were kept."""
    module.profile_annotators(crowd)
    return TrainingResult(copied(module), state.best_epoch or state.epoch, state.history)


def copied(module: CrowdModule) -> Weights:
    """A copy of the weights of a module, on the CPU."""
    plain = torch.contiguous_format
    held = {name: each.detach().cpu() for name, each in module.state_dict().items()}
    return {name: each.clone(memory_format=plain) for name, each in held.items()}
