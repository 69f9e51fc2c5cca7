"""Two-stage methods: aggregate the labels, then train a network on the consensus."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from manyhands.aggregation import AGGREGATORS, Aggregator, DawidSkene, fit_guarded
from manyhands.core.errors import DataError
from manyhands.engine.classification import known_truth
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.end_to_end import NO_WARM_UP, SMOOTHED
from manyhands.methods.network_method import NetworkMethod

_TASKS = {"numbers": ("regression",), "multilabel": ("multilabel",)}  # of aggregators by kind


@dataclass(frozen=True)
class TwoStage(NetworkMethod):
    """Aggregate first, then train the network on the consensus.

    `aggregator` is any of `AGGREGATORS`, by name or with its own settings. With `hard` the network
    learns the most probable class, or all classes that tie in equal shares; otherwise it learns the
    whole posterior. The profiles of annotators are their confusions against the consensus. With an
    aggregator of numbers the network learns the consensus by squared error. A consensus that
    collapsed is replaced (`fit_guarded`) if it is `guarded`.
    """

    takes_item_weights = takes_label_smoothing = True
    takes_transitions = True
    aggregator: str | Aggregator[Any]
    hard: bool = False
    guarded: bool = True

    @property
    def tasks(self) -> tuple[str, ...]:
        """See `Method.tasks`."""
        return _TASKS.get(self._model.kind, ("classification", "tagging"))

    @property
    def _model(self) -> Aggregator[Any]:
        made = self.aggregator
        return AGGREGATORS[made]() if isinstance(made, str) else made

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        model = self._model
        fit = partial(fit_guarded, model) if self.guarded else model.fit
        consensus = problem.once("consensus", fit)
        return problem.task.module_on_consensus(network, consensus, hard=self.hard)


@dataclass(frozen=True)
class TrainOnTruth(NetworkMethod):
    """Train the network on the truth: an upper bound for methods that learn from labels."""

    tasks = ("classification", "regression", "tagging", "multilabel")
    needs_truth = True
    takes_item_weights = takes_label_smoothing = True
    takes_transitions = True

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        truth, ann = problem.truth, problem.annotations
        if truth is None or not known_truth(truth)[ann.labels_per_item > 0].all():
            raise DataError(
                "the method 'truth' trains on the truth of every labelled item: give all of it"
            )
        return problem.task.module_on_truth(network, ann, truth)


_MODEL = {"guarded": False, "refit_intercept": False}
# Maximum likelihood, as in the source: no pseudo-labels.
_DAWID_SKENE = DawidSkene(prior_strength=0.0, class_pseudo_count=0.0)
ROWS: dict[str, Method] = {
    "two-stage-majority": TwoStage(
        "majority",
        hard=True,
        paper=Paper(preset="p0/labelme", model=_MODEL),
        about=About(
            source="DL-MV in Rodrigues and Pereira 2018",
            equation="cross-entropy of f(x) against the majority label",
            cost="one aggregation, then a plain epoch",
            when="the baseline: many labels per item and annotators of equal skill",
        ),
    ),
    "two-stage-majority-smoothed": TwoStage(
        "majority",
        hard=True,
        defaults=SMOOTHED,
        paper=Paper(preset="p0/labelme", model=_MODEL, note="In none of the papers."),
        about=About(
            source="Szegedy et al. 2016; Wei et al. 2022 on noisy labels",
            equation="cross-entropy of f(x) against (1 - s) x the majority label + s / K, s = 0.1",
            cost="one aggregation, then a plain epoch",
            when="a baseline: some majorities are wrong, and the network is not to be sure of them",
        ),
    ),
    "two-stage-soft-majority": TwoStage(
        "majority",
        paper=Paper(preset="p4/labelme", model=_MODEL),
        about=About(
            source="softMV in Mena and Nanculef (Crowd Mixture Model)",
            equation="cross-entropy of f(x) against the shares of the labels",
            cost="one aggregation, then a plain epoch",
            when="doubt in the labels is to show in the network's probabilities",
        ),
    ),
    "two-stage-dawid-skene": TwoStage(
        "dawid-skene",
        paper=Paper(preset="p0/labelme", model={**_MODEL, "aggregator": _DAWID_SKENE}),
        about=About(
            source="DL-DS in Rodrigues and Pereira 2018",
            equation="cross-entropy of f(x) against the Dawid-Skene posterior",
            cost="one aggregation, then a plain epoch",
            when="three labels per item or more, annotators of different skill",
        ),
    ),
    "two-stage-glad": TwoStage(
        "glad",
        paper=Paper(preset="p1/sentiment", model=_MODEL),
        about=About(
            source="DL-GLAD in Chu, Ma and Wang 2021; GLAD in Whitehill et al. 2009",
            equation="cross-entropy of f(x) against the GLAD posterior",
            cost="one aggregation, then a plain epoch",
            when="items differ in difficulty, annotators in skill, not in which mistakes they make",
        ),
    ),
    "two-stage-worker-clustering": TwoStage(
        "worker-clustering",
        paper=Paper(preset="p3/labelme", model=_MODEL),
        about=About(
            source="DL-WC in Chu, Ma and Wang 2021; Imamura et al. 2018",
            equation="cross-entropy of f(x) against the posterior of clustered annotators",
            cost="one aggregation, then a plain epoch",
            when="many annotators with few labels each, of a few kinds",
        ),
    ),
    "truth": TrainOnTruth(
        paper=Paper(preset="p0/labelme", model={"refit_intercept": False}),
        about=About(
            source="DL-TRUE in Rodrigues and Pereira 2018",
            equation="cross-entropy of f(x) against the truth",
            cost="a plain epoch",
            when="an upper bound for comparison: it is told the truth",
        ),
    ),
    "two-stage-mean": TwoStage(
        "mean",
        defaults=NO_WARM_UP,
        paper=Paper(preset="p0/reviews", model=_MODEL),
        about=About(
            source="DL-MEAN in Rodrigues and Pereira 2018",
            equation="squared error of f(x) against the mean label",
            cost="one aggregation, then a plain epoch",
            when="numbers; the baseline: many labels per item and annotators of equal skill",
        ),
    ),
    "two-stage-gaussian": TwoStage(
        "gaussian",
        defaults=NO_WARM_UP,
        paper=Paper(preset="p0/reviews", model=_MODEL, note="In none of the papers."),
        about=About(
            source="Raykar et al. 2010, annotators without features",
            equation="squared error of f(x) against the mean of labels less bias, by precision",
            cost="one aggregation, then a plain epoch",
            when="numbers; several labels per item, annotators who rate high or low",
        ),
    ),
}
