"""The state of training after an epoch: enough to go on to the same bits."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.engine.weight_average import WeightAverage
from manyhands.io.bundle import read_bundle, under, write_bundle
from manyhands.io.headers import COUNT, FLAG, NUMBERS, OBJECT, OBJECTS, Fields, optional

NAME = "checkpoint"
FIELDS: Fields = {
    "identity": OBJECT, "epoch": COUNT, "history": OBJECTS, "best_epoch": optional(COUNT),
    "finished": FLAG, "numbers": NUMBERS,
}  # fmt: skip
_LONGEST = 80  # of a value in an error
_MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam, for every parameter
_MOMENTUM = ("momentum_buffer",)  # of SGD
_REST = 10.0  # times as long as saving took, before saving again


@dataclass
class TrainingState:
    """What an epoch leaves behind besides the weights: its number, the log, the best so far."""

    epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int | None = None
    best: dict[str, Tensor] | None = None
    finished: bool = False


class Checkpoint:
    """A place for checkpoints of one run; `identity` tells it from other runs.

    Saving takes a tenth of the time at most: after a save it waits ten times as long as that took.
    """

    def __init__(self, folder: str | Path, identity: Mapping[str, Any]) -> None:
        self.folder, self.identity = Path(folder), dict(identity)
        self._next = self._began = 0.0

    def is_due(self, state: TrainingState) -> bool:
        """Whether this state is to be saved: not if the last save is too recent."""
        self._began = time.monotonic()
        return self._began >= self._next or state.finished

    def save(
        self,
        state: TrainingState,
        module: torch.nn.Module,
        optimisers: Sequence[Any],
        average: WeightAverage | None = None,
        *,
        write: bool = True,
    ) -> None:
        """Save this state.

        Several processes call it, as each has a part of the state of an optimiser; one of them is
        to `write` it.
        """
        tensors = {f"learner.{key}": each for key, each in module.state_dict().items()}
        tensors |= {f"best.{key}": each for key, each in (state.best or {}).items()}
        numbers: dict[str, float] = {}
        if average is not None:
            tensors |= {f"average.{key}": each for key, each in average.average.items()}
            numbers["average.steps"] = average.n_steps
        for place, optimiser in enumerate(optimisers):
            for row, entries in optimiser.state_dict()["state"].items():
                for key, value in entries.items():
                    name = f"optimiser.{place}.{row}.{key}"
                    if isinstance(value, Tensor):
                        tensors[name] = value
                    elif value is not None:  # the momentum before the first step
                        numbers[name] = value
        header = {
            "identity": self.identity,
            "epoch": state.epoch,
            "history": state.history,
            "best_epoch": state.best_epoch,
            "finished": state.finished,
            "numbers": numbers,
        }
        if write:
            write_bundle(self.folder, NAME, as_arrays(tensors), header)
            self._next = time.monotonic() + _REST * (time.monotonic() - self._began)

    def restore(
        self,
        module: torch.nn.Module,
        optimisers: Sequence[Any],
        average: WeightAverage | None = None,
    ) -> TrainingState:
        """Put the saved state back into the learner, its optimisers and its average."""
        arrays, header = read_bundle(self.folder, NAME, FIELDS)
        self._require_same(header["identity"])
        try:
            return _restored(as_tensors(arrays), header, module, optimisers, average)
        except Exception as error:  # nothing in a file may be more than refused
            raise DataError(
                f"{self.folder}: the checkpoint does not fit its description; start afresh"
            ) from error

    def exists(self) -> bool:
        """Whether something was saved here."""
        return (self.folder / f"{NAME}.json").is_file()

    def _require_same(self, found: Mapping[str, Any]) -> None:
        for key, wanted in self.identity.items():
            if found.get(key) != wanted:
                raise DataError(
                    f"{self.folder}: the checkpoint was made with another {key} "
                    f"({_short(found.get(key))}, now {_short(wanted)}); use the same, or start "
                    "afresh"
                )


def _restored(
    tensors: Mapping[str, Tensor],
    header: Mapping[str, Any],
    module: torch.nn.Module,
    optimisers: Sequence[Any],
    average: WeightAverage | None,
) -> TrainingState:
    """The state of a run, after all of it was checked against what the run needs."""
    state = _checked_state(header, under("best.", tensors) or None)
    learnt = under("learner.", tensors)
    for weights in (learnt, state.best):
        require_like(weights or learnt, module.state_dict())
    entries = under("optimiser.", tensors) | under("optimiser.", header["numbers"])
    states = [_optimiser_state(under(f"{n}.", entries), one) for n, one in enumerate(optimisers)]
    if average is not None:
        average.restore(under("average.", tensors), header["numbers"]["average.steps"])
    module.load_state_dict(learnt)
    for optimiser, found in zip(optimisers, states, strict=True):
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": found, "param_groups": groups})
    return state


def require_like(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Raise a `ValueError` unless tensors have these names, shapes and types, and are finite."""
    for name in wanted.keys() ^ found.keys():
        raise ValueError(f"the tensor {name!r} is {'missing' if name in wanted else 'not known'}")
    for name, each in found.items():
        like = wanted[name]
        if each.shape != like.shape or each.dtype != like.dtype:
            raise ValueError(
                f"the tensor {name!r} has shape {list(each.shape)} and type {each.dtype}, where "
                f"{list(like.shape)} and {like.dtype} are expected"
            )
        # Minus infinity is the logarithm of a weight of 0.
        if each.is_floating_point() and (each.isnan() | each.isposinf()).any():
            raise ValueError(f"the tensor {name!r} has numbers that are not finite")


def _checked_state(header: Mapping[str, Any], best: dict[str, Tensor] | None) -> TrainingState:
    epoch, best_epoch, history = header["epoch"], header["best_epoch"], header["history"]
    if len(history) != epoch or not all(map(_is_entry, history)):
        raise ValueError("the epochs of the checkpoint do not fit each other")
    return TrainingState(epoch, history, best_epoch, best, header["finished"])


def _is_entry(entry: Any) -> bool:
    return all(isinstance(value, int | float) for value in entry.values())


def _optimiser_state(entries: Mapping[str, Any], optimiser: Any) -> dict[int, dict[str, Any]]:
    """The state of an optimiser by parameter: a number of steps, and moments like the parameter."""
    sgd = "momentum" in optimiser.param_groups[0]
    parameters = [each for group in optimiser.param_groups for each in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for name, value in entries.items():
        place, _, key = name.partition(".")
        state.setdefault(int(place), {})[key] = value
    for row, found in state.items():
        moments = {key: each for key, each in found.items() if key != "step"}
        require_like(moments, dict.fromkeys(_MOMENTUM if sgd else _MOMENTS, parameters[row]))
        if row < 0 or (not sgd and float(found["step"]) < 1):
            raise ValueError("there is no such parameter, or no step was made")
    return state


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, AnyArray]:
    """The tensors as arrays on the CPU."""
    return {key: each.detach().cpu().contiguous().numpy() for key, each in tensors.items()}


def as_tensors(arrays: Mapping[str, AnyArray]) -> dict[str, Tensor]:
    """The arrays as tensors with memory of their own."""
    return {key: torch.from_numpy(each.copy()) for key, each in arrays.items()}


def unshared(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, each with its own memory: tied weights share it, and no file can hold that."""
    seen: set[int] = set()
    separate = {}
    for key, each in tensors.items():
        shared = each.untyped_storage().data_ptr() in seen
        seen.add(each.untyped_storage().data_ptr())
        separate[key] = each.detach().clone().contiguous() if shared else each.contiguous()
    return separate
