"""Several seeds of one fit as one program: parameters, batches and losses have an axis of runs."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from manyhands.core.settings import generator, seed_for
from manyhands.engine.batches import EVALUATION_BATCH, CrowdBatch, CrowdData
from manyhands.engine.checkpoint import TrainingState
from manyhands.engine.learner import Learner, TrainingResult, TrainingRun, Weights, result_of
from manyhands.engine.stacked_batches import StackedCrowd
from manyhands.engine.stacked_dropout import DropoutMasks
from manyhands.engine.task import VALIDATION, CrowdModule
from manyhands.noise import AnnotationBatch


class StackedLearner(Learner):
    """Several runs with different seeds as the epoch loop sees them: one module, one loss each.

    A run draws what it draws alone: weights and targets come from its own module, orders and
    masks of dropout from generators of its own. A run that has finished goes on with the others,
    but nothing of it is looked at any more.
    """

    def __init__(self, runs: Sequence[TrainingRun], device: torch.device) -> None:
        self.runs, self.settings, self.device = runs, runs[0].settings, device
        self.loss_shape, self.n_stacked = (len(runs),), len(runs)
        self.modules = [run.module.to(device) for run in runs]
        inputs = runs[0].inputs.to(device)  # once: all runs share them
        self.masks = DropoutMasks(runs[0].module.network, inputs)
        self.module = stack_modules(self.modules)
        self.masks.replace_dropout(self.module.network)
        self._called = _Called(self.module)
        # Steps, averages and statistics change these tensors in place.
        self._tensors = dict(self._called.named_parameters()) | dict(self._called.named_buffers())
        self.crowds = [CrowdData(inputs, run.annotations, device) for run in runs]
        self.crowd = StackedCrowd(self.crowds)
        self.validation: StackedCrowd | None = None
        if runs[0].validation is not None:
            held = [run.validation for run in runs if run.validation is not None]
            self.validation = StackedCrowd([CrowdData(inputs, each, device) for each in held])
        self._kept: Weights = {}

    def train(self) -> None:
        """Let layers such as dropout do what they do in training."""
        self.module.train()

    def __call__(self, batch: CrowdBatch, warm_up_epoch: bool) -> Tensor:
        """The loss of a batch for every run, shape (r,)."""
        shape = (batch.items.shape[1],)
        return self._mapped("forward", batch, self.masks.draw(shape), warm_up_epoch)

    def start_epoch(self, epoch: int) -> Any:
        """See `Learner.start_epoch`."""
        seeds = [run.settings.seed for run in self.runs]
        self.masks.seed([seed_for(seed, f"epoch {epoch} of process 0") for seed in seeds])
        rngs = [generator(seed, f"order of epoch {epoch}") for seed in seeds]
        return self.crowd.shuffled(rngs, self.settings.batch_size)

    def on_epoch_start(self, number: int) -> None:
        """See `Learner.on_epoch_start`; modules that need it are not stacked."""

    def n_steps(self, order: Any) -> int:
        """See `Learner.n_steps`."""
        return self.crowd.n_batches(order, self.settings.batch_size)

    def steps(self, order: Any) -> Iterator[Sequence[CrowdBatch]]:
        """See `Learner.steps`."""
        return ((batch,) for batch in self.crowd.batches(order, self.settings.batch_size))

    @torch.no_grad()
    def validation_scores(self) -> list[dict[str, float]] | None:
        """See `Learner.validation_scores`; most criteria are computed for one run after another."""
        if self.validation is None:
            return None
        if self.settings.monitor != "likelihood":
            return self._separate_scores(self.validation.crowds)
        self.module.eval()
        total_r = torch.zeros(len(self.runs), dtype=torch.float64, device=self.device)
        n_r = torch.zeros_like(total_r)
        for batch in self.validation.evaluated(EVALUATION_BATCH):
            log_rn = self._mapped("label_log_prob", batch, ()).double()
            mask_rn = batch.annotations.mask
            assert mask_rn is not None, "annotations of a stack are padded"
            total_r += (log_rn * mask_rn).sum(dim=1)
            n_r += mask_rn.sum(dim=1)
        return [{VALIDATION: score} for score in (total_r / n_r).tolist()]

    def weights(self, runs: Sequence[int]) -> list[Weights]:
        """See `Learner.weights`; the copies are on the device, and a later one replaces them."""
        state = self.module.state_dict()
        if not self._kept:
            self._kept = {name: torch.empty_like(each) for name, each in state.items()}
        if runs:
            which = torch.tensor(list(runs), device=self.device)
            for name, each in self._kept.items():
                each.index_copy_(0, which, state[name].detach().index_select(0, which))
        return [{name: each[n] for name, each in self._kept.items()} for n in runs]

    def results(self, states: Sequence[TrainingState]) -> list[TrainingResult]:
        """See `Learner.results`."""
        found = []
        for module, crowd, state in zip(self.modules, self.crowds, states, strict=True):
            assert state.best is not None, "a run keeps its weights when it ends"
            module.load_state_dict(state.best)
            found.append(result_of(module, crowd, state))
        return found

    def _separate_scores(self, crowds: Sequence[CrowdData]) -> list[dict[str, float]]:
        state, monitor, scores = self.module.state_dict(), self.settings.monitor, []
        for n, (module, crowd) in enumerate(zip(self.modules, crowds, strict=True)):
            module.load_state_dict({name: each[n] for name, each in state.items()})
            scores.append(module.validation_scores(crowd, monitor))
        return scores

    def _mapped(
        self, name: str, batch: CrowdBatch, masks: Sequence[Tensor], *arguments: Any
    ) -> Tensor:
        """What a method of the module returns for every run."""
        given = batch.annotations
        one = _one_run(self._called, self.masks, name, arguments)
        annotations = given.row, given.annotator, given.label, given.features, given.mask
        found: Tensor = vmap(one)(
            self._tensors, batch.items, batch.inputs, annotations, tuple(masks)
        )
        return found


class _Called(nn.Module):
    """A module whose methods are called by name: `functional_call` calls `forward` alone."""

    def __init__(self, module: CrowdModule) -> None:
        super().__init__()
        self.module = module

    def forward(self, name: str, *arguments: Any) -> Any:
        return getattr(self.module, name)(*arguments)


def _one_run(
    called: _Called, masks: DropoutMasks, name: str, arguments: tuple[Any, ...]
) -> Callable[..., Tensor]:
    """The function of one run that vmap maps over all."""

    def one(
        tensors: dict[str, Tensor], items: Tensor, inputs: Tensor, annotations: Any, drawn: Any
    ) -> Tensor:
        row, annotator, label, features, mask = annotations
        given = AnnotationBatch(row, annotator, label, features, mask=mask)
        masks.use(drawn)
        # No layers of a stack share weights; to look for such takes time in every step.
        found: Tensor = functional_call(
            called, tensors, (name, CrowdBatch(items, inputs, given), *arguments), tie_weights=False
        )
        return found

    return one


def stack_modules(modules: Sequence[CrowdModule]) -> CrowdModule:
    """A module whose parameters and buffers are those of all modules, with a first axis of them.

    Optimisers, norms per run and moving averages are then those of any module; its `forward` works
    under `torch.func.vmap` only.
    """
    whole = copy.deepcopy(modules[0])
    for path, part in whole.named_modules():
        parts = [each.get_submodule(path) for each in modules]
        for name, own in part._parameters.items():
            if own is not None:
                all_own = torch.stack([each._parameters[name].detach() for each in parts])  # type: ignore[union-attr]
                part._parameters[name] = nn.Parameter(all_own, requires_grad=own.requires_grad)
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = torch.stack([each._buffers[name] for each in parts])  # type: ignore[misc]
    return whole
