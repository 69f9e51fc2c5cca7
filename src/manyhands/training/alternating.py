"""Methods that alternate: beliefs about the items before an epoch, the network in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import ConfusionSteps, DawidSkene, aggregate
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.noise import NoiseModel, SpeeLFC
from manyhands.training.crowd import Crowd
from manyhands.training.learner import LOOK, Learner
from manyhands.training.methods import About, Method, Problem
from manyhands.training.settings import TrainingSettings


class EMLearner(Learner):
    """A network trained on what it and the labels believe together.

    Before an epoch the E-step makes the targets and the M-step the confusions; the epoch is the
    network's part of the M-step. With `every` > 1 targets stay for as many epochs.
    """

    def __init__(
        self,
        network: nn.Module,
        noise: NoiseModel,
        targets: Tensor,
        steps: ConfusionSteps,
        *,
        every: int = 1,
    ) -> None:
        super().__init__(network, noise, targets, on_targets=True)
        # Between two E-steps a checkpoint must hold them.
        self.register_buffer("targets", targets, persistent=True)
        self.steps, self.every = steps, every

    def begin_epoch(self, crowd: Crowd, number: int) -> None:
        """See `Learner.begin_epoch`."""
        if number % self.every == 0:
            confusion_akl = self.noise.confusion().double().cpu().numpy()
            posterior_ik = self.steps.posterior(log_classes(self.network, crowd), confusion_akl)
            self.noise.start_from(self.steps.confusions(posterior_ik))
            self.targets[crowd.labelled] = torch.from_numpy(posterior_ik).to(self.targets)


@torch.no_grad()
def log_classes(network: nn.Module, crowd: Crowd) -> Floats:
    """Log f_k(x_i) of every labelled item, (i, k)."""
    network.eval()
    parts = [
        network(batch.inputs).double().log_softmax(dim=-1).cpu().numpy()
        for batch in crowd.batches(crowd.labelled, LOOK)
    ]
    return np.concatenate(parts)


@dataclass(frozen=True)
class EM(Method):
    """EM with a network: what it and the labels believe of an item is what it learns next.

    `confusions` holds the priors of the confusions; `every` is how many epochs an M-step has.
    """

    confusions: DawidSkene = field(default_factory=DawidSkene)
    every: int = 1
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        require(self.every >= 1, "every", ">= 1", self.every)

    def learner(self, network: nn.Module, problem: Problem, settings: TrainingSettings) -> Learner:
        """See `Method.learner`."""
        ann = problem.annotations
        labelled = ann[np.flatnonzero(ann.labels_per_item > 0)]  # others would teach the start
        steps = ConfusionSteps(labelled, self.confusions)
        portrait = SpeeLFC(ann.n_annotators, ann.n_classes).start_from(steps.first)
        shares_ik = aggregate(ann, "majority").probabilities
        assert shares_ik is not None, "labels are classes here"
        targets = torch.from_numpy(np.ascontiguousarray(shares_ik)).float()
        return EMLearner(network, portrait, targets, steps, every=self.every)
