"""The Crowd Mixture Model by EM: groups in closed form, the network on what labels mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import Mixture as MixtureAggregator
from manyhands.core.arrays import Codes, Floats
from manyhands.core.settings import require
from manyhands.engine.batches import CrowdData
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Problem
from manyhands.methods.em import log_classes
from manyhands.methods.end_to_end import SEARCH
from manyhands.methods.network_method import NetworkMethod
from manyhands.noise import Mixture


@dataclass(frozen=True)
class MixtureStep:
    """What one EM step makes: shares alpha (m), confusions beta (m, k, l), and the targets.

    `meant_ik` is how many labels of an item mean each class; a row sums to the item's labels.
    `log_likelihood` is of the parameters before the step.
    """

    share_m: Floats
    confusion_mkl: Floats
    meant_ik: Floats
    log_likelihood: float


def mixture_step(
    class_ik: Floats,
    row_n: Codes,
    label_n: Codes,
    share_m: Floats,
    confusion_mkl: Floats,
    pseudo_count: float,
) -> MixtureStep:
    """One EM step of the mixture under class probabilities f.

    ::

        E:  q_n(m, k) ~ alpha_m beta_m[k, y_n] f_k(x_i)
        M:  alpha_m ~ sum_nk q_n(m, k),  beta_m[k, l] ~ sum_n q_n(m, k) [y_n = l] + pseudo_count
            what the network learns: r_ik = sum_n sum_m q_n(m, k) over the labels of item i

    Only B = sum_m alpha_m beta_m is needed per label, so that its cost is K and not M x K.
    """
    joint_mkl = share_m[:, None, None] * confusion_mkl
    said_nk = class_ik[row_n] * joint_mkl.sum(axis=0).T[label_n]
    total_n1 = said_nk.sum(axis=1, keepdims=True)
    belief_nk = said_nk / total_n1
    meant_ik = np.zeros_like(class_ik)
    np.add.at(meant_ik, row_n, belief_nk)
    counts_kl = np.zeros(joint_mkl.shape[1:])
    np.add.at(counts_kl.T, label_n, belief_nk)
    counts_mkl = counts_kl * joint_mkl / joint_mkl.sum(axis=0)
    raised_mkl = counts_mkl + pseudo_count
    return MixtureStep(
        counts_mkl.sum(axis=(1, 2)) / len(label_n),
        raised_mkl / raised_mkl.sum(axis=-1, keepdims=True),
        meant_ik,
        float(np.log(total_n1).sum()),
    )


class MixtureModule(ClassificationModule):
    """A network trained on the classes that labels mean, which groups explain in turns."""

    def __init__(
        self, network: nn.Module, noise: Mixture, targets: Tensor, pseudo_count: float
    ) -> None:
        super().__init__(network, noise, targets, on_targets=True)
        self.noise: Mixture = noise
        self.pseudo_count = pseudo_count

    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.on_epoch_start`."""
        ann = crowd.annotations
        step = mixture_step(
            np.exp(log_classes(self.network, crowd)),
            np.searchsorted(crowd.labelled, ann.item).astype(np.int32),
            ann.label,
            self.noise.log_weights().exp()[0].cpu().double().numpy(),
            self.noise.group_confusion().cpu().double().numpy(),
            self.pseudo_count,
        )
        set_groups(self.noise, step.share_m, step.confusion_mkl)
        # An item counts by its labels, as in the likelihood; on average it counts once.
        meant_ik = step.meant_ik * len(crowd.labelled) / ann.n_annotations
        self.targets[crowd.labelled] = torch.from_numpy(meant_ik).to(self.targets)


@torch.no_grad()
def set_groups(noise: Mixture, share_m: Floats, confusion_mkl: Floats) -> None:
    """Shares and confusions of the groups, as parameters of the noise model."""
    tiny = float(np.finfo(np.float32).tiny)
    noise.alpha.copy_(torch.from_numpy(np.log(np.maximum(share_m, tiny))))
    noise.beta.copy_(torch.from_numpy(np.log(np.maximum(confusion_mkl, tiny))))


@dataclass(frozen=True)
class MixtureEM(NetworkMethod):
    """CMM: annotations explained by groups, in closed form, and a network, one epoch a step.

    Groups start from the mixture without features, the best of `n_restarts` starts by likelihood.
    """

    n_groups: int = 3
    n_restarts: int = 20
    pseudo_count: float = 1.0

    def __post_init__(self) -> None:
        for name in ("n_groups", "n_restarts"):
            require(getattr(self, name) >= 1, name, ">= 1", getattr(self, name))
        require(self.pseudo_count >= 0, "pseudo_count", ">= 0", self.pseudo_count)

    @property
    def noise_spec(self) -> tuple[str, dict[str, Any]]:
        """See `Method.noise_spec`."""
        return "mixture-e2e", {"n_groups": self.n_groups}

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        noise = Mixture(ann.n_annotators, ann.n_classes, n_groups=self.n_groups)
        model = MixtureAggregator(
            n_groups=self.n_groups, n_restarts=self.n_restarts, seed=settings.seed
        )
        found = model.fit(problem.labelled).parameters
        confusion_mkl = np.exp(found.log_confusion_mlk).transpose(0, 2, 1)
        set_groups(noise, np.exp(found.log_share_m), confusion_mkl)
        return MixtureModule(network, noise, problem.task.targets(ann), self.pseudo_count)


ROWS: dict[str, Method] = {
    "mixture": MixtureEM(
        defaults=SEARCH,
        about=About(
            source="Mena and Nanculef 2019 (Crowd Mixture Model)",
            equation="q_n(m, k) ~ alpha_m beta_m[k, y_n] f_k; all in closed form but f",
            cost="a plain epoch + a pass of the network + K per label",
            when="huge crowds with a label or two each, or no names of annotators at all",
        ),
    ),
}
