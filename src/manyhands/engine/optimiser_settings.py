"""The settings of the optimiser: steps, learning rates and their schedule, and the average.

Like `manyhands.engine.settings`, which has all other settings, this module does not load torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from manyhands.core.errors import SettingName
from manyhands.core.settings import FEW, FRACTION, NOT_NEGATIVE, POSITIVE, Rule, require, setting

GROUP = "Optimiser"
_MILESTONES = Rule(
    lambda value: len(value) > 0 and all(0 < each < 1 or each % 1 == 0 < each for each in value),
    "epochs as whole numbers >= 1, or fractions of all epochs below 1",
)
_DEFAULT_MILESTONES = (0.5, 0.75)
_DEFAULT_GAMMA = 0.1
_DEFAULT_MOMENTUM = 0.9


@dataclass(kw_only=True, eq=False, repr=False)
class OptimiserOptions:
    """The settings of the optimiser; see `TrainingOptions` for None."""

    optimizer: Literal["adamw", "adam", "sgd", "radam"] = setting(
        "adamw",
        'Optimiser. "adamw" without weight decay is Adam; "sgd" needs a larger learning_rate.',
        by_method=True,
        group=GROUP,
    )
    momentum: float | None = setting(
        None, "Momentum of sgd; by default 0.9.", rule=FRACTION, by_method=True, group=GROUP
    )
    nesterov: bool = setting(
        False, "Use Nesterov's momentum with sgd.", by_method=True, group=GROUP
    )
    learning_rate: float = setting(
        1e-3, "Learning rate of the network.", rule=POSITIVE, by_method=True, group=GROUP
    )
    weight_decay: float = setting(
        0.0,
        "Weight decay of the network: decoupled from the gradient for adamw and radam, added to it "
        "for adam and sgd.",
        rule=NOT_NEGATIVE,
        by_method=True,
        group=GROUP,
    )
    noise_optimizer: Literal["adamw", "adam", "sgd", "radam"] | None = setting(
        None,
        "Optimiser of the noise model; by default that of the network. Few labels of a batch are "
        "those of one annotator, so that steps of sgd are small.",
        by_method=True,
        group=GROUP,
    )
    noise_learning_rate: float | None = setting(
        None,
        "Learning rate of the noise model, which describes how each annotator errs. If the method "
        "has none: that of the network.",
        rule=POSITIVE,
        by_method=True,
        group=GROUP,
    )
    noise_weight_decay: float = setting(
        0.0,
        "Weight decay of the noise model. With sparse gradients it is applied to the annotators of "
        "a batch only.",
        rule=NOT_NEGATIVE,
        by_method=True,
        group=GROUP,
    )
    max_grad_norm: float | None = setting(
        None, "Clip gradients to this norm.", rule=POSITIVE, by_method=True, group=GROUP
    )
    schedule: Literal["constant", "cosine", "linear", "step"] = setting(
        "constant",
        'Learning rates by epoch: "cosine" decays them to zero along half a cosine, "linear" along '
        'a line; "step" multiplies them by gamma at every milestone.',
        by_method=True,
        group=GROUP,
    )
    milestones: Sequence[float] | None = setting(
        None,
        "Epochs after which the schedule step multiplies the learning rates by gamma: whole "
        "numbers, or fractions of all epochs below 1; by default 0.5 and 0.75.",
        rule=_MILESTONES,
        by_method=True,
        group=GROUP,
    )
    gamma: float | None = setting(
        None,
        "Factor of the learning rates at a milestone of the schedule step; by default 0.1.",
        rule=POSITIVE,
        by_method=True,
        group=GROUP,
    )
    learning_rate_warm_up: float = setting(
        0.0,
        "Number of epochs, or a part of one, over which learning rates rise from zero, a little "
        "every step. The noise model is trained meanwhile, unlike in warm_up.",
        rule=NOT_NEGATIVE,
        by_method=True,
        group=GROUP,
    )
    accumulate: int = setting(
        1,
        "Number of batches whose gradients make one step, which then counts accumulate x "
        "batch_size items and needs the memory of one batch.",
        rule=FEW,
        by_method=True,
        group=GROUP,
    )
    sam_rho: float = setting(
        0.0,
        "Radius of sharpness-aware minimisation, which makes two passes per step with any "
        "optimiser. 0 turns it off.",
        rule=NOT_NEGATIVE,
        by_method=True,
        group=GROUP,
    )
    ema_decay: float = setting(
        0.0,
        "Decay of an exponential moving average of all weights, such as 0.999. The average is "
        "validated, kept and saved. 0 turns it off.",
        rule=FRACTION,
        by_method=True,
        group=GROUP,
    )

    def require_optimiser(self, epochs: int) -> None:
        """Raise a `SettingError` for settings that do not fit each other."""
        sgd = "sgd" in (self.optimizer, self.noise_optimizer)
        steps = self.schedule == "step"
        for name, used, needs in (
            ("momentum", sgd, SettingName("optimizer", "sgd")),
            ("nesterov", sgd, SettingName("optimizer", "sgd")),
            ("milestones", steps, SettingName("schedule", "step")),
            ("gamma", steps, SettingName("schedule", "step")),
        ):
            given = getattr(self, name)
            rule = f"left out without {needs.name} {needs.value}"
            require(used or given in (None, False), name, rule, given, "set ", needs)
        require(not self.nesterov or self.sgd_momentum > 0, "momentum", "> 0 with nesterov", 0.0)
        in_time = max(self.milestone_epochs(epochs)) < epochs
        rule = f"before the end of the {epochs} epochs"
        require(self.milestones is None or in_time, "milestones", rule, self.milestones)
        rise = self.learning_rate_warm_up
        rule = f"at most the number of epochs ({epochs})"
        require(rise <= epochs, "learning_rate_warm_up", rule, rise)

    @property
    def sgd_momentum(self) -> float:
        """The momentum of SGD."""
        return _DEFAULT_MOMENTUM if self.momentum is None else self.momentum

    @property
    def step_factor(self) -> float:
        """The factor of the learning rates at a milestone."""
        return _DEFAULT_GAMMA if self.gamma is None else self.gamma

    def milestone_epochs(self, epochs: int) -> list[float]:
        """The milestones as numbers of epochs, of so many in all."""
        milestones = _DEFAULT_MILESTONES if self.milestones is None else self.milestones
        return [each * epochs if each < 1 else each for each in milestones]
