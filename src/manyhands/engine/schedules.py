"""Schedules of the learning rates: by epoch, and a warm-up by step."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from manyhands.engine.settings import TrainingSettings


def schedule_factor(settings: TrainingSettings, epoch: int) -> float:
    """The factor of the learning rates in an epoch (0, 1, 2 ...).

    >>> [schedule_factor(TrainingSettings(epochs=4, schedule="linear"), n) for n in range(4)]
    [1.0, 0.75, 0.5, 0.25]
    """
    return _FACTORS[settings.schedule](settings, epoch)


def warm_up_factor(settings: TrainingSettings, epochs_done: float) -> float:
    """The factor of the learning rates after so many epochs, with that of the step to make.

    >>> warm_up_factor(TrainingSettings(learning_rate_warm_up=0.5), 0.125)
    0.25
    """
    rise = settings.learning_rate_warm_up
    return min(epochs_done / rise, 1.0) if rise > 0 else 1.0


def set_rates(
    optimisers: Sequence[Any], settings: TrainingSettings, epoch: int, part: float = 1.0
) -> None:
    """Set the learning rate of every group for a step of this epoch (0, 1, 2 ...).

    `part` is the part of the epoch's steps that is made with this step.
    """
    factor = schedule_factor(settings, epoch) * warm_up_factor(settings, epoch + part)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = group["start"] * factor


def _cosine(settings: TrainingSettings, epoch: int) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * epoch / settings.epochs))


def _step(settings: TrainingSettings, epoch: int) -> float:
    passed = [each for each in settings.milestone_epochs(settings.epochs) if epoch >= each]
    return settings.step_factor ** len(passed)


_FACTORS: dict[str, Callable[[TrainingSettings, int], float]] = {
    "constant": lambda settings, epoch: 1.0,
    "cosine": _cosine,
    "linear": lambda settings, epoch: 1.0 - epoch / settings.epochs,
    "step": _step,
}
