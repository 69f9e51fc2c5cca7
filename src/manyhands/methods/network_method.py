"""Methods that train a network in the epoch loop."""

import copy
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import nn

from manyhands.core.arrays import digest
from manyhands.core.errors import DataError
from manyhands.core.settings import require, seed_for
from manyhands.engine.batches import CrowdData, labels_of
from manyhands.engine.inputs import Inputs
from manyhands.engine.learner import TrainingRun
from manyhands.engine.loop import train, train_together
from manyhands.engine.new_network import check_network_output, make_network
from manyhands.engine.randomness import own_random_numbers
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.stackable import why_separate
from manyhands.engine.task import CrowdModule, torch_threads
from manyhands.methods.base import FitPlan, Method, MethodFit, Problem
from manyhands.networks.tag_transitions import add_transitions

_ANYWHERE = ("device", "devices", "nodes", "threads")  # a run may continue on another machine


@dataclass(frozen=True, kw_only=True)
class NetworkMethod(Method):
    """A method that trains a network in the epoch loop.

    The whole model is trained `restarts` times from different seeds, and the one with the best
    objective on its labels is kept (`CrowdModule.training_objective`). With `refit_intercept` a
    network of numbers ends with its best intercept.
    """

    restarts: int = 1
    refit_intercept: bool = True

    def network(self, network: nn.Module, n_annotators: int, n_classes: int) -> nn.Module:
        """The network that is trained and predicts, made of the one that was asked for.

        `n_classes` is 0 for regression.
        """
        return network

    @abstractmethod
    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """The network with its noise model and its targets."""

    def why_separate(
        self, inputs: Inputs, problems: Sequence[Problem], plans: Sequence[FitPlan]
    ) -> str | None:
        """See `Method.why_separate`; one module is made to see what it consists of."""
        if self.restarts > 1:
            return "the best of several restarts is kept"
        first = self._run(inputs, problems[0], plans[0], None, warn=False)
        others = [
            replace(first, annotations=problem.annotations, settings=plan.settings)
            for problem, plan in zip(problems[1:], plans[1:], strict=True)
        ]
        return why_separate([first, *others])

    def _train(
        self,
        inputs: Inputs,
        problems: Sequence[Problem],
        plans: Sequence[FitPlan],
        *,
        stop_after: Sequence[int] | None = None,
    ) -> list[MethodFit]:
        ends: Sequence[int | None] = stop_after or [None] * len(plans)
        require(self.restarts >= 1, "restarts", ">= 1", self.restarts)
        if self.restarts > 1:
            return [
                self._best_restart(inputs, problem, plan, end)
                for problem, plan, end in zip(problems, plans, ends, strict=True)
            ]
        runs = [
            self._run(inputs, problem, plan, end, warn=end is None)
            for problem, plan, end in zip(problems, plans, ends, strict=True)
        ]
        pairs = zip(runs, train_together(runs), strict=True)
        return [MethodFit(run.module, result) for run, result in pairs]

    def _best_restart(
        self, inputs: Inputs, problem: Problem, plan: FitPlan, stop_after: int | None
    ) -> MethodFit:
        """The restart with the best objective, the first of equals; checkpoints are kept of all."""
        best, highest = None, -math.inf
        for number in range(self.restarts):
            own = plan if number == 0 else _restart_plan(plan, number)
            run = self._run(inputs, problem, own, stop_after, warn=number == 0)
            fit = MethodFit(run.module, train(run))
            device = next(run.module.noise.parameters()).device
            crowd = CrowdData(inputs, problem.annotations, device)
            objective = run.module.training_objective(crowd)
            if best is None or objective > highest:
                best, highest = fit, objective
        assert best is not None, "there is one restart at least"
        return best

    def _run(
        self,
        inputs: Inputs,
        problem: Problem,
        plan: FitPlan,
        stop_after: int | None,
        *,
        warn: bool,
    ) -> TrainingRun:
        module = self._new_module(inputs, problem, plan, warn=warn)
        return TrainingRun(
            module,
            inputs,
            problem.annotations,
            plan.settings,
            validation=problem.validation,
            stop_after=stop_after,
            folder=plan.checkpoint,
            fingerprint=_fingerprint(module, inputs, problem, plan, stop_after),
            resume=plan.resume,
            progress=plan.progress,
            callback=plan.callback,
        )

    def _new_module(
        self, inputs: Inputs, problem: Problem, plan: FitPlan, *, warn: bool
    ) -> CrowdModule:
        """A new module; the same seed makes the same one."""
        settings, ann = plan.settings, problem.annotations
        with own_random_numbers(seed_for(settings.seed, "start of the weights")):
            n_outputs = problem.task.n_outputs(ann.n_classes)
            if plan.start is not None:
                network = copy.deepcopy(plan.start.network).cpu()
            else:
                made = make_network(plan.network, inputs.shape, n_outputs, plan.network_settings)
                network = made.cpu()
                inputs.init_embeddings(network)
                network = self.network(network, ann.n_annotators, ann.n_classes)
                tags = [str(name) for name in ann.classes] if plan.transitions != "none" else []
                add_transitions(network, tags, plan.transitions)
            some = torch.arange(min(len(inputs), 8))
            rows = inputs.to(torch.device("cpu")).rows(some)
            with torch_threads(network, inputs.shape, len(some), settings):
                check_network_output(network, rows, n_outputs, len(some), warn=warn)
                module = self.make_module(network, problem, settings)
            if (
                getattr(module.noise, "needs_features", False)
                and inputs.noise_features(rows) is None
            ):
                raise DataError(
                    "the annotator model needs features of the items that are real numbers, and "
                    "these inputs have only whole ones, which the network looks up; take a method "
                    "without features of items, such as speelfc"
                )
            module.label_smoothing = module.noise.label_smoothing = settings.label_smoothing
            module.refit_intercept = self.refit_intercept
            module.noise.outputs_checked = True  # the outputs were just checked, for any method
            if plan.start is not None:
                module.noise.continue_from(plan.start.noise, ann.labels_per_annotator)
                module.continues = True
            if problem.item_weights is not None:
                module.item_weights = torch.from_numpy(problem.item_weights).float()
            return module


def _restart_plan(plan: FitPlan, number: int) -> FitPlan:
    """The plan of a restart: another seed, and a checkpoint of its own."""
    seed = seed_for(plan.settings.seed, f"restart {number}")
    folder = plan.checkpoint and plan.checkpoint / f"restart-{number}"
    return replace(plan, settings=replace(plan.settings, seed=seed), checkpoint=folder)


def _fingerprint(
    module: CrowdModule, inputs: Inputs, problem: Problem, plan: FitPlan, stop_after: int | None
) -> dict[str, Any]:
    """Settings, network and data in a form that can be compared and written down.

    It covers every value and every name. Of a torch Dataset only the shape is known.
    """
    if plan.checkpoint is None:  # reading all the data would be in vain
        return {}
    annotations = problem.annotations
    chosen = {key: each for key, each in asdict(plan.settings).items() if key not in _ANYWHERE}
    return {
        **plan.fingerprint,
        **chosen,
        "network": repr(module.network),
        "number of items": annotations.n_items,
        "set of labels": digest(annotations.item, annotations.annotator, labels_of(annotations)),
        "list of items": digest(annotations.items),
        "list of annotators": digest(annotations.annotators),
        "list of classes": digest(annotations.classes),
        "shape of features": list(inputs.shape),
        "set of features": inputs.digest,
        "truth": "" if problem.truth is None else digest(problem.truth),
        "weights": "" if problem.item_weights is None else digest(problem.item_weights),
        "epochs to train": stop_after,
    }
