"""What further labels would bring: simulated labels, chosen as `next_labels` does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.annotations import Labels
from manyhands.annotations.columns import make_frame
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import SettingError
from manyhands.core.settings import generator, require
from manyhands.evaluation.runs import CLEAR
from manyhands.evaluation.scores import LEVEL
from manyhands.selection.label_pool import LabelPool, Pool
from manyhands.selection.next_labels import BUDGET, NEXT_METHODS, Batch, Chooser
from manyhands.selection.pools import make_pool

MIN_GAIN = 0.002
_NOBODY = (
    "there is no label to ask for: everybody has labelled every item, or no label is within the "
    "budget; give costs of new annotators, or features of new items"
)
_SHORTLIST = 3  # items in the simulation for each label of the budget


@dataclass(frozen=True, eq=False)
class BudgetCurve:
    """Accuracy against what further labels cost; the first row is that of today.

    `low` and `high` hold 95 % of the simulated accuracies. `gain` is the mean rise since today,
    with its standard error.
    """

    cost: Floats
    n_labels: Floats
    accuracy: Floats
    low: Floats
    high: Floats
    gain: Floats
    gain_error: Floats
    backend: str = "pandas"

    @property
    def columns(self) -> dict[str, AnyArray]:
        """The columns of the table."""
        names = ("cost", "n_labels", "accuracy", "low", "high", "gain", "gain_error")
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> Any:
        """One row per batch."""
        return make_frame(self.columns, self.backend)

    def verdict(self, *, min_gain: float = MIN_GAIN, target: float | None = None) -> "Verdict":
        """Whether to stop labelling, and why.

        Stop if the expected accuracy is at the target, or if two standard errors above its mean the
        rise by all labels of the curve is still below `min_gain`, or if nobody can be asked.
        """
        require(0 <= min_gain < 1, "min_gain", "in 0..1, below 1", min_gain)
        require(target is None or 0 < target <= 1, "target", "above 0, up to 1", target)
        now, last = float(self.accuracy[0]), float(self.cost[-1])
        if target is not None and now >= target:
            return Verdict(True, f"the expected accuracy {now:.3f} has reached {target:g}")
        if last == 0:
            return Verdict(True, _NOBODY)
        most = float(self.gain[-1] + CLEAR * self.gain_error[-1])
        rise = f"labels for {last:g} more would raise the accuracy by {self.gain[-1]:.4f}"
        if most < min_gain:
            return Verdict(True, f"{rise}, less than {min_gain:g}")
        if self.gain[-1] < min_gain:
            rise += f" (up to {most:.4f} by the error of the simulation)"
        if target is None:
            return Verdict(False, f"{rise} to {self.accuracy[-1]:.3f}")
        reached = np.flatnonzero(self.accuracy >= target)
        where = f"at a cost of about {self.cost[reached[0]]:g}" if len(reached) else "with more"
        return Verdict(False, f"{rise} to {self.accuracy[-1]:.3f}; {target:g} is reached {where}")


@dataclass(frozen=True)
class Verdict:
    """Whether to stop labelling, and why."""

    stop: bool
    reason: str


def budget_curve(
    annotations: Labels,
    probabilities: Any = None,
    *,
    consensus: Consensus | None = None,
    method: str = "information",
    budget: float = BUDGET,
    batches: int = 5,
    costs: Mapping[Any, float] | None = None,
    per_annotator: int | None = None,
    repeats: int = 40,
    seed: int = 0,
) -> BudgetCurve:
    """The expected accuracy after further labels, up to `budget`, chosen by `method` in batches.

    Every repeat draws the classes of items from the beliefs, and a confusion of every annotator
    from what is known of them. Labels are chosen as `next_labels` does, drawn from these confusions
    and added to the beliefs by the mean confusions. So the interval has the uncertainty of classes,
    labels and annotators, and not that of the model: if annotators share mistakes, the accuracy is
    lower than this.

    Items that are not among the most promising ones keep their belief; the simulation takes time by
    the budget, not by the number of items. "crowdlab" and "active-lab" rank by labels rather than
    beliefs and cannot be simulated.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 0, -1], [0, 1, -1, -1], [1, 1, 1, 1], [0, 0, 0, 0]])
    >>> curve = budget_curve(ann, budget=2, batches=2)
    >>> curve.cost.tolist(), bool(curve.gain[-1] > 0)
    ([0.0, 1.0, 2.0], True)
    """
    chosen = NEXT_METHODS[method]
    if chosen.needs_classifier:
        raise SettingError(f"{method} cannot be simulated; choose another method for the curve")
    require(np.isfinite(budget) and budget > 0, "budget", "above 0", budget)
    require(batches >= 1, "batches", ">= 1", batches)
    require(repeats >= 2, "repeats", ">= 2", repeats)
    pool = make_pool(
        annotations, probabilities, consensus=consensus, costs=costs,
        fewest_first=chosen.fewest_first,
    )  # fmt: skip
    first = chosen.gain(pool, seed)
    n_labels = int(np.ceil(budget / pool.cost_r.min()))
    order = np.argsort(-first(np.arange(len(pool.belief_ik)), -1), kind="stable")
    rows = np.sort(order[: max(_SHORTLIST * n_labels, 1)])
    cap = Chooser(pool, budget / batches, per_annotator).cap
    batches = min(batches, max(1, int(budget / pool.cost_r.min())))
    until = budget * np.arange(1, batches + 1) / batches
    runs = [
        _simulate(pool, rows, method, until, cap, generator(seed, f"budget curve {repeat}"))
        for repeat in range(repeats)
    ]
    return summarize_curve(pool.expected_accuracy, np.array(runs), pool.annotations.backend)


def _simulate(
    pool: Pool,
    rows: AnyArray,
    method: str,
    until: Floats,
    cap: int,
    rng: np.random.Generator,
) -> Floats:
    """Cost, labels and accuracy after every batch, shape (batches + 1, 3).

    A batch costs what is left `until` its end, so that what one does not spend is left to the next.
    """
    simulated = [_SimulatedPart(part, rng) for part in pool.parts]
    free = pool.may_label(rows)
    spent, n_labels = 0.0, 0
    found = [(spent, n_labels, np.mean([each.accuracy for each in simulated]))]
    for limit in until:
        now = pool.with_beliefs([each.belief_ik for each in simulated])
        gain = NEXT_METHODS[method].gain(now, int(rng.integers(2**31)))
        batch = Chooser(now, limit - spent, cap).choose(now, gain, rows, free)
        for each in simulated:
            each.label(batch, rng)
        free[np.searchsorted(rows, batch.item), batch.asked] = False
        spent, n_labels = spent + float(pool.cost_r[batch.asked].sum()), n_labels + len(batch.item)
        found.append((spent, n_labels, np.mean([each.accuracy for each in simulated])))
    return np.array(found)


class _SimulatedPart:
    """Classes and confusions that are drawn, and beliefs that learn from drawn labels."""

    def __init__(self, part: LabelPool, rng: np.random.Generator) -> None:
        self.truth_i = _draw(part.belief_ik, rng)
        drawn_rkl = rng.gamma(part.counts_rkl)
        self.drawn_rkl = drawn_rkl / drawn_rkl.sum(axis=2, keepdims=True)
        self.belief_ik, self.confusion_rkl = part.belief_ik.copy(), part.confusion_rkl

    @property
    def accuracy(self) -> float:
        """The share of items whose most probable class is the drawn one."""
        return float(np.mean(self.belief_ik.argmax(axis=1) == self.truth_i))

    def label(self, batch: Batch, rng: np.random.Generator) -> None:
        """Draw the labels of a batch, and update the beliefs."""
        label_n = _draw(self.drawn_rkl[batch.asked, self.truth_i[batch.item]], rng)
        self.belief_ik[batch.item] *= self.confusion_rkl[batch.asked, :, label_n]
        self.belief_ik[batch.item] /= self.belief_ik[batch.item].sum(axis=1, keepdims=True)


def _draw(probabilities_nk: Floats, rng: np.random.Generator) -> AnyArray:
    """A class of every row."""
    reached_nk = probabilities_nk.cumsum(axis=1)
    point_n1 = rng.random((len(probabilities_nk), 1)) * reached_nk[:, -1:]
    return np.asarray((reached_nk <= point_n1).sum(axis=1).clip(max=probabilities_nk.shape[1] - 1))


def summarize_curve(accuracy: float, run_rbc: Floats, backend: str) -> BudgetCurve:
    """The curve from runs with cost, labels and accuracy after every batch, (repeat, b, 3).

    `accuracy` is that of today.
    """
    gain_rb = run_rbc[:, :, 2] - run_rbc[:, :1, 2]
    # Today's accuracy is known from the beliefs; only the rise needs simulation.
    accuracy_b = accuracy + gain_rb.mean(axis=0)
    tail = (1.0 - LEVEL) / 2.0
    low_b, high_b = np.quantile(run_rbc[:, :, 2], [tail, 1.0 - tail], axis=0)
    return BudgetCurve(
        cost=run_rbc[:, :, 0].mean(axis=0),
        n_labels=run_rbc[:, :, 1].mean(axis=0),
        accuracy=accuracy_b,
        low=np.minimum(low_b, accuracy_b),
        high=np.maximum(high_b, accuracy_b),
        gain=gain_rb.mean(axis=0),
        gain_error=gain_rb.std(axis=0, ddof=1) / len(gain_rb) ** 0.5,
        backend=backend,
    )
