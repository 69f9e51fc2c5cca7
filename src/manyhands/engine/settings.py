"""How a network is trained: every setting of the epoch loop, checked where it enters."""

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Literal

import torch

from manyhands.core.settings import require, require_choice
from manyhands.evaluation import CRITERIA, RANKS

ASIDE = ("labels", "items")
SCHEDULES = ("constant", "cosine")
DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("32", "bf16")
_PLAIN: dict[Any, tuple[str, type, Any]] = {
    **dict.fromkeys((int, int | None), ("a whole number", Integral, int)),
    **dict.fromkeys((float, float | None), ("a number", Real, float)),
}


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of the epoch loop.

    Settings
    --------
    epochs, batch_size:
        how often every labelled item is seen, and how many items make a step.
    learning_rate, weight_decay:
        of the network (AdamW; without decay that is Adam).
    noise_learning_rate, noise_weight_decay:
        of the noise model; None is the network's rate. Decay touches the annotators of a batch only
        where gradients are sparse.
    warm_up:
        epochs on the majority labels before the noise model takes part.
    clip:
        the longest gradient allowed; None does not clip.
    schedule:
        "constant", or "cosine": the rates fall to zero along half a cosine.
    sam:
        radius of sharpness-aware minimisation, two passes per step; 0 is off.
    validation_fraction, patience:
        `validation_fraction` is the share of labels kept aside. The epoch kept is then the one under which
        these labels are most probable (no clean label is used), and training ends after
        `patience` epochs without a better one. With 0 the last epoch is kept.
    aside:
        what is kept aside: "labels", one by one, or "items", with all their labels (sentences,
        where tokens are tagged). By labels nothing of an item is lost; by items one sees what is
        learnt by heart.
    judge:
        what decides which epoch is best by the labels kept aside: "likelihood", another of
        `CRITERIA`, or "ranks", the average rank over all of them among the epochs so far. As ranks
        change with every epoch, they may go back to one whose weights are gone: they need `refit`.
    refit:
        once the best epoch is known, train anew on all labels for as many epochs.
    sparse:
        sparse gradients and a sparse Adam for annotators' parameters, so that a step costs the same
        whatever the size of the crowd. None: when the crowd is large. Its moments are those of
        the steps in which an annotator occurs, unlike Adam's.
    device, devices, precision:
        where to compute, on how many of them (one process each), and "32" or "bf16" mixed.
    threads:
        of torch on the CPU; None is one for small networks, where more only wait for each other.
    seed:
        every random choice comes from it.
    """

    epochs: int = 50
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    noise_learning_rate: float | None = None
    noise_weight_decay: float = 0.0
    warm_up: int = 0
    max_grad_norm: float | None = None
    schedule: Literal["constant", "cosine"] = "constant"
    sam_rho: float = 0.0
    validation_fraction: float = 0.0
    patience: int | None = None
    validation_unit: Literal["labels", "items"] = "labels"
    monitor: str = "likelihood"
    refit: bool = False
    sparse: bool | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: int = 1
    precision: Literal["32", "bf16"] = "32"
    threads: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _make_plain(self)
        object.__setattr__(self, "precision", str(self.precision))  # 32 means "32"
        for name in ("epochs", "batch_size", "devices", "patience", "threads"):
            value = getattr(self, name)
            require(value is None or value >= 1, name, "a whole number >= 1", value)
        for name in ("learning_rate", "noise_learning_rate", "max_grad_norm"):
            value = getattr(self, name)
            require(value is None or 0 < value < math.inf, name, "> 0", value)
        for name in ("weight_decay", "noise_weight_decay", "sam_rho"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, ">= 0", value)
        require(
            0 <= self.warm_up <= self.epochs,
            "warm_up",
            "a whole number of epochs from 0 to epochs",
            self.warm_up,
        )
        require(
            0 <= self.validation_fraction < 1,
            "validation_fraction",
            "in 0..1, below 1",
            self.validation_fraction,
        )
        require(
            self.patience is None or self.validation_fraction > 0,
            "validation_fraction",
            "above 0 for patience to have something to judge by",
            self.validation_fraction,
            "try validation_fraction=0.1",
        )
        self._require_monitor()
        require_choice("validation_unit", self.validation_unit, ASIDE)
        require_choice("schedule", self.schedule, SCHEDULES)
        require_choice("device", self.device, DEVICES)
        require_choice("precision", self.precision, PRECISIONS)

    def _require_monitor(self) -> None:
        CRITERIA[self.monitor]  # says which names it knows
        require(
            self.monitor == TrainingSettings.monitor or self.validation_fraction > 0,
            "validation_fraction",
            f"above 0 for monitor={self.monitor!r} to have something to judge by",
            self.validation_fraction,
            "try validation_fraction=0.15",
        )
        require(
            self.monitor != RANKS or self.refit,
            "refit",
            f"True with monitor={RANKS!r}, which finds an epoch but keeps no weights of it",
            self.refit,
        )

    @property
    def accelerator(self) -> str:
        """The kind of device that is really used, once it is found to be there."""
        n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
        kind = ("cuda" if n_cuda else "cpu") if self.device == "auto" else self.device
        there = {"cpu": self.devices, "cuda": n_cuda, "mps": int(torch.backends.mps.is_available())}
        require(there[kind] > 0, "device", "one that this machine has", kind, "try device='cpu'")
        require(self.devices <= there[kind], "devices", f"at most {there[kind]}", self.devices)
        return kind


def _make_plain(settings: TrainingSettings) -> None:
    """Check that numbers are numbers, and make numpy's, as a grid search gives, Python's own."""
    for each in fields(settings):
        value, plain = getattr(settings, each.name), _PLAIN.get(each.type)
        if plain is None or (value is None and each.default is None):
            continue
        rule, kind, made = plain
        require(isinstance(value, kind), each.name, rule, value)
        object.__setattr__(settings, each.name, made(value))
