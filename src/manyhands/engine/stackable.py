"""Which runs can be trained as one program, and why others cannot."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from torch import nn

from manyhands.engine.learner import TrainingRun
from manyhands.engine.optimisers import sparse_tables
from manyhands.networks.batch_norm import BatchNorm1d

# Layers of torch that work under vmap; other classes say so themselves, with `stacks = True`.
_LAYERS = {
    nn.Sequential, nn.Flatten, nn.Identity, nn.Linear, nn.Dropout, nn.BatchNorm1d, nn.LayerNorm,
    nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Softplus, nn.Sigmoid, nn.Tanh, BatchNorm1d,
}  # fmt: skip
_NEEDED: dict[str, Any] = {
    "devices": 1, "nodes": 1, "precision": "32", "accumulate": 1, "augment": None, "compile": False,
}  # fmt: skip


def why_separate(runs: Sequence[TrainingRun]) -> str | None:
    """Why these runs cannot be trained as one program; None where they can.

    The seeds may differ, and the labels, if as many items have one.
    """
    reasons = (check(runs) for check in _CHECKS)
    return next((reason for reason in reasons if reason is not None), None)


def _settings(runs: Sequence[TrainingRun]) -> str | None:
    settings = runs[0].settings
    for name, needed in _NEEDED.items():
        if getattr(settings, name) != needed:
            return f"{name} is {getattr(settings, name)!r}, and {needed!r} is needed"
    if settings.accelerator == "mps":
        return "device is 'mps', whose random numbers cannot be drawn for each seed"
    unequal = any(_without_seed(run) != _without_seed(runs[0]) for run in runs)
    return "the settings differ by more than the seed" if unequal else None


def _without_seed(run: TrainingRun) -> dict[str, Any]:
    return {name: value for name, value in asdict(run.settings).items() if name != "seed"}


def _side_effects(runs: Sequence[TrainingRun]) -> str | None:
    if any(run.folder is not None for run in runs):
        return "a checkpoint is that of one run"
    called = any(run.callback is not None for run in runs)
    return "a callback sees the model of one run" if called else None


def _inputs(runs: Sequence[TrainingRun]) -> str | None:
    inputs = runs[0].inputs
    if not _stacks(inputs):
        return "the features are no matrix of numbers in memory"
    other = any(run.inputs is not inputs for run in runs)
    return "the features are not the same" if other else None


def _module(runs: Sequence[TrainingRun]) -> str | None:
    module = runs[0].module
    if not _stacks(module):
        return f"{type(module).__name__} does more in an epoch than to minimise a loss of batches"
    if not _stacks(module.noise):
        return f"the annotator model {type(module.noise).__name__} is not made for it"
    if any(type(each) is nn.Dropout for each in module.noise.modules()):
        return "the annotator model has dropout, whose masks are those of one run"
    if sparse_tables(module):
        return "the gradients of annotators are sparse"
    return _network(module.network)


def _network(network: nn.Module) -> str | None:
    for layer in network.modules():
        known = type(layer) in _LAYERS and getattr(layer, "momentum", 0.0) is not None
        if not known and not _stacks(layer):
            return f"the network has a {type(layer).__name__}, which is not made for it"
    n_named = len(list(network.named_parameters(remove_duplicate=False)))
    shares = n_named != len(list(network.parameters()))
    return "layers of the network share weights" if shares else None


def _sizes(runs: Sequence[TrainingRun]) -> str | None:
    unequal = any(_sizes_of(run) != _sizes_of(runs[0]) for run in runs)
    return "the numbers of labelled items, annotators or classes differ" if unequal else None


def _sizes_of(run: TrainingRun) -> Any:
    n_labelled = int((run.annotations.labels_per_item > 0).sum())
    shapes = [(name, each.shape) for name, each in run.module.state_dict().items()]
    crowd = run.annotations.n_annotators, run.annotations.n_classes
    return n_labelled, crowd, run.validation is None, repr(run.module.network), shapes


def _stacks(thing: object) -> bool:
    """Whether a class says of itself that it can be stacked; its subclasses may differ."""
    return vars(type(thing)).get("stacks", False) is True


_CHECKS: tuple[Callable[[Sequence[TrainingRun]], str | None], ...] = (
    _settings,
    _side_effects,
    _inputs,
    _module,
    _sizes,
)
