"""What aggregators of comparisons have in common: settings with `fit`, and the fit itself."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit, ndtri

from manyhands.aggregation.em import EMRun, run_em
from manyhands.aggregation.evidence import Quality, quality_of_counts
from manyhands.aggregation.pairs.components import (
    comparison_groups,
    group_lines,
    unbounded_items,
)
from manyhands.aggregation.pairs.information import (
    MAX_ITEMS,
    Uncertainty,
    estimate_uncertainty,
    mixture_hessian,
)
from manyhands.aggregation.pairs.outcomes import NO_TIES
from manyhands.aggregation.pairs.ranking import Ranking
from manyhands.aggregation.pairs.system import (
    PairSystem,
    PositionBias,
    following,
    mixed,
    opposing,
)
from manyhands.annotations.comparisons import TIE, Comparisons
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import Codes, Floats
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.core.settings import AT_LEAST_ONE, NOT_NEGATIVE, Rule, setting, settings_of
from manyhands.evaluation.scores import LEVEL

Ties = Literal["davidson", "half", "drop"]
ABOVE_ZERO = Rule(lambda value: value > 0, "> 0, or inf for no prior")
TIES = "Ties as an outcome with a weight of its own (davidson), as half a win each, or left out."
# What a Newton step may leave of the gradient. EM improves on the step, the other fit does not.
_EXACT, _EM_EXACT = 1e-8, 1e-3
PRIOR = "Standard deviation of scores before the data, in log-odds; inf: maximum likelihood."


class State(NamedTuple):
    """Parameters during a fit: the vector of `PairSystem`, and how often annotators follow it."""

    x: Floats
    follows_a: Floats


@dataclass(frozen=True, kw_only=True)
class PairAggregator:
    """Settings of a model; `fit` turns comparisons into a `Ranking`."""

    name: ClassVar[str]
    kind: ClassVar[str] = "pairs"

    ties: Ties = setting("davidson", TIES)
    prior_scale: float = setting(2.0, PRIOR, rule=ABOVE_ZERO)
    max_iter: int = setting(500, "Largest number of steps.", rule=AT_LEAST_ONE)
    tol: float = setting(
        1e-9, "A fit ends once a step gains less per comparison.", rule=NOT_NEGATIVE
    )

    def __post_init__(self) -> None:
        owner: Any = type(self)
        for name, declared in settings_of(owner).items():
            object.__setattr__(self, name, declared.checked(getattr(self, name)))

    @property
    def bias(self) -> PositionBias:
        """Whose advantage of the left side is estimated."""
        return "none"

    @property
    def side_scale(self) -> float:
        """The standard deviation of annotators' own advantages of the left side."""
        return 1.0

    @property
    def pseudo_counts(self) -> tuple[float, float]:
        """Comparisons for and against the scores that every annotator is given beforehand."""
        return 0.0, 0.0

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """A new aggregator with some settings changed; this one stays as it is."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise SettingError(
                    f"{self.name} has no setting {name!r}; known: {', '.join(known)}"
                )
        return replace(self, **params)

    def fit(self, comparisons: Any) -> Ranking:
        """The ranking of these comparisons, or of a frame that `Comparisons.from_frame` takes."""
        pairs = as_comparisons(comparisons)
        used = pairs[pairs.outcome != TIE] if self.ties == "drop" else pairs
        if len(used) == 0:
            raise DataError("there is not a single comparison; nothing can be ranked")
        if not used.has_sides and self.bias != "none":
            raise SettingError(
                SettingName("position_bias"),
                " needs to know which item was on the left; these rows tell winner and loser only",
            )
        group_i = comparison_groups(used)
        if self.prior_scale == np.inf:
            _require_finite(used, group_i)
        system = PairSystem.of(
            used, self.bias, self.ties == "davidson" and used.n_ties > 0, self.prior_scale,
            self.side_scale,
        )  # fmt: skip
        run = self._run(system)
        return self._ranking(pairs, system, group_i, run)

    def _run(self, system: PairSystem) -> EMRun[State]:
        plus, minus = self.pseudo_counts
        chance = plus / (plus + minus) if minus else 1.0
        start = State(system.start(), np.full(system.comparisons.n_annotators, chance))
        step = self._mixture_step(system) if minus else _plain_step(system)
        tol = self.tol * len(system.comparisons)
        return run_em(start, step, max_iter=self.max_iter, tol=tol)

    def _mixture_step(self, system: PairSystem) -> Callable[[State], tuple[State, float]]:
        """A step of EM: who followed the scores, then better scores and better reliabilities."""
        plus, minus = self.pseudo_counts
        who, n_a = system.comparisons.annotator, system.comparisons.n_annotators

        def step(state: State) -> tuple[State, float]:
            with_them, against = system.terms(state.x)
            log_p, share = _mixture(system, state, with_them.log_p, against.log_p)
            chance = state.follows_a
            log_prior = plus * np.log(chance).sum() + minus * np.log1p(-chance).sum()
            value = float(log_p.sum()) + system.log_prior(state.x) + float(log_prior)

            def expected(x: Floats) -> float:
                by_scores, opposite = system.log_outcomes(x)
                said = share * by_scores + (1.0 - share) * opposite
                return float(said.sum()) + system.log_prior(x)

            local = mixed(following(with_them), opposing(against), share)
            x = system.newton(state.x, local, expected, _EM_EXACT)
            followed = np.bincount(who, weights=share, minlength=n_a) + plus
            total = np.bincount(who, minlength=n_a) + plus + minus
            return State(x, followed / total), value

        return step

    def _ranking(
        self, pairs: Comparisons, system: PairSystem, group_i: Codes, run: EMRun[State]
    ) -> Ranking:
        x, follows_a = run.state
        n, n_sides = system.n_items, system.n_sides
        mean = np.bincount(group_i, weights=x[:n]) / np.bincount(group_i)
        scores = x[:n] - mean[group_i]
        known = self._uncertainty(system, group_i, run.state)
        notes = group_lines(system.comparisons, group_i)
        if known is None and n > MAX_ITEMS:
            notes.append(f"no intervals: these are given up to {MAX_ITEMS:,} items")
        elif known is None:
            notes.append("no intervals: the fit is at no clear maximum; give more comparisons")
        if not run.converged:
            notes.append(f"not converged after {len(run.objective)} steps; raise max_iter")
        return Ranking(
            comparisons=pairs, scores=scores, group=group_i,
            quality=self._quality(system, scores, follows_a, known),
            covariance=None if known is None else known.covariance, follows=follows_a,
            position=x[n : n + n_sides],
            position_deviation=np.full(n_sides, np.nan) if known is None else known.position,
            tie_weight=float(x[-1]) if system.with_ties else NO_TIES,
            method=self, objective=run.objective, converged=run.converged, warnings=tuple(notes),
        )  # fmt: skip

    def _uncertainty(self, system: PairSystem, group_i: Codes, state: State) -> Uncertainty | None:
        plus, minus = self.pseudo_counts
        with_them, against = system.terms(state.x)
        if not minus:
            hessian = np.zeros((len(system.comparisons), 4, 4))
            hessian[:, :3, :3] = following(with_them).hessian
            return estimate_uncertainty(system, hessian, group_i, np.zeros(0))
        _, share = _mixture(system, state, with_them.log_p, against.log_p)
        chance_a = state.follows_a
        hessian = mixture_hessian(
            following(with_them), opposing(against), share, chance_a[system.comparisons.annotator]
        )
        precision_a = (plus + minus) * chance_a * (1.0 - chance_a)
        return estimate_uncertainty(system, hessian, group_i, precision_a)

    def _quality(
        self, system: PairSystem, scores: Floats, follows_a: Floats, known: Uncertainty | None
    ) -> Quality:
        """How often annotators judge by the scores, with its interval."""
        if not self.pseudo_counts[1]:
            return _quality_of_agreement(system.comparisons, scores)
        if known is None:
            return Quality.from_interval(follows_a, follows_a * 0.0, follows_a * 0.0 + 1.0)
        odds = np.log(follows_a) - np.log1p(-follows_a)
        half = float(ndtri((1.0 + LEVEL) / 2.0)) * known.reliability
        return Quality.from_interval(follows_a, expit(odds - half), expit(odds + half))


def as_comparisons(comparisons: Any, **columns: Any) -> Comparisons:
    """Comparisons as they are, or those of a frame, of which `columns` may be named."""
    if getattr(comparisons, "kind", None) != "pairs":
        return Comparisons.from_frame(comparisons, **columns)
    if columns:
        raise SettingError(f"{next(iter(columns))} names a column of a frame; leave it out")
    found: Comparisons = comparisons
    return found


def _plain_step(system: PairSystem) -> Callable[[State], tuple[State, float]]:
    """A Newton step for annotators who all follow the scores."""

    def value(x: Floats) -> float:
        return float(system.log_outcomes(x)[0].sum()) + system.log_prior(x)

    def step(state: State) -> tuple[State, float]:
        local = following(system.terms(state.x)[0])
        return State(system.newton(state.x, local, value, _EXACT), state.follows_a), value(state.x)

    return step


def _mixture(
    system: PairSystem, state: State, by_scores: Floats, opposite: Floats
) -> tuple[Floats, Floats]:
    """The log-probability of every comparison, and the chance that the scores were followed."""
    chance = state.follows_a[system.comparisons.annotator]
    log_with = np.log(chance) + by_scores
    log_p = np.logaddexp(log_with, np.log1p(-chance) + opposite)
    return log_p, np.exp(log_with - log_p)


def _quality_of_agreement(pairs: Comparisons, scores: Floats) -> Quality:
    """How often annotators choose the item with the higher score; ties do not count."""
    d = scores[pairs.left] - scores[pairs.right]
    counted = (pairs.outcome != TIE) & (np.abs(d) > 1e-9)
    agrees = counted & ((d > 0) == (pairs.outcome == 0))
    right, seen = (
        np.bincount(pairs.annotator, weights=each, minlength=pairs.n_annotators).astype(float)
        for each in (agrees, counted)
    )
    return quality_of_counts(right, seen)


def _require_finite(pairs: Comparisons, group_i: Codes) -> None:
    unbounded = unbounded_items(pairs, group_i)
    if unbounded.any():
        raise DataError(
            f"without a prior the scores of {join_names(pairs.items[unbounded])} have no limit: "
            "they won or lost everything against the others; give ", SettingName("prior_scale"),
            " a finite value, or leave it out",
        )  # fmt: skip
