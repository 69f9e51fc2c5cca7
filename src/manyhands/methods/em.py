"""Methods that alternate: beliefs about the items before an epoch, the network in it."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import CommonNoise, DawidSkene
from manyhands.aggregation.common_noise_steps import (
    AnnotationShareSteps,
    AnnotatorShareSteps,
    Sources,
)
from manyhands.aggregation.dawid_skene import ConfusionSteps
from manyhands.core.arrays import Floats
from manyhands.core.settings import require, require_choice
from manyhands.engine.batches import CrowdData, finite_outputs
from manyhands.engine.chains import Chains, label_evidence
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import network_outputs
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.end_to_end import SEARCH
from manyhands.methods.network_method import NetworkMethod
from manyhands.methods.presets import P4
from manyhands.networks.calling import call_network
from manyhands.networks.tag_transitions import transitions_of
from manyhands.noise import NoiseModel, SpeeLFC

SHARES = ("annotation", "annotator")
STARTS = ("e-step", "majority")
ShareSteps = AnnotationShareSteps | AnnotatorShareSteps


class AlternatingModule(ClassificationModule):
    """A network trained on what it and the labels believe together.

    Before an epoch the E-step makes the targets and the M-step the annotators; the epoch is the
    network's part of the M-step. With `every` > 1 targets stay for as many epochs. If it is to
    `start` from the majority, the network first learns the label distributions, and the first
    E-step follows.
    """

    def __init__(
        self,
        network: nn.Module,
        problem: Problem,
        steps: Any,
        first_akl: Floats,
        every: int,
        start: str = "e-step",
    ) -> None:
        ann, targets = problem.annotations, problem.task.targets(problem.annotations)
        noise = SpeeLFC(ann.n_annotators, ann.n_classes).init_from_confusions(first_akl)
        super().__init__(network, noise, targets, on_targets=True)
        # Between two E-steps a checkpoint must hold them.
        self.register_buffer("targets", targets, persistent=True)
        self.steps, self.every, self.start = steps, every, start

    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """See `CrowdModule.on_epoch_start`."""
        self.objective = None
        waits = number == 0 and self.start == "majority"
        if number % self.every == 0 and not waits:
            posterior_ik = self._step(self._log_classes(crowd))
            self.targets[crowd.labelled] = torch.from_numpy(posterior_ik).to(self.targets)

    def _log_classes(self, crowd: CrowdData) -> Floats:
        """Log f_k(x_i) of every labelled item, (i, k).

        With transitions between tags it is log p(tag | x, labels of the other tokens) under the
        annotators as they are: f times what the token's own labels say is its posterior then.
        """
        if transitions_of(self.network) is None:
            return log_classes(self.network, crowd)
        return log_context(self.network, self.noise, crowd)

    @abstractmethod
    def _step(self, log_class_ik: Floats) -> Floats:
        """Make the annotators better; the posterior of the labelled items under those before."""


class EMModule(AlternatingModule):
    """Everybody has a confusion, which the noise model holds."""

    steps: ConfusionSteps

    def _step(self, log_class_ik: Floats) -> Floats:
        posterior_ik, self.objective = self.steps.e_step(log_class_ik, self._confusions())
        self.noise.init_from_confusions(self.steps.confusions(posterior_ik))
        return posterior_ik

    def training_objective(self, crowd: CrowdData) -> float:
        """See `CrowdModule.training_objective`: that of `ConfusionSteps.e_step`."""
        return self.steps.e_step(self._log_classes(crowd), self._confusions())[1]

    def _confusions(self) -> Floats:
        return np.asarray(self.noise.confusion().cpu().double().numpy())


class CommonNoiseModule(AlternatingModule):
    """Labels come from a shared confusion or from own ones; the noise model is the mixture."""

    steps: ShareSteps
    common: Tensor
    own: Tensor
    share: Tensor

    def __init__(self, network: nn.Module, problem: Problem, steps: ShareSteps, every: int) -> None:
        super().__init__(network, problem, steps, steps.profile(steps.first), every)
        for name, each in self._parts(steps.first).items():
            self.register_buffer(name, each, persistent=True)

    def _step(self, log_class_ik: Floats) -> Floats:
        held = (each.cpu().numpy() for each in (self.common, self.own, self.share))
        posterior_ik, better = self.steps.step(log_class_ik, Sources(*held))
        for name, each in self._parts(better).items():
            self.get_buffer(name).copy_(each)
        self.noise.init_from_confusions(self.steps.profile(better))
        return posterior_ik

    @staticmethod
    def _parts(sources: Sources) -> dict[str, Tensor]:
        common, own, share = sources.log_common_lk, sources.log_own_alk, sources.share
        parts = {"common": common, "own": own, "share": share}
        return {name: torch.from_numpy(each.copy()) for name, each in parts.items()}


def log_classes(network: nn.Module, crowd: CrowdData) -> Floats:
    """Log f_k(x_i) of every labelled item, (i, k)."""
    log_class_ik = network_outputs(network, crowd).cpu().double().log_softmax(dim=-1)
    return np.asarray(log_class_ik.numpy())


@torch.no_grad()
def log_context(network: nn.Module, noise: NoiseModel, crowd: CrowdData) -> Floats:
    """Log p(tag | x, labels of the other tokens of the sentence) of every labelled token, (i, k).

    ::

        p(tag k of token i | x, all labels) / prod_n P(y_n | k, a_n)     over the labels n of i
    """
    network.eval()
    order = crowd.inputs.by_length(crowd.labelled)
    parts = []
    for batch in crowd.evaluated(crowd.labelled[order]):
        outputs = finite_outputs(call_network(network, batch.inputs))
        evidence_bk = label_evidence(noise, batch.annotations, len(outputs)).double()
        chains = Chains.of(network, outputs, batch.places)
        assert chains is not None, "tags have transitions"
        context_bk = chains.log_marginals(evidence_bk) - evidence_bk
        parts.append(context_bk.log_softmax(dim=-1).cpu())
    back = torch.from_numpy(np.argsort(order))
    return np.asarray(torch.cat(parts)[back].double().numpy())


@dataclass(frozen=True)
class EM(NetworkMethod):
    """EM with a network: what it and the labels believe of an item is what it learns next.

    `confusions` holds the priors of the confusions; `every` is how many epochs an M-step has.
    `start="e-step"` begins with an E-step of the network as it is after the warm-up, "majority"
    with the label distributions as targets, and confusions against them.
    """

    takes_transitions = True
    confusions: DawidSkene = field(default_factory=DawidSkene)
    every: int = 1
    start: Literal["e-step", "majority"] = "e-step"

    def __post_init__(self) -> None:
        require(self.every >= 1, "every", ">= 1", self.every)
        require_choice("start", self.start, STARTS)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        steps = ConfusionSteps(problem.labelled, self.confusions)
        first_akl = steps.first
        if self.start == "majority":
            share_ik = problem.task.targets(problem.labelled).double().numpy()
            first_akl = steps.confusions(share_ik)
        return EMModule(network, problem, steps, first_akl, self.every, self.start)


@dataclass(frozen=True)
class CommonNoiseEM(NetworkMethod):
    """CoNAL by EM: a label comes from the confusion that all share, or from the annotator's own.

    With `omega="annotation"` every label has a probability of its own to come from the shared
    one, as the source has it (`AnnotationShareSteps`); with "annotator" all labels of a person
    have the same (`AnnotatorShareSteps`). `sources` holds the priors of the confusions.
    `share_pseudo_count` are labels of either kind added to a label's own, 0 in the source: then
    every omega goes to 0 or 1 in the end. `every` is how many epochs an M-step has.
    """

    takes_transitions = True
    sources: CommonNoise = field(default_factory=CommonNoise)
    omega: Literal["annotation", "annotator"] = "annotation"
    share_pseudo_count: float = 0.0
    every: int = 1

    def __post_init__(self) -> None:
        require(self.every >= 1, "every", ">= 1", self.every)
        require_choice("omega", self.omega, SHARES)
        pseudo = self.share_pseudo_count
        require(0 <= pseudo < np.inf, "share_pseudo_count", "0 or more", pseudo)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        steps = (
            AnnotatorShareSteps(problem.labelled, self.sources)
            if self.omega == "annotator"
            else AnnotationShareSteps(
                problem.labelled, self.sources, share_pseudo_count=self.share_pseudo_count
            )
        )
        return CommonNoiseModule(network, problem, steps, self.every)


_MAXIMUM_A_POSTERIORI = {
    "confusions": DawidSkene(prior="flat", prior_strength=1.0),
    "start": "majority",
}
ROWS: dict[str, Method] = {
    "em": EM(
        defaults=SEARCH,
        paper=Paper(
            preset="p0/labelme",
            model=_MAXIMUM_A_POSTERIORI,
            by_preset={name: {"restarts": 20} for name in P4},
            note="The strength of the Dirichlet priors is not stated: one pseudo-label per class.",
        ),
        about=About(
            source="Albarqouni et al. 2016 (AggNet), Rodrigues and Pereira 2018 (DL-EM)",
            equation="q_ik ~ f_k prod_n C_a[k, y_n]; C by MAP, the network on q, in turns",
            cost="a plain epoch + a pass of the network + K x K per label",
            when="a consensus and a network that help each other, step by step",
        ),
    ),
    "conal-em": CommonNoiseEM(
        defaults=SEARCH,
        paper=Paper(preset="p3/labelme"),
        about=About(
            source="Chu, Ma and Wang 2021, appendix B",
            equation="q_ik ~ f_k prod_n (omega_n G[k, y_n] + (1 - omega_n) C_a[k, y_n])",
            cost="a plain epoch + a pass of the network + K per label",
            when="as em, where annotators make the same mistakes",
        ),
    ),
}
