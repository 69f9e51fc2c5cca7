"""What a method is: how it learns a network and its annotators from a crowd's labels."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from torch import nn

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import SettingError
from manyhands.core.settings import require, settings_of
from manyhands.engine.batches import CrowdData, split_items, split_labels
from manyhands.engine.features import EncoderOptions, FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.learner import TrainingResult
from manyhands.engine.settings import TrainingOptions, TrainingSettings
from manyhands.engine.task import CrowdModule, FittedModel, Task
from manyhands.engine.tasks import task_of
from manyhands.methods.presets import OWN_PAPER, PUBLISHED, Preset
from manyhands.networks import Network

SEARCH_FOLDER = "search"  # of the checkpoint: the run that finds the best epoch
_SEARCH_SETTINGS = ("validation_fraction", "patience", "refit")
_FEW = 50  # validation labels that are too few to tell one epoch from another
NetworkMaker = Callable[[], nn.Module]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The labels that a method learns from, and the truth where it needs one.

    `shape` is the shape of the features that a noise model gets for one item. `truth` holds class
    codes, -1 where it is not known, or numbers, NaN where it is not known. `item_weights` say how
    much items count in the loss. `validation` are labels to find the best epoch by.
    """

    annotations: Annotations
    shape: tuple[int, ...]
    truth: AnyArray | None = None
    item_weights: Floats | None = None
    validation: Annotations | None = None
    _found: dict[Any, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def once(self, key: Any, compute: Callable[[Annotations], T]) -> T:
        """What is computed of the labels alone, such as a consensus: once for all seeds."""
        if key not in self._found:
            self._found[key] = compute(self.annotations)
        found: T = self._found[key]
        return found

    @property
    def task(self) -> Task:
        """Classification or regression, by the kind of the labels."""
        return task_of(self.annotations.kind)

    @property
    def labelled(self) -> Annotations:
        """The annotations of items with labels only: others would teach a start."""
        return self.annotations[np.flatnonzero(self.annotations.labels_per_item > 0)]

    @property
    def n_features(self) -> int:
        """How many features a noise model gets for one item."""
        return prod(self.shape)


@dataclass(frozen=True, kw_only=True)
class FitPlan:
    """How to fit: the settings, the network that was asked for, and where checkpoints go.

    `fingerprint` tells this fit from others; a checkpoint continues only where it is equal. `start`
    is a model to continue from, whose annotators are the first ones of the labels. `transitions`
    between tags are one of `TRANSITIONS`.
    """

    settings: TrainingSettings
    network: Network
    network_settings: Mapping[str, Any] | None = None
    checkpoint: Path | None = None
    resume: bool = False
    progress: bool = True
    callback: Callable[[CrowdModule], Mapping[str, Any]] | None = None
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    start: FittedModel | None = None
    transitions: str = "none"


@dataclass(frozen=True)
class MethodFit:
    """The trained network and annotators, and the history of training."""

    module: CrowdModule
    result: TrainingResult


@dataclass(frozen=True, kw_only=True)
class About:
    """A method in words: its source, its equation, its cost, and when to use it."""

    source: str = ""
    equation: str = ""
    cost: str = ""
    when: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A method as its papers have it, where that differs from the row of `METHODS`.

    `preset` is the experiment in `PUBLISHED` that introduces the method, or the first one that
    compares it; those of regression and tagging are the same for all methods. `model` are fields
    of the method, and `by_preset` further ones for single experiments. `note` says what no paper
    states about the method.
    """

    preset: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    by_preset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    note: str = ""


_PRESET_OF = {"regression": "p0/reviews", "tagging": "p0/ner"}
_TRAINED_AS = {"multilabel": "classification"}  # tasks that no paper has


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way of learning a model from a crowd; `defaults` are of the settings of training."""

    about: About = About()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    paper: Paper = field(default=Paper(), repr=False)
    needs_truth: ClassVar[bool] = False
    needs_counts: ClassVar[bool] = False  # features are counts, which must not be scaled
    needs_order: ClassVar[bool] = False  # classes are levels, from lowest to highest
    required_network: ClassVar[str | None] = None  # the only network that the method is made for
    replaces_output: ClassVar[bool] = False  # annotators have their own last layers
    models_features: ClassVar[bool] = False  # it models the features, which must be numbers then
    takes_noise_settings: ClassVar[bool] = False  # `noise` and `init` are settings of the method
    takes_item_weights: ClassVar[bool] = False  # its loss is a mean over items or their labels
    takes_transitions: ClassVar[bool] = False  # its network may have transitions between tags
    takes_label_smoothing: ClassVar[bool] = False  # it learns labels or targets by cross-entropy
    takes_more_labels: ClassVar[bool] = False  # a fitted model can learn from other items as well

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks that the method is for."""
        return ("classification", "tagging")

    @property
    def noise_spec(self) -> tuple[str, dict[str, Any]]:
        """The name of the noise model in `NOISE`, and its settings."""
        return "speelfc", {}

    def preset(self, published: Any = True, task: str | None = None) -> tuple[str, Preset]:
        """The preset of this name, or of the method's own paper (True), for a task; and its name.

        >>> from manyhands.methods import METHODS
        >>> METHODS["speelfc"].preset()[0], METHODS["speelfc"].preset("p1/music")[0]
        ('p1/sentiment', 'p1/music')
        """
        task = task or self.tasks[0]
        name = published
        if published in (True, OWN_PAPER):
            rule = "the name of a preset for a method of your own"
            require(self.paper.preset is not None, "published", rule, published, _presets_of(task))
            name = _PRESET_OF.get(task, self.paper.preset)
        found = PUBLISHED[name]
        rule = f"a preset for {task}"
        fits = found.task == _TRAINED_AS.get(task, task)
        require(fits, "published", rule, name, _presets_of(task))
        return name, found

    def published(self, preset: Any = True, task: str | None = None) -> "Method":
        """The method as a paper has it: its model, and its settings of training as `defaults`.

        `preset` is a name of `PUBLISHED`, or True for the method's own paper. The network is not
        part of a method: `preset` tells it.

        >>> from manyhands.methods import METHODS
        >>> METHODS["speelfc"].published("p1/music").settings
        {'diagonal': 3.7}
        """
        name, found = self.preset(preset, task)
        changes = {**self.paper.model, **self.paper.by_preset.get(name, {})}
        return replace(self, **changes, defaults=self._published_defaults(found))

    def _published_defaults(self, preset: Preset) -> Mapping[str, Any]:
        """The settings of training of a preset, as far as the method has them.

        Label smoothing is what some rows are, so that they keep theirs.
        """
        kept = {key: each for key, each in self.defaults.items() if key == "label_smoothing"}
        return {**preset.training, **kept}

    def configured(self, noise: Mapping[str, Any] | None, init: str | None) -> "Method":
        """The same method with other settings of its noise model, and another initialisation."""
        if noise or init not in (None, "own"):
            raise SettingError("noise and init are for methods with a noise model")
        return self

    def fit_encoder(
        self, task: Task, features: Any, options: EncoderOptions
    ) -> tuple[FeatureEncoder, Inputs]:
        """An encoder for features like these, and their inputs."""
        return task.fit_encoder(features, options)

    def fit_model(self, inputs: Inputs, problem: Problem, plan: FitPlan) -> MethodFit:
        """Train once, or twice: first to find the best epoch, then on all labels.

        With validation labels the best epoch is found without them. With `refit` as well, training
        starts again on all labels and ends after as many epochs: no label is lost to the search.
        """
        return self.fit_models(inputs, [problem], [plan])[0]

    def fit_models(
        self, inputs: Inputs, problems: Sequence[Problem], plans: Sequence[FitPlan]
    ) -> list[MethodFit]:
        """`fit_model` for every problem and plan; several are trained as one program.

        Their settings differ by the seed alone; see `why_separate`.
        """
        splits = [
            _split(inputs, problem.annotations, plan.settings)
            for problem, plan in zip(problems, plans, strict=True)
        ]
        parts = [
            replace(problem, annotations=labels, validation=validation)
            for problem, (labels, validation) in zip(problems, splits, strict=True)
        ]
        searches = any(each.validation is not None and plans[0].settings.refit for each in parts)
        if not searches:
            fits = found = self._train(inputs, parts, plans)
        else:
            found = self._train(inputs, parts, [_search_plan(plan) for plan in plans])
            epochs = [each.result.epoch for each in found]
            refits = self._train(inputs, problems, plans, stop_after=epochs)
            fits = [
                replace(fit, result=replace(fit.result, search_history=each.result.history))
                for fit, each in zip(refits, found, strict=True)
            ]
        for fit, search, part, plan in zip(fits, found, parts, plans, strict=True):
            if part.validation is not None and plan.settings.validation_unit == "items":
                device = next(search.module.noise.parameters()).device
                crowd = CrowdData(inputs, part.validation, device)
                fit.module.add_validation_error(search.module, crowd)
        return fits

    def why_separate(
        self, inputs: Inputs, problems: Sequence[Problem], plans: Sequence[FitPlan]
    ) -> str | None:
        """Why `fit_models` cannot train several models as one program; None where it can."""
        return "the method does not train a network in the epoch loop"

    @abstractmethod
    def _train(
        self,
        inputs: Inputs,
        problems: Sequence[Problem],
        plans: Sequence[FitPlan],
        *,
        stop_after: Sequence[int] | None = None,
    ) -> list[MethodFit]:
        """Learn the network and the annotators from the labels of every problem, once.

        `stop_after` are the numbers of epochs that a search has found best.
        """

    @classmethod
    def restore_network(
        cls, make: NetworkMaker, settings: Mapping[str, Any], n_annotators: int, n_classes: int
    ) -> nn.Module:
        """The network of a saved model, before its weights are loaded.

        `make` makes the network that was asked for; `settings` are those of `restore_settings`.
        """
        return make()

    @classmethod
    def fitted_module(cls, task: Task, network: nn.Module, noise: Any) -> CrowdModule:
        """A trained network and annotator model as a module that predicts labels."""
        return task.module(network, noise)

    def restore_settings(self, network: nn.Module) -> dict[str, Any]:
        """What `restore_network` needs to make a network like this one."""
        return {}

    def resolve_settings(
        self, settings: Mapping[str, Any], annotations: Annotations
    ) -> TrainingSettings:
        """Training settings, with the defaults of this method where None was given.

        The default search for the best epoch is left out where there are too few validation labels,
        and the default warm-up is at most a quarter of the epochs.
        """
        chosen = {name: value for name, value in settings.items() if value is not None}
        defaults = dict(self.defaults)
        fallback = {name: each.fallback for name, each in settings_of(TrainingOptions).items()}
        epochs = chosen.get("epochs", defaults.get("epochs", fallback["epochs"]))
        if "warm_up" in defaults and isinstance(epochs, Integral):
            defaults["warm_up"] = min(defaults["warm_up"], epochs // 4)
        share = chosen.get("validation_fraction", defaults.get("validation_fraction", 0.0))
        by_items = chosen.get("validation_unit", fallback["validation_unit"]) == "items"
        few = _n_spare(annotations, share, by_items) < _FEW
        if share == 0 or ("validation_fraction" not in chosen and few):
            defaults = {key: each for key, each in defaults.items() if key not in _SEARCH_SETTINGS}
        resolved = TrainingSettings(**{**defaults, **chosen})
        takes = self.takes_label_smoothing and annotations.kind == "classes"
        rule = "0: this method does not learn classes by cross-entropy"
        smoothing = resolved.label_smoothing
        require(takes or smoothing == 0, "label_smoothing", rule, smoothing)
        return resolved


def _presets_of(task: str) -> str:
    own = _TRAINED_AS.get(task, task)
    return f"known: {', '.join(name for name, each in PUBLISHED.items() if each.task == own)}"


def _search_plan(plan: FitPlan) -> FitPlan:
    """The plan of the run that finds the best epoch."""
    return replace(plan, checkpoint=plan.checkpoint and plan.checkpoint / SEARCH_FOLDER)


def _split(
    inputs: Inputs, annotations: Annotations, settings: TrainingSettings
) -> tuple[Annotations, Annotations | None]:
    share, seed = settings.validation_fraction, settings.seed
    if settings.validation_unit == "labels":
        return split_labels(annotations, share, seed)
    edges = inputs.boundaries(np.flatnonzero(annotations.labels_per_item > 0))
    return split_items(annotations, edges, share, seed)


def _n_spare(annotations: Annotations, share: float, by_items: bool) -> int:
    """How many labels can be held out: a share of them, and none the last of its item."""
    wanted = round(share * annotations.n_annotations)
    if by_items:
        return wanted
    return min(wanted, int(np.maximum(annotations.labels_per_item - 1, 0).sum()))
