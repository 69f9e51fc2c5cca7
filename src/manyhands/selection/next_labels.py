"""What to label next, and whom to ask."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.aggregation.crowdlab import crowdlab
from manyhands.annotations import Labels
from manyhands.annotations.columns import make_frame
from manyhands.annotations.html import HtmlTable
from manyhands.core.arrays import AnyArray, Bools, Floats
from manyhands.core.errors import SettingError
from manyhands.core.settings import Registry, generator, require
from manyhands.selection.active_lab import active_lab
from manyhands.selection.gains import accuracy_gain, information_gain, profile_gain
from manyhands.selection.label_pool import LabelPool, Pool
from manyhands.selection.pools import make_pool

BUDGET = 100
_MAX_PAIRS = 4_000_000  # of an item and an annotator that are weighed
_ITEMS_PER_LABEL = 4  # items weighed for each label of the budget, at least
_PEOPLE = 10  # annotators among whom a batch is divided at least, if there are so many
_ROUNDING = 1e-9  # of sums of costs
Gain = Callable[[AnyArray, int], Floats]  # of some items by annotator r; -1 is an average one


class NextMethod(NamedTuple):
    """A way to rank labels: `prepare` returns the gain of items by an annotator.

    A label that is a set tells about several classes, and `gain` is the sum over these.
    """

    prepare: Callable[[LabelPool, int], Gain]
    about: str
    needs_classifier: bool = False
    fewest_first: bool = False

    def gain(self, pool: Pool, seed: int) -> Gain:
        """The gain of the items of a pool by an annotator."""
        gains = [self.prepare(part, seed) for part in pool.parts]
        return lambda rows, r: np.sum([gain(rows, r) for gain in gains], axis=0)


def _information(pool: LabelPool, seed: int) -> Gain:
    return lambda rows, r: information_gain(
        pool.belief_ik[rows], pool.average_kl if r < 0 else pool.confusion_rkl[r]
    )


def _accuracy(pool: LabelPool, seed: int) -> Gain:
    return lambda rows, r: accuracy_gain(
        pool.belief_ik[rows], pool.average_kl if r < 0 else pool.confusion_rkl[r]
    )


def _probing(pool: LabelPool, seed: int) -> Gain:
    mean_kl = pool.counts_rkl.mean(axis=0)
    return lambda rows, r: profile_gain(
        pool.belief_ik[rows], mean_kl if r < 0 else pool.counts_rkl[r]
    )


def _crowdlab(pool: LabelPool, seed: int) -> Gain:
    found = crowdlab(pool.annotations, pool.classifier_ik)
    return _weighted(pool, 1.0 - found.quality, found.annotator_weight)


def _active_lab(pool: LabelPool, seed: int) -> Gain:
    score_i = active_lab(pool.annotations, pool.classifier_ik)
    right_r = np.einsum("rkk->r", pool.confusion_rkl) / pool.belief_ik.shape[1]
    return lambda rows, r: (1.0 - score_i[rows]) * (right_r.mean() if r < 0 else right_r[r])


def _weighted(pool: LabelPool, score_i: Floats, weight_a: Floats) -> Gain:
    mean = float(weight_a.mean())
    weight_r = np.where(pool.person_r >= 0, weight_a[pool.person_r], mean)
    return lambda rows, r: score_i[rows] * (mean if r < 0 else weight_r[r])


def _random(pool: LabelPool, seed: int) -> Gain:
    rng = generator(seed, "next labels")
    return lambda rows, r: rng.random(len(rows))


NEXT_METHODS: Registry[NextMethod] = Registry(
    "method of next labels",
    {
        "information": NextMethod(
            _information, "bits that a label is expected to tell about the class of its item"
        ),
        "accuracy": NextMethod(
            _accuracy, "expected rise of the probability that the consensus of the item is right"
        ),
        "probing": NextMethod(
            _probing, "bits that a label is expected to tell about its annotator", fewest_first=True
        ),
        "active-lab": NextMethod(
            _active_lab, "1 - ActiveLab's score, times how often the annotator is right", True
        ),
        "crowdlab": NextMethod(
            _crowdlab, "1 - CROWDLAB's quality of the consensus, times the annotator's weight", True
        ),
        "random": NextMethod(_random, "a random number"),
    },
)


class AskedTable(HtmlTable):
    """Labels to ask for as a table, best first; the attributes that are `shown` are its columns."""

    shown: ClassVar[tuple[str, ...]]
    backend: str

    @property
    def columns(self) -> dict[str, AnyArray]:
        """The columns of the table."""
        return {name: getattr(self, name) for name in self.shown}

    def __len__(self) -> int:
        return len(self.columns["annotator"])

    def to_frame(self) -> Any:
        """One row per label to ask for, best first."""
        return make_frame(self.columns, self.backend)

    def _preview(self, n_rows: int) -> dict[str, AnyArray]:
        return self.columns


@dataclass(frozen=True, eq=False)
class NextLabels(AskedTable):
    """Labels to ask for, best first: the result of `next_labels`.

    `expected_accuracy` is the mean probability of the consensus now, and `expected_after` that
    after these labels, both by the model: mistakes that annotators share make it too high.
    """

    item: AnyArray
    annotator: AnyArray
    gain: Floats
    cost: Floats
    accuracy_gain: Floats
    label: AnyArray
    confidence: Floats
    n_annotations: AnyArray
    method: str
    expected_accuracy: float
    expected_after: float
    backend: str = "pandas"

    shown = (
        "item", "annotator", "gain", "cost", "accuracy_gain", "label", "confidence",
        "n_annotations",
    )  # fmt: skip

    def __repr__(self) -> str:
        return f"NextLabels({len(self)} labels by {self.method})"


def next_labels(
    annotations: Labels,
    probabilities: Any = None,
    *,
    consensus: Consensus | None = None,
    method: str = "information",
    budget: float = BUDGET,
    costs: Mapping[Any, float] | None = None,
    per_annotator: int | None = None,
    seed: int = 0,
) -> NextLabels:
    """The labels to ask for next, each with the annotator to ask, ranked by gain per cost.

    `probabilities` (i, k) of any classifier count beside the labels; the classifier should not have
    been trained on the labels of the item that it predicts. `consensus` gives the beliefs about
    items instead, such as that of `clf.infer` or `mh.consensus`. By default it is `aggregate`'s.

    `method` is one of `NEXT_METHODS`. "information" and "accuracy" ask about items and weigh every
    annotator by their confusion; "probing" asks annotators about whom little is known, on items
    whose class is certain; "crowdlab" and "active-lab" need `probabilities`.

    `costs` maps annotators to the cost of a label, 1 by default. Annotators that it leaves out are
    not asked; people who have not labelled yet count as average ones. `budget` is the most that all
    labels may cost. An item gets one label at most, because the next one is better chosen when that
    has arrived, and nobody is asked about an item that they have labelled. `per_annotator` is the
    largest number of labels by one annotator, by default a tenth of the batch: their mistakes would
    be in all of it.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 0, -1], [0, 1, -1, -1], [1, 1, 1, 1], [0, 0, 0, 0]])
    >>> asked = next_labels(ann, budget=1)
    >>> asked.item.tolist()
    [1]
    """
    chosen = NEXT_METHODS[method]
    require(np.isfinite(budget) and budget > 0, "budget", "above 0", budget)
    require(per_annotator is None or per_annotator >= 1, "per_annotator", ">= 1", per_annotator)
    if chosen.needs_classifier and probabilities is None:
        raise SettingError(f"{method} needs the probabilities of a classifier; give features")
    pool = make_pool(
        annotations, probabilities, consensus=consensus, costs=costs,
        fewest_first=chosen.fewest_first,
    )  # fmt: skip
    chooser, gain = Chooser(pool, budget, per_annotator), chosen.gain(pool, seed)
    rows = chooser.shortlist(gain)
    batch = chooser.choose(pool, gain, rows, pool.may_label(rows))
    return _told(pool, batch, method)


class Batch(NamedTuple):
    """Labels to ask for, best first: codes of items, places of annotators in the pool, gains."""

    item: AnyArray
    asked: AnyArray
    gain: Floats


@dataclass(frozen=True, eq=False)
class Chooser:
    """Chooses batches of labels from a pool within a budget."""

    pool: Pool
    budget: float
    per_annotator: int | None = None

    @cached_property
    def cap(self) -> int:
        """The largest number of labels by one annotator."""
        if self.per_annotator is not None:
            return self.per_annotator
        cost_r = self.pool.cost_r
        n_labels = self.budget / float(cost_r.min())
        return max(1, math.ceil(n_labels / min(len(cost_r), _PEOPLE)))

    def shortlist(self, gain: Gain) -> AnyArray:
        """The items that are weighed with every annotator: all, or those with the largest gain."""
        n_items = self.pool.annotations.n_items
        n_labels = math.ceil(self.budget / float(self.pool.cost_r.min()))
        n_weighed = max(_ITEMS_PER_LABEL * n_labels, _MAX_PAIRS // len(self.pool.asked))
        rows = np.arange(n_items)
        if n_items <= n_weighed:
            return rows
        return np.sort(np.argsort(-gain(rows, -1), kind="stable")[:n_weighed])

    def choose(self, pool: Pool, gain: Gain, rows: AnyArray, free: Bools) -> Batch:
        """The best labels, greedily by gain per cost, one per item at most.

        `rows` are the items to choose from and `free` (rows, r) who may label them.
        """
        n_asked = len(pool.asked)
        gain_pr = np.stack([gain(rows, r) for r in range(n_asked)], axis=1)
        worth = np.where(free, gain_pr / pool.cost_r, -np.inf).ravel()
        order = np.argsort(-worth, kind="stable")
        taken = self._take(order[: int(free.sum())], len(rows), n_asked)
        place, asked = np.divmod(np.array(taken, dtype=np.int64), n_asked)
        return Batch(rows[place], asked, gain_pr[place, asked])

    def _take(self, order: AnyArray, n_rows: int, n_asked: int) -> list[int]:
        """Cells (row, r) in this order that are within the budget, one per row."""
        cost, left = self.pool.cost_r.tolist(), self.budget + _ROUNDING
        cheapest, n_most = min(cost), min(n_rows, self.cap * n_asked)
        used, n_r, taken = set[int](), [0] * n_asked, list[int]()
        for cell in map(int, order):
            if left < cheapest or len(taken) == n_most:
                break
            place, r = divmod(cell, n_asked)
            if place in used or n_r[r] >= self.cap or cost[r] > left:
                continue
            used.add(place)
            n_r[r] += 1
            left -= cost[r]
            taken.append(cell)
        return taken


def _told(pool: Pool, batch: Batch, method: str) -> NextLabels:
    ann = pool.annotations
    label, confidence = pool.believed(batch.item)
    rise = np.mean([_rises(part, batch) for part in pool.parts], axis=0)
    now = pool.expected_accuracy
    return NextLabels(
        item=ann.items[batch.item],
        annotator=pool.asked[batch.asked],
        gain=batch.gain,
        cost=pool.cost_r[batch.asked],
        accuracy_gain=rise,
        label=label,
        confidence=confidence,
        n_annotations=ann.labels_per_item[batch.item],
        method=method,
        expected_accuracy=now,
        expected_after=now + float(rise.sum()) / ann.n_items,
        backend=ann.backend,
    )


def _rises(part: LabelPool, batch: Batch) -> Floats:
    """How much more probable the consensus of every item is expected to be."""
    belief_nk = part.belief_ik[batch.item]
    return np.array(
        [
            float(accuracy_gain(belief_nk[n : n + 1], part.confusion_rkl[r])[0])
            for n, r in enumerate(batch.asked.tolist())
        ]
    )
