"""Training once, or twice: first to see how long, then on all labels."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from manyhands.annotations import Annotations
from manyhands.core.seeds import seed_for
from manyhands.estimators.identity import identity_of
from manyhands.estimators.new_network import new_network
from manyhands.training import (
    Crowd,
    Inputs,
    Job,
    Method,
    NumberLearner,
    Outcome,
    Problem,
    Solved,
    Trainee,
    TrainingSettings,
    epoch_scores,
    fitting_threads,
    require_logits,
    split_items,
    split_labels,
    train,
)

SEARCH = "search"  # folder of the run that finds the epoch


class Fitting:
    """An estimator's settings, its data, and the training they ask for."""

    def __init__(
        self,
        model: Any,
        method: Method,
        inputs: Inputs,
        settings: TrainingSettings,
        resume: bool,
        watch: Callable[[Trainee], Mapping[str, Any]] | None = None,
    ) -> None:
        self.model, self.method, self.inputs = model, method, inputs
        self.settings, self.resume, self.watch = settings, resume, watch
        self._warned = False

    def run(self, problem: Problem) -> tuple[Trainee, Outcome]:
        """Train on the labels of a problem.

        With labels held out the best epoch is found without them. With `refit` as well, training
        starts anew on all labels and ends after as many epochs: no label is lost to the search.
        """
        settings = self.settings
        folder = None if self.model.checkpoint is None else Path(self.model.checkpoint)
        labels, held = self._split(problem.annotations)
        part = replace(problem, annotations=labels)
        if held is None or not settings.refit:
            learner, outcome = self._train(part, held=held, folder=folder)
            self._look_aside(learner, learner, held)
            return learner, outcome
        searcher, found = self._train(part, held=held, folder=folder and folder / SEARCH)
        learner, outcome = self._train(problem, folder=folder, stop_after=found.epoch)
        self._look_aside(learner, searcher, held)
        return learner, replace(outcome, search=found.history)

    def _look_aside(self, learner: Trainee, searcher: Trainee, held: Annotations | None) -> None:
        """Tell a learner of numbers how far off new items are, as those kept aside show it."""
        if held is None or self.settings.aside != "items":
            return
        if isinstance(learner, NumberLearner) and isinstance(searcher, NumberLearner):
            home = next(searcher.noise.parameters()).device
            error = searcher.error_on(Crowd(self.inputs, held, home))
            learner.noise.aside_variance.fill_(error)

    def _split(self, annotations: Annotations) -> tuple[Annotations, Annotations | None]:
        share, seed = self.settings.hold_out, self.settings.seed
        if self.settings.aside == "labels":
            return split_labels(annotations, share, seed)
        edges = self.inputs.ends(np.flatnonzero(annotations.labels_per_item > 0))
        return split_items(annotations, edges, share, seed)

    def _train(self, problem: Problem, **how: Any) -> tuple[Trainee, Outcome]:
        learner = self._learner(problem)
        if isinstance(self.method, Solved):
            outcome = self.method.solution(learner, self.inputs, problem, self.settings)
            if how.get("held") is not None:
                aside = Crowd(self.inputs, how["held"], torch.device("cpu"))
                outcome.history[-1] |= epoch_scores(learner, aside, self.settings.judge)
            return learner, outcome
        identity = identity_of(self.model, learner, self.inputs, problem, self.settings)
        outcome = train(
            Job(
                learner,
                self.inputs,
                problem.annotations,
                self.settings,
                identity=identity | {"epochs to train": how.get("stop_after")},
                resume=self.resume,
                progress=self.model.progress,
                watch=self.watch,
                **how,
            )
        )
        return learner, outcome

    def _learner(self, problem: Problem) -> Trainee:
        """A new learner; the same seed makes the same one."""
        inputs, settings, n_classes = self.inputs, self.settings, problem.annotations.n_classes
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(settings.seed, "start of the weights"))
            wanted = self.method.only_network or self.model.network or inputs.default_network
            n_outputs = n_classes or 1  # of numbers there is one
            network = new_network(wanted, inputs.shape, n_outputs).cpu()
            inputs.prepare(network)
            network = self.method.network(network, problem.annotations.n_annotators, n_classes)
            some = torch.arange(min(len(inputs), 8))
            rows = inputs.to(torch.device("cpu")).rows(some)
            with fitting_threads(network, inputs.shape, len(some), settings):
                require_logits(network, rows, n_outputs, len(some), warn=not self._warned)
                self._warned = True
                learner = self.method.learner(network, problem, settings)
            learner.noise.seen_logits = True  # they were just looked at, whatever the method
            return learner
