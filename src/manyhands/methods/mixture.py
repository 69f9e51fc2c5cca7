"""The Crowd Mixture Model by EM: groups in closed form, the network on what labels mean."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import Mixture as MixtureAggregator
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.mixture_pass import LabelPatterns
from manyhands.aggregation.mixture import group_counts
from manyhands.core.arrays import Codes, Floats
from manyhands.core.settings import require, require_choice
from manyhands.engine.batches import CrowdData
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.em import log_classes
from manyhands.methods.end_to_end import SEARCH
from manyhands.methods.network_method import NetworkMethod
from manyhands.noise import Mixture

STARTS = ("mixture", "k-means")


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
        self, network: nn.Module, noise: Mixture, targets: Tensor, method: "MixtureEM"
    ) -> None:
        super().__init__(network, noise, targets, on_targets=True)
        self.noise: Mixture = noise
        self.method = method

    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.on_epoch_start`."""
        self.objective = None
        if number == 0 and self.method.start == "k-means":  # targets are the label distributions
            return
        ann = crowd.annotations
        step = mixture_step(
            np.exp(log_classes(self.network, crowd)),
            np.searchsorted(crowd.labelled, ann.item).astype(np.int32),
            ann.label,
            self.noise.log_weights().exp()[0].cpu().double().numpy(),
            self.noise.group_confusion().cpu().double().numpy(),
            self.method.pseudo_count,
        )
        self.objective = step.log_likelihood / ann.n_annotations
        set_groups(self.noise, step.share_m, step.confusion_mkl)
        if self.method.items_count_once:
            meant_ik = step.meant_ik / step.meant_ik.sum(axis=1, keepdims=True)
        else:  # an item counts by its labels, as in the likelihood; on average it counts once
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

    With `start="mixture"` groups start from the mixture without features, the best of `n_restarts`
    starts by likelihood, and an E-step of the network comes first. With `start="k-means"` they
    start from k-means over annotations, and the network first learns the label distributions; give
    `restarts` of the whole model then. With `items_count_once` the network learns the consensus of
    every item, otherwise an item counts by its labels.
    """

    n_groups: int = 3
    n_restarts: int = 20
    pseudo_count: float = 1.0
    start: Literal["mixture", "k-means"] = "mixture"
    items_count_once: bool = False

    def __post_init__(self) -> None:
        require_choice("start", self.start, STARTS)
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
        if self.start == "k-means":
            groups = self._k_means_groups(problem, settings.seed)
        else:
            model = MixtureAggregator(
                n_groups=self.n_groups, n_restarts=self.n_restarts, seed=settings.seed
            )
            found = model.fit(problem.labelled).parameters
            groups = np.exp(found.log_share_m), np.exp(found.log_confusion_mlk).transpose(0, 2, 1)
        set_groups(noise, *groups)
        return MixtureModule(network, noise, problem.task.targets(ann), self)

    def _k_means_groups(self, problem: Problem, seed: int) -> tuple[Floats, Floats]:
        """Shares and confusions of groups of annotations, against the label distributions.

        The first centres of k-means are drawn by the seed, so that restarts differ.
        """
        patterns = LabelPatterns.of(gather_evidence(problem.labelled))
        *_, counts_mlk = group_counts(patterns, self.n_groups, 2, seed)
        raised_mlk = counts_mlk + self.pseudo_count / self.n_groups
        total_mk = raised_mlk.sum(axis=1)
        confusion_mkl = (raised_mlk / total_mk[:, None, :]).transpose(0, 2, 1)
        return total_mk.sum(axis=1) / total_mk.sum(), confusion_mkl


ROWS: dict[str, Method] = {
    "mixture": MixtureEM(
        defaults=SEARCH,
        paper=Paper(
            preset="p4/labelme",
            model={"start": "k-means", "items_count_once": True, "restarts": 20},
            by_preset={"p4/cifar10": {"n_groups": 4}},
            note="Equation 6 has no pseudo-labels; one per cell is that of the public code. The "
            "number of groups in setup 2 is not stated: that of the simulated ability levels.",
        ),
        about=About(
            source="Mena and Nanculef 2019 (Crowd Mixture Model)",
            equation="q_n(m, k) ~ alpha_m beta_m[k, y_n] f_k; all in closed form but f",
            cost="a plain epoch + a pass of the network + K per label",
            when="huge crowds with a label or two each, or no names of annotators at all",
        ),
    ),
}
