"""How a network is trained: every setting of the epoch loop, checked where it enters."""

from dataclasses import dataclass
from typing import Literal

import torch

from manyhands.core.settings import require, require_choice

SCHEDULES = ("constant", "cosine")
DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("32", "bf16")


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
    hold_out, patience:
        `hold_out` is the share of labels kept aside. The epoch kept is then the one under which
        these labels are most probable (no clean label is used), and training ends after
        `patience` epochs without a better one. With 0 the last epoch is kept.
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
    clip: float | None = None
    schedule: Literal["constant", "cosine"] = "constant"
    sam: float = 0.0
    hold_out: float = 0.0
    patience: int | None = None
    sparse: bool | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: int = 1
    precision: Literal["32", "bf16"] = "32"
    threads: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "devices"):
            value = getattr(self, name)
            require(isinstance(value, int) and value >= 1, name, "a whole number >= 1", value)
        _require_rates(self)
        require(
            isinstance(self.warm_up, int) and 0 <= self.warm_up <= self.epochs,
            "warm_up",
            "a whole number of epochs from 0 to epochs",
            self.warm_up,
        )
        require(self.clip is None or self.clip > 0, "clip", "None or > 0", self.clip)
        require(self.sam >= 0, "sam", ">= 0", self.sam)
        require(0 <= self.hold_out < 1, "hold_out", "in 0..1, below 1", self.hold_out)
        require(
            self.patience is None or self.patience >= 1, "patience", "None or >= 1", self.patience
        )
        require(
            self.patience is None or self.hold_out > 0,
            "hold_out",
            "above 0 for patience to have something to judge by",
            self.hold_out,
            "try hold_out=0.1",
        )
        require(self.threads is None or self.threads >= 1, "threads", "None or >= 1", self.threads)
        require_choice("schedule", self.schedule, SCHEDULES)
        require_choice("device", self.device, DEVICES)
        require_choice("precision", self.precision, PRECISIONS)

    @property
    def accelerator(self) -> str:
        """The kind of device that is really used."""
        if self.device != "auto":
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"


def _require_rates(settings: TrainingSettings) -> None:
    for name in ("learning_rate", "noise_learning_rate"):
        rate = getattr(settings, name)
        optional = rate is None and name != "learning_rate"
        require(optional or rate > 0, name, "> 0", rate)
    for name in ("weight_decay", "noise_weight_decay"):
        require(getattr(settings, name) >= 0, name, ">= 0", getattr(settings, name))
