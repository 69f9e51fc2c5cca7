"""A panel of judges who label every item, in groups that share their errors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import Codes, Floats
from manyhands.core.settings import generator
from manyhands.simulation import crowds
from manyhands.simulation.behaviours import honest
from manyhands.simulation.independent import accuracies
from manyhands.simulation.settings import AT_LEAST_ONE, SHARE, CrowdSettings


@dataclass(frozen=True, kw_only=True)
class JudgePanelSettings(CrowdSettings):
    """Judges in groups of `group_size`; the last group may be smaller.

    On every item a judge follows the group with probability `sharing`, and otherwise errs
    independently. Those who follow are wrong together: a group has one draw u and one wrong class
    per item, and a judge who follows is wrong if u is below their error rate. So the accuracy of a
    judge does not depend on `sharing`. Groups of one judge, or a `sharing` of 0, are independent.
    """

    n_annotators: int = 6
    n_classes: int = 2
    labels_per_item: int = 6
    lowest: float = 0.8
    highest: float = 0.9
    group_size: int = 3
    sharing: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(AT_LEAST_ONE, "group_size")
        self.require(SHARE, "sharing")


@dataclass(frozen=True, kw_only=True)
class SimulatedPanel(crowds.SimulatedCrowd):
    """A panel with the group of every judge, and the probability of following it."""

    group_a: Codes
    sharing: float

    @cached_property
    def correlation(self) -> Floats:
        """The correlation (a, b) of labels given the truth; see `label_correlation`."""
        accuracy_a = np.einsum("akk->ak", self.confusion).mean(axis=1)
        n_classes = self.confusion.shape[1]
        return label_correlation(accuracy_a, self.group_a, self.sharing, n_classes)

    @property
    def effective_judges(self) -> float:
        """How many independent judges vary as little on average: n^2 / sum_ab correlation_ab."""
        return float(len(self.group_a) ** 2 / self.correlation.sum())


def judge_panel(settings: JudgePanelSettings, items: Items | None = None) -> SimulatedPanel:
    """A panel whose groups share errors."""
    known = crowds.draw_items(items, settings)
    n_items, n_classes = len(known.truth), settings.n_classes
    group_a = np.arange(settings.n_annotators, dtype=np.int32) // settings.group_size
    accuracy_a = accuracies(settings)
    item, annotator = crowds.draw_pairs(settings, n_items)
    following = generator(settings.seed, "who follows").random(len(item)) < settings.sharing
    own = settings.n_annotators + annotator  # an own draw is that of a group of one
    place_n = np.where(following, group_a[annotator], own)
    # One draw per (item, group), whatever the number of judges who follow.
    pairs, pair_n = np.unique(
        item.astype(np.int64) * 2 * settings.n_annotators + place_n, return_inverse=True
    )
    rng = generator(settings.seed, "labels")
    wrong_n = rng.random(len(pairs))[pair_n] < 1.0 - accuracy_a[annotator]
    away_n = rng.integers(1, max(n_classes, 2), len(pairs))[pair_n]
    label = np.where(wrong_n, (known.truth[item] + away_n) % n_classes, known.truth[item])
    return SimulatedPanel(
        crowds.label_table(
            (item, annotator), label, n_items, settings.n_annotators, np.arange(n_classes)
        ),
        known.truth,
        honest(accuracy_a, n_classes),
        np.full(settings.n_annotators, "honest", dtype=object),
        known.features,
        known.test,
        {"group": group_a},
        {"source": np.where(following, "group", "own")},
        group_a=group_a,
        sharing=settings.sharing,
    )


def label_correlation(accuracy_a: Floats, group_a: Codes, sharing: float, n_classes: int) -> Floats:
    """The correlation (a, b) of labels of judges given the truth, as 0/1 vectors over classes.

    With error rates e of two judges of one group and K classes::

        c_ab = sharing^2 v(min(e_a, e_b), e_a e_b) / sqrt(v(e_a, e_a^2) v(e_b, e_b^2)),
        v(m, p) = 2 m - p K / (K - 1)

    It is 1 for copies (equal error rates, `sharing` 1), and 0 between groups.

    >>> label_correlation(np.array([0.8, 0.8, 0.8]), np.array([0, 0, 1]), 0.5, 2).tolist()
    [[1.0, 0.25, 0.0], [0.25, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    error_a = 1.0 - accuracy_a
    factor = n_classes / max(n_classes - 1, 1)
    both = np.minimum(error_a[:, None], error_a)
    common = 2.0 * both - np.outer(error_a, error_a) * factor
    variance_a = 2.0 * error_a - error_a**2 * factor
    scale = np.sqrt(np.outer(variance_a, variance_a))
    shared = np.divide(common, scale, out=np.zeros_like(common), where=scale > 0)
    same_group = group_a[:, None] == group_a
    correlation = np.where(same_group, sharing**2 * shared, 0.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation
