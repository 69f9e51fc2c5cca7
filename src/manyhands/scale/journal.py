"""The state of EM runs on disk: after a kill, a fit continues with the step that it was at."""

import dataclasses
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from manyhands.aggregation.em import EMRun
from manyhands.core.arrays import AnyArray
from manyhands.io.bundle import has_bundle, read_bundle, write_bundle

S = TypeVar("S")
_NAME = "step"  # of the bundle


class Journal:
    """EM runs of one fit, in the order in which they begin; each is a bundle of arrays."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._run = folder, -1

    def continued(self, start: S) -> EMRun[S]:
        """The next run: as it was kept, or from its start."""
        self._run += 1
        if not has_bundle(self._home, _NAME):
            return EMRun(start, (), False)
        arrays, header = read_bundle(self._home, _NAME)
        objective = tuple(arrays["objective"].tolist())
        return EMRun(_unpacked(start, arrays, "state"), objective, header["converged"])

    def keep(self, run: EMRun[Any]) -> None:
        """Keep a run after a step."""
        arrays = _packed(run.state, "state")
        arrays["objective"] = np.array(run.objective, dtype=np.float64)
        write_bundle(self._home, _NAME, arrays, {"converged": bool(run.converged)})

    @property
    def _home(self) -> Path:
        return self._folder / f"run-{self._run}"


def _packed(state: Any, name: str) -> dict[str, AnyArray]:
    """The arrays of a state: of a tuple, a dataclass, an array or a number."""
    if isinstance(state, tuple):
        inner = [(str(place), each) for place, each in enumerate(state)]
    elif dataclasses.is_dataclass(state):
        inner = [(each.name, getattr(state, each.name)) for each in dataclasses.fields(state)]
    else:
        return {name: np.asarray(state)}
    found: dict[str, AnyArray] = {}
    for part, value in inner:
        found |= _packed(value, f"{name}.{part}")
    return found


def _unpacked(like: Any, arrays: dict[str, AnyArray], name: str) -> Any:
    """A state like another one, from its arrays."""
    if isinstance(like, tuple):
        return tuple(_unpacked(each, arrays, f"{name}.{k}") for k, each in enumerate(like))
    if dataclasses.is_dataclass(like) and not isinstance(like, type):
        inner = {
            each.name: _unpacked(getattr(like, each.name), arrays, f"{name}.{each.name}")
            for each in dataclasses.fields(like)
        }
        return dataclasses.replace(like, **inner)
    found = arrays[name]
    return found.copy() if isinstance(like, np.ndarray) else found.item()
