"""The strategies that drive the loop: aggregate and then train, or learn annotators on the way."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from numbers import Integral
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import AGGREGATORS, Aggregator, Consensus, aggregate, estimate_confusions
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import require_choice
from manyhands.engine.crowd_module import ClassificationModule, CrowdModule
from manyhands.engine.regression_module import train_on_values
from manyhands.engine.settings import TrainingSettings
from manyhands.noise import NOISE, NoiseModel, SpeeLFC

INITS = ("auto", "own", "consensus")
_SEARCH = ("validation_fraction", "patience", "refit")  # settings of the search for the best epoch
_FAR = 0.2  # share of items a consensus may put into other classes than were said of them
_TIED = 1e-9  # probabilities that differ by rounding only
_FEW = 50  # labels kept aside that are too few to tell one epoch from another
_LARGE_TABLE = 300_000  # annotators' parameters from which a dense optimiser step is felt


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What a method is given: labels, the shape of an item's input, and truth where it is needed.

    `truth` holds class codes, -1 where it is not known; or numbers, NaN where it is not.
    """

    annotations: Annotations
    shape: tuple[int, ...]
    truth: AnyArray | None = None


@dataclass(frozen=True, kw_only=True)
class About:
    """A method in words: where it comes from, what it says, what it costs, when to use it."""

    source: str = ""
    equation: str = ""
    cost: str = ""
    when: str = ""


class Method(ABC):
    """A way of learning from a crowd: makes the learner that the loop trains."""

    about: About
    needs_truth = False
    only_network: str | None = None  # the name of the one network it is made for, if there is one
    takes_counts = False  # whether features are counts, which must not be scaled
    defaults: Mapping[str, Any]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of labels that it learns from."""
        return ("classes",)

    @property
    def task(self) -> tuple[str, ...]:
        """What it can learn: "classes" or "numbers" of items, "tags" of the tokens of sentences."""
        tags = "classes" in self.kinds and self.only_network is None and not self.takes_counts
        return (*self.kinds, "tags") if tags else self.kinds

    @property
    def noise_made(self) -> tuple[str, dict[str, Any]]:
        """The noise model of the learner for classes: its name in `NOISE`, and its settings."""
        return "speelfc", {}

    def network(self, network: nn.Module, n_annotators: int, n_classes: int) -> nn.Module:
        """The network that is trained and predicts, made of the one that was asked for.

        For numbers there are 0 classes.
        """
        return network

    @abstractmethod
    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """The network with its noise model and its targets."""

    def settled(self, settings: Mapping[str, Any], annotations: Annotations) -> TrainingSettings:
        """Training settings, with this method's defaults where None was given.

        The default search for the best epoch is left out where there are too few labels to judge
        by, and the default warm-up is at most a quarter of the epochs.
        """
        chosen = {name: value for name, value in settings.items() if value is not None}
        defaults = dict(self.defaults)
        epochs = chosen.get("epochs", defaults.get("epochs", TrainingSettings.epochs))
        if "warm_up" in defaults and isinstance(epochs, Integral):
            defaults["warm_up"] = min(defaults["warm_up"], epochs // 4)
        share = chosen.get("validation_fraction", defaults.get("validation_fraction", 0.0))
        by_items = chosen.get("validation_unit", TrainingSettings.validation_unit) == "items"
        few = _n_spare(annotations, share, by_items) < _FEW
        if share == 0 or ("validation_fraction" not in chosen and few):
            defaults = {name: each for name, each in defaults.items() if name not in _SEARCH}
        return TrainingSettings(**{**defaults, **chosen})


@dataclass(frozen=True)
class TwoStage(Method):
    """Aggregate first, then train the network on the consensus.

    `aggregator` is any of `AGGREGATORS`, by name or with settings of its own. With `hard` the
    network sees the most probable class, or all of them in equal shares where several tie,
    otherwise the whole posterior. The annotators' portraits are their confusions against the
    consensus. With an aggregator of numbers the network learns the consensus by squared error, and
    annotators are portrayed beside it.
    """

    aggregator: str | Aggregator[Any]
    hard: bool = False
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """See `Method.kinds`."""
        return (self._model.kind,)

    @property
    def _model(self) -> Aggregator[Any]:
        made = self.aggregator
        return AGGREGATORS[made]() if isinstance(made, str) else made

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `Method.learner`."""
        consensus = self._model.fit(problem.annotations)
        target_ik = consensus.probabilities
        if target_ik is None:
            return train_on_values(network, consensus.annotations, consensus.labels)
        if self.hard:
            target_ik = _hardened(target_ik)
        return _trained_on(network, problem.annotations, target_ik, consensus.confusion)


@dataclass(frozen=True)
class OnTruth(Method):
    """Train the network on the truth: the upper bound that no crowd method is told."""

    about: About = field(kw_only=True)
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=dict)
    needs_truth = True

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """See `Method.kinds`."""
        return ("classes", "numbers")

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `Method.learner`."""
        truth, ann = problem.truth, problem.annotations
        if truth is None or not _is_known(truth)[ann.labels_per_item > 0].all():
            raise DataError(
                "the method 'truth' trains on the truth of every labelled item: give all of it"
            )
        if ann.kind == "numbers":
            return train_on_values(network, ann, np.nan_to_num(truth))
        target_ik = _one_hot(np.maximum(truth, 0), problem.annotations.n_classes)
        return _trained_on(network, problem.annotations, target_ik, None)


@dataclass(frozen=True)
class EndToEnd(Method):
    """Train the network through a noise model of `NOISE`, which learns the annotators with it.

    `settings` go to the noise model. `init="consensus"` starts its annotators from the confusions
    of a Dawid-Skene consensus rather than from the model's own start ("own"). "auto" takes the
    consensus unless it has collapsed.
    """

    noise: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    init: Literal["auto", "own", "consensus"] = "own"
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        require_choice("init", self.init, INITS)

    @property
    def noise_made(self) -> tuple[str, dict[str, Any]]:
        """See `Method.noise_made`."""
        return self.noise, dict(self.settings)

    def with_settings(self, noise: Mapping[str, Any] | None, init: str | None) -> "EndToEnd":
        """The same method with other settings of its noise model, and another start."""
        merged = {**self.settings, **(noise or {})}
        return replace(self, settings=merged, init=init or self.init)  # type: ignore[arg-type]

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `Method.learner`."""
        ann = problem.annotations
        sparse = settings.sparse
        if sparse is None:
            # Between processes not every backend of torch adds up sparse gradients.
            large = ann.n_annotators * ann.n_classes**2 > _LARGE_TABLE
            sparse = large and settings.devices == 1
        layer = self._layer(problem, sparse)
        layer.set_label_counts(ann.labels_per_annotator)
        consensus = aggregate(ann, "dawid-skene") if self.init != "own" else None
        if consensus is not None and (self.init == "consensus" or _credible(consensus)):
            assert consensus.confusion is not None, "Dawid-Skene portrays annotators"
            layer.init_from_confusions(consensus.confusion)
        return ClassificationModule(network, layer, label_shares(ann))

    def _layer(self, problem: Problem, sparse: bool) -> NoiseModel:
        ann = problem.annotations
        try:
            return NOISE[self.noise](
                ann.n_annotators,
                ann.n_classes,
                n_features=prod(problem.shape),
                sparse=sparse,
                **self.settings,
            )
        except TypeError as error:
            raise SettingError(f"noise: a setting is of the wrong kind: {error}") from error


def label_shares(annotations: Annotations) -> Tensor:
    """The shares of the labels of every item, (i, k)."""
    shares_ik = aggregate(annotations, "majority").probabilities
    assert shares_ik is not None, "labels are classes here"
    return _tensor(shares_ik)


def _trained_on(
    network: nn.Module, annotations: Annotations, target_ik: Floats, confusion_akl: Floats | None
) -> ClassificationModule:
    if confusion_akl is None:
        confusion_akl = estimate_confusions(annotations, target_ik)
    profile: NoiseModel = SpeeLFC(annotations.n_annotators, annotations.n_classes)
    return ClassificationModule(
        network, profile.init_from_confusions(confusion_akl), _tensor(target_ik), on_targets=True
    )


def _credible(consensus: Consensus) -> bool:
    """Whether a consensus finds the classes about as often as they were said.

    Where few labels or many spammers let it collapse, it puts nearly all items into one class.
    """
    ann = consensus.annotations
    found_k = np.asarray(consensus.probabilities).mean(axis=0)
    said_k = np.bincount(ann.label, minlength=ann.n_classes) / ann.n_annotations
    return bool(np.abs(found_k - said_k).sum() / 2 <= _FAR)


def _hardened(posterior_ik: Floats) -> Floats:
    """All mass on the most probable class, in equal shares on those that tie."""
    top_ik = posterior_ik >= posterior_ik.max(axis=1, keepdims=True) - _TIED
    return np.asarray(top_ik / top_ik.sum(axis=1, keepdims=True))


def _n_spare(annotations: Annotations, share: float, by_items: bool) -> int:
    """How many labels can be kept aside: a share of them, and none the last of its item."""
    wanted = round(share * annotations.n_annotations)
    if by_items:
        return wanted
    return min(wanted, int(np.maximum(annotations.labels_per_item - 1, 0).sum()))


def _is_known(truth: AnyArray) -> Bools:
    known: Bools = ~np.isnan(truth) if truth.dtype.kind == "f" else truth >= 0
    return known


def _one_hot(codes: AnyArray, n_classes: int) -> Floats:
    return np.eye(n_classes)[codes]


def _tensor(array: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).float()
