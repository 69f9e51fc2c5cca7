"""End-to-end methods: a network trained through a noise model, which learns the annotators."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from torch import nn

from manyhands.aggregation import (
    Consensus,
    DawidSkene,
    estimate_confusions,
    fit_guarded,
)
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import SettingError
from manyhands.core.settings import require_choice
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.regression import RegressionModule, init_regression_layer
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import CrowdModule
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.network_method import NetworkMethod
from manyhands.noise import NOISE, NoiseModel, RegressionLayer

INITS = ("auto", "own", "consensus")
# The best epoch of end-to-end training differs tenfold between crowds, so it is searched for with
# validation labels. Annotators are initialised from a consensus with a unit
# normal prior around it, and may then learn fast. The network is warmed up on the label
# distribution first, or it may start with classes interchanged. All of these were chosen by the
# likelihood of validation labels on several crowds, never by truth.
NO_WARM_UP = {"epochs": 100, "validation_fraction": 0.15, "patience": 20, "refit": True}
SEARCH = {**NO_WARM_UP, "warm_up": 5}
FAST = {**SEARCH, "noise_learning_rate": 1e-2}
SMOOTHED = {"label_smoothing": 0.1}
PRIOR = {"prior_precision": 1.0}
_WITHOUT_PRIOR = ("speelfc-d", "mixture-e2e", "madl")  # they have no such setting
_MANY_LABELS = 40  # per annotator: with fewer, fast learning follows the noise of single labels
_SLOW = 0.3  # share of the learning rate of annotators with fewer labels
LARGE_TABLE = 300_000  # parameters of annotators from which a dense optimiser step is felt
_LARGE_CROWD = 100_000  # annotators, for regression


@dataclass(frozen=True)
class NoiseMethod(NetworkMethod):
    """A method with a noise model, its `settings`, and the initialisation of its annotators.

    `init="own"` initialises annotators as the noise model itself does, "consensus" from those of
    Dawid-Skene. "auto" is "consensus" with another model where that one collapsed (`fit_guarded`).
    """

    takes_noise_settings = True
    takes_item_weights = True
    takes_more_labels = True
    noise: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    init: Literal["auto", "own", "consensus"] = "own"

    def __post_init__(self) -> None:
        require_choice("init", self.init, INITS)

    @property
    def noise_spec(self) -> tuple[str, dict[str, Any]]:
        """See `Method.noise_spec`."""
        return self.noise, dict(self.settings)

    def configured(self, noise: Mapping[str, Any] | None, init: str | None) -> Self:
        """See `Method.configured`."""
        merged = {**self.settings, **(noise or {})}
        return replace(self, settings=merged, init=init or self.init)  # type: ignore[arg-type]


@dataclass(frozen=True)
class EndToEnd(NoiseMethod):
    """Train the network through a noise model of `NOISE`, which learns the annotators with it."""

    takes_transitions = takes_label_smoothing = True

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        large = ann.n_annotators * ann.n_classes**2 > LARGE_TABLE
        layer = self._layer(problem, uses_sparse(settings, large))
        layer.set_label_counts(ann.labels_per_annotator)
        if self.init != "own":
            layer.init_from_confusions(_confusions(self._consensus(problem)))
        return ClassificationModule(network, layer, problem.task.targets(ann))

    def _consensus(self, problem: Problem) -> Consensus:
        """The consensus that annotators are initialised from."""
        fit = DawidSkene().fit if self.init == "consensus" else _fit_guarded
        return problem.once(self.init, fit)

    def resolve_settings(
        self, settings: Mapping[str, Any], annotations: Annotations
    ) -> TrainingSettings:
        """See `Method.resolve_settings`; by default annotators with few labels learn slowly."""
        resolved = super().resolve_settings(settings, annotations)
        if settings.get("noise_learning_rate") is not None or resolved.noise_learning_rate is None:
            return resolved
        n_annotators = max(int((annotations.labels_per_annotator > 0).sum()), 1)
        if annotations.n_annotations >= _MANY_LABELS * n_annotators:
            return resolved
        return replace(resolved, noise_learning_rate=_SLOW * resolved.noise_learning_rate)

    def _layer(self, problem: Problem, sparse: bool) -> NoiseModel:
        ann, (name, settings) = problem.annotations, self.noise_spec
        try:
            return NOISE[name](
                ann.n_annotators,
                ann.n_classes,
                n_features=problem.n_features,
                sparse=sparse,
                **settings,
            )
        except TypeError as error:
            raise SettingError(f"noise: a setting is of the wrong type: {error}") from error


@dataclass(frozen=True)
class RegressionEndToEnd(NoiseMethod):
    """Train the network through a `RegressionLayer`, which learns the annotators with it.

    `noise` is the kind of the layer: "S" for scales, "B" for biases, "SB" for both. The consensus
    that annotators are initialised from is that of `Gaussian`.
    """

    tasks = ("regression",)
    init: Literal["auto", "own", "consensus"] = "auto"

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> CrowdModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        sparse = uses_sparse(settings, ann.n_annotators > _LARGE_CROWD)
        known = [name for name in RegressionLayer(1).settings if name != "kind"]
        for name in self.settings:
            if name not in known:
                listed = ", ".join(known)
                raise SettingError(f"the noise model has no setting {name!r}; known: {listed}")
        try:
            layer = RegressionLayer(
                ann.n_annotators, kind=self.noise, sparse=sparse, **self.settings
            )
        except TypeError as error:
            raise SettingError(f"noise: a setting is of the wrong type: {error}") from error
        init_regression_layer(layer, ann, consensus=self.init != "own")
        return RegressionModule(network, layer, problem.task.targets(ann))


def uses_sparse(settings: TrainingSettings, large: bool) -> bool:
    """Whether gradients of annotators are sparse: as set, or where there are many parameters."""
    return large if settings.sparse is None else settings.sparse


def _fit_guarded(annotations: Annotations) -> Consensus:
    return fit_guarded(DawidSkene(), annotations)


def _confusions(consensus: Consensus) -> Floats:
    """The confusions of a consensus; those against its labels where the model has none."""
    if consensus.confusion is not None:
        return consensus.confusion
    return estimate_confusions(consensus.annotations, np.asarray(consensus.probabilities))


_ABOUT = {  # of noise models, by name
    "crowd-layer-vw": About(
        source="Rodrigues and Pereira 2018",
        equation="P(y | a) = softmax(w_a * f)",
        cost="a plain epoch + K per label",
        when="few labels per annotator: K parameters each",
    ),
    "crowd-layer-vb": About(
        source="Rodrigues and Pereira 2018",
        equation="P(y | a) = softmax(f + b_a)",
        cost="a plain epoch + K per label",
        when="annotators who favour some labels; it cannot tell skill",
    ),
    "crowd-layer-vwb": About(
        source="Rodrigues and Pereira 2018",
        equation="P(y | a) = softmax(w_a * f + b_a)",
        cost="a plain epoch + 2 K per label",
        when="skill per class and favourite labels, 2 K parameters each",
    ),
    "crowd-layer-mw": About(
        source="Rodrigues and Pereira 2018",
        equation="P(y | a) = softmax(W_a f)",
        cost="a plain epoch + K x K per label",
        when="many labels per annotator, particular mistakes",
    ),
    "crowd-layer-over": About(
        source="Chu, Ma and Wang 2021, appendix C",
        equation="P(y | a) = softmax(W_a f) softmax(V_a)",
        cost="a plain epoch + 2 K x K per label",
        when="an ablation: as many matrices as CoNAL, none of them shared",
    ),
    "softmax-crowd-layer": About(
        source="softmax-CrowdLayer with sharpness-aware minimisation, LeWiDi",
        equation="P(y | a) = softmax(W_a f), cross-entropy over the labels there are",
        cost="a plain epoch + K x K per label",
        when="with sam_rho=0.05, as its authors train it",
    ),
    "speelfc": About(
        source="Chen et al. 2020 (SpeeLFC)",
        equation="P(y | a) = sum_k f_k C_a[k, y], C_a = row softmax",
        cost="a plain epoch + K x K per label",
        when="confusions that are probabilities by construction",
    ),
    "speelfc-d": About(
        source="Chen et al. 2020 (SpeeLFC)",
        equation="P(right) = sigmoid(alpha_a (l1 + l2 sigmoid(g(x)))), errors uniform",
        cost="a plain epoch, twice (the difficulty network)",
        when="difficulty shows in the features, and mistakes are of no particular kind",
    ),
    "trace-reg": About(
        source="Tanno et al. 2019",
        equation="SpeeLFC + strength x mean_a trace(C_a)",
        cost="a plain epoch + K x K per label",
        when="SpeeLFC that must not explain all noise by the network",
    ),
    "geocrowdnet": About(
        source="Ibrahim, Nguyen and Fu 2023, GeoCrowdNet(F)",
        equation="SpeeLFC - volume x log det(F'F / b), F the class probabilities",
        cost="a plain epoch + K x K per label and item",
        when="classes are about equally frequent and the network hides behind the noise",
    ),
    "conal": About(
        source="Chu, Ma and Wang 2021 (CoNAL)",
        equation="P(y | a, x) = omega softmax(W f) + (1 - omega) softmax(W_a f)",
        cost="a plain epoch + K x K and an embedding per label",
        when="annotators make the same mistakes: what is common is learnt once",
    ),
    "conal-groups": About(
        source="named as future work by Chu, Ma and Wang 2021",
        equation="CoNAL with W = sum_m s_am W_m, s_a a softmax",
        cost="a plain epoch + (1 + M) K x K per label",
        when="several kinds of annotators who share mistakes",
    ),
    "madl": About(
        source="Herde, Huseljic and Sick 2023 (MaDL)",
        equation="w_a log sum_k f_k C_ax[k, y], C a network of u_a, x, u_a x'; w_a ~ 1 / density",
        cost="a plain epoch + a small network and K x K per label",
        when="annotators err on some items more than on others, or copy each other",
    ),
    "mixture-e2e": About(
        source="likelihood of Mena and Nanculef (Crowd Mixture Model), eq. 4",
        equation="P(y | x) = sum_m alpha_m sum_k f_k beta_m[k, y]",
        cost="a plain epoch + M K x K per item",
        when="huge crowds with a label or two each, or no names of annotators at all",
    ),
}
# Scales and biases of the source: squared error, no precisions, no priors, no new intercept.
_SQUARED = {"settings": {"precision": "none"}, "init": "own", "refit_intercept": False}
_REGRESSION = {  # kind of layer: the mean label of a value z, and when to use it
    "S": ("s_a z", "annotators who use more or less of the scale"),
    "B": ("z + b_a", "annotators who rate high or low"),
    "SB": ("s_a z + b_a", "many labels per annotator, scales of their own"),
}
# Settings of noise models in all papers; most are as the noise model itself, without a prior.
_CONAL = {"strength": 1e-5, "reduction": "items"}
_SETTINGS: dict[str, dict[str, Any]] = {
    "conal": _CONAL,
    "conal-groups": _CONAL,
    "trace-reg": {"activation": "softplus", "reduction": "items"},
}
_PRESETS = {  # of noise models that the first paper does not have
    "crowd-layer-over": "p3/labelme",
    "softmax-crowd-layer": "p2/labelme",
    "speelfc": "p1/sentiment",
    "speelfc-d": "p1/sentiment",
    "trace-reg": "p3/labelme",
    "geocrowdnet": "p3/labelme",
    "conal": "p3/labelme",
    "conal-groups": "p3/labelme",
    "mixture-e2e": "p4/labelme",
    "madl": "p3/labelme",
}
_P1_DIFFICULTY = {"dropout": 0.5, "alpha": 0.028, "l1": 0.001, "l2": 100.0}
# Settings of noise models in single experiments. Only differences of logits count: 1.4 and 4.7
# beside 1 are 0.4 and 3.7 beside 0.
_IN_PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "speelfc": {"p1/sentiment": {"diagonal": 0.4}, "p1/music": {"diagonal": 3.7}},
    "speelfc-d": {
        "p1/sentiment": {**_P1_DIFFICULTY, "n_hidden": 128, "difficulty_rate": 1.0},
        "p1/music": {**_P1_DIFFICULTY, "n_hidden": 32, "difficulty_rate": 0.1},
    },
}
_NOTES = {
    "geocrowdnet": "In none of the papers; trained as trace-reg.",
    "madl": "In none of the papers; trained as conal.",
    "conal-groups": "Named as future work; trained as conal.",
    "mixture-e2e": "Named as future work; trained as mixture.",
}


def _paper(noise: str) -> Paper:
    return Paper(
        preset=_PRESETS.get(noise, "p0/labelme"),
        model={"settings": _SETTINGS.get(noise, {}), "init": "own"},
        by_preset={
            name: {"settings": settings} for name, settings in _IN_PRESETS.get(noise, {}).items()
        },
        note=_NOTES.get(noise, ""),
    )


ROWS: dict[str, Method] = {
    noise: (
        EndToEnd(noise, init="auto", defaults=SEARCH, paper=_paper(noise), about=about)
        if noise in _WITHOUT_PRIOR
        else EndToEnd(noise, PRIOR, "auto", defaults=FAST, paper=_paper(noise), about=about)
    )
    for noise, about in _ABOUT.items()
}
ROWS["crowd-layer-mw-smoothed"] = EndToEnd(
    "crowd-layer-mw",
    PRIOR,
    "auto",
    defaults={**FAST, **SMOOTHED},
    paper=replace(_paper("crowd-layer-mw"), note="In none of the papers."),
    about=About(
        source="Rodrigues and Pereira 2018; label smoothing of Szegedy et al. 2016",
        equation="(1 - s) log P(y | a) + s / K sum_l log P(l | a), as crowd-layer-mw, s = 0.1",
        cost="a plain epoch + K x K per label",
        when="a baseline: crowd-layer-mw whose probabilities of labels are not to be extreme",
    ),
)
ROWS |= {
    f"crowd-layer-{kind.lower()}": RegressionEndToEnd(
        kind,
        defaults=FAST,
        paper=Paper(preset="p0/reviews", model=_SQUARED),
        about=About(
            source="Rodrigues and Pereira 2018",
            equation=f"y ~ N({mean}, 1 / precision_a), z ~ N(f(x), v)",
            cost="a plain epoch + a few numbers per label",
            when=f"numbers; {when}",
        ),
    )
    for kind, (mean, when) in _REGRESSION.items()
}
