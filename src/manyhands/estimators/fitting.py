"""Training once, or twice: first to see how long, then on all labels."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from manyhands.annotations import Annotations
from manyhands.core.seeds import seed_for
from manyhands.engine.batches import CrowdData
from manyhands.engine.crowd_module import CrowdModule, require_logits
from manyhands.engine.inputs import Inputs
from manyhands.engine.loop import TrainingResult, TrainingRun, train
from manyhands.engine.regression_module import RegressionModule
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.splits import split_items, split_labels
from manyhands.engine.threads import fitting_threads
from manyhands.engine.validation import epoch_scores
from manyhands.estimators.fingerprint import fingerprint_of
from manyhands.estimators.new_network import new_network
from manyhands.methods import FullBatchMethod, Method, Problem

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
        callback: Callable[[CrowdModule], Mapping[str, Any]] | None = None,
    ) -> None:
        self.model, self.method, self.inputs = model, method, inputs
        self.settings, self.resume, self.callback = settings, resume, callback
        self._warned = False

    def run(self, problem: Problem) -> tuple[CrowdModule, TrainingResult]:
        """Train on the labels of a problem.

        With labels held out the best epoch is found without them. With `refit` as well, training
        starts anew on all labels and ends after as many epochs: no label is lost to the search.
        """
        settings = self.settings
        folder = None if self.model.checkpoint is None else Path(self.model.checkpoint)
        labels, held = self._split(problem.annotations)
        part = replace(problem, annotations=labels)
        if held is None or not settings.refit:
            module, outcome = self._train(part, held=held, folder=folder)
            self._look_aside(module, module, held)
            return module, outcome
        searcher, found = self._train(part, held=held, folder=folder and folder / SEARCH)
        module, outcome = self._train(problem, folder=folder, stop_after=found.epoch)
        self._look_aside(module, searcher, held)
        return module, replace(outcome, search=found.history)

    def _look_aside(
        self, module: CrowdModule, searcher: CrowdModule, held: Annotations | None
    ) -> None:
        """Tell a learner of numbers how far off new items are, as those kept aside show it."""
        if held is None or self.settings.validation_unit != "items":
            return
        if isinstance(module, RegressionModule) and isinstance(searcher, RegressionModule):
            home = next(searcher.noise.parameters()).device
            error = searcher.error_on(CrowdData(self.inputs, held, home))
            module.noise.aside_variance.fill_(error)

    def _split(self, annotations: Annotations) -> tuple[Annotations, Annotations | None]:
        share, seed = self.settings.validation_fraction, self.settings.seed
        if self.settings.validation_unit == "labels":
            return split_labels(annotations, share, seed)
        edges = self.inputs.ends(np.flatnonzero(annotations.labels_per_item > 0))
        return split_items(annotations, edges, share, seed)

    def _train(self, problem: Problem, **how: Any) -> tuple[CrowdModule, TrainingResult]:
        if isinstance(self.method, FullBatchMethod):
            module, outcome = self.method.train(self.inputs, problem, self.settings)
            module.noise.seen_logits = True
            if how.get("held") is not None:
                validation_unit = CrowdData(self.inputs, how["held"], torch.device("cpu"))
                outcome.history[-1] |= epoch_scores(module, validation_unit, self.settings.monitor)
            return module, outcome
        module = self._learner(problem)
        identity = fingerprint_of(self.model, module, self.inputs, problem, self.settings)
        outcome = train(
            TrainingRun(
                module,
                self.inputs,
                problem.annotations,
                self.settings,
                identity=identity | {"epochs to train": how.get("stop_after")},
                resume=self.resume,
                progress=self.model.progress,
                callback=self.callback,
                **how,
            )
        )
        return module, outcome

    def _learner(self, problem: Problem) -> CrowdModule:
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
                module = self.method.make_module(network, problem, settings)
            module.noise.seen_logits = True  # they were just looked at, whatever the method
            return module
