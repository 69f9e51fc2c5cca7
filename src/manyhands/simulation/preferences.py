"""Simulated preferences: which of two items annotators prefer, by scores that are known."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Comparisons, Items
from manyhands.annotations.vocabulary import Vocabulary
from manyhands.core.arrays import AnyArray, Floats, read_only
from manyhands.core.errors import SettingError
from manyhands.core.settings import generator, require
from manyhands.simulation.crowds import assign
from manyhands.simulation.settings import AT_LEAST_ONE, FINITE, CrowdSettings

_SPAM = 0.5  # how often a spammer follows the scores


@dataclass(frozen=True, kw_only=True)
class PreferenceSettings(CrowdSettings):
    """Pairs of items, each judged by `labels_per_item` annotators.

    An annotator follows the scores of the two items with a probability between `lowest` and
    `highest`, and goes against them otherwise; a `share` of the annotators are spammers, who follow
    them half of the time. `position` is the standard deviation of the annotators' preference for
    the left side, in log-odds, and `tie` the weight of a tie beside two equal items. True scores
    are a smooth function of normal features, with the standard deviation `separation`.
    """

    n_items: int = 100
    n_annotators: int = 20
    n_classes: int = 2
    labels_per_item: int = 3
    n_pairs: int = 800
    lowest: float = 0.8
    highest: float = 1.0
    share: float = 0.2
    position: float = 0.3
    tie: float = 0.2
    n_features: int = 8
    separation: float = 1.5
    n_test: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.n_classes == 2, "n_classes", "2: left and right", self.n_classes)
        require(self.n_items >= 2, "n_items", ">= 2", self.n_items)
        self.require(AT_LEAST_ONE, "n_pairs", "n_features")
        self.require(FINITE, "position", "tie", "separation", "n_test")


@dataclass(frozen=True, kw_only=True)
class SimulatedPreferences:
    """Comparisons with the true scores and features of the items, and what annotators do.

    `test_features` and `test_scores` are those of items that nobody compared.
    """

    comparisons: Comparisons
    scores: Floats
    features: Floats
    follows: Floats
    position: Floats
    behaviour: AnyArray
    test_features: Floats
    test_scores: Floats

    @property
    def annotations(self) -> Comparisons:
        """The comparisons, by the name that other crowds have for their labels."""
        return self.comparisons

    @property
    def truth_by_item(self) -> dict[object, object]:
        """The true scores as {item name: score}."""
        return dict(zip(self.comparisons.items.tolist(), self.scores.tolist(), strict=True))

    def tables(self) -> Mapping[str, Mapping[str, AnyArray]]:
        """The tables of the crowd by the names of their files."""
        names, n = self.comparisons.items, len(self.scores)
        test = np.arange(n, n + len(self.test_scores))
        return {
            "pairs.csv": self.comparisons.to_columns(),
            "truth.csv": {"item": names, "truth": self.scores},
            "annotators.csv": {
                "annotator": self.comparisons.annotators, "behaviour": self.behaviour,
                "follows": self.follows, "position": self.position,
            },
            "features.csv": _feature_table(names, self.features),
            "test_features.csv": _feature_table(test, self.test_features),
            "test_truth.csv": {"item": test, "truth": self.test_scores},
        }  # fmt: skip


def preferences(settings: PreferenceSettings, items: Items | None = None) -> SimulatedPreferences:
    """Items with scores, and comparisons of random pairs by annotators of their own kind."""
    if items is not None:
        raise SettingError("preferences draws its own items; leave items out")
    features, scores = _items(settings)
    n, n_a = settings.n_items, settings.n_annotators
    rng = generator(settings.seed, "annotators")
    follows = rng.uniform(settings.lowest, settings.highest, n_a)
    spam = np.arange(n_a) < round(settings.share * n_a)
    spam = rng.permutation(spam)
    follows[spam] = _SPAM
    position = settings.position * rng.standard_normal(n_a)
    rng = generator(settings.seed, "pairs")
    first = rng.integers(n, size=settings.n_pairs)
    second = (first + 1 + rng.integers(n - 1, size=settings.n_pairs)) % n
    pair, annotator = assign(settings.n_pairs, n_a, settings.labels_per_item, rng)
    turned = rng.random(len(pair)) < 0.5  # everyone sees the two in an order of their own
    left = np.where(turned, second[pair], first[pair])
    right = np.where(turned, first[pair], second[pair])
    rng = generator(settings.seed, "outcomes")
    sign = np.where(rng.random(len(pair)) < follows[annotator], 1.0, -1.0)
    x = sign * (scores[left] - scores[right]) + position[annotator]
    outcome = _draw(x, settings.tie, rng.random(len(pair)))
    order = np.lexsort((outcome, annotator, right, left))
    columns = (
        read_only(each[order].astype(np.int32)) for each in (left, right, annotator, outcome)
    )
    left, right, annotator, outcome = columns
    return SimulatedPreferences(
        comparisons=Comparisons(
            left, right, annotator, outcome, Vocabulary(np.arange(n), "item"),
            Vocabulary(np.arange(n_a), "annotator"),
        ),
        scores=scores[:n], features=features[:n], follows=follows, position=position,
        behaviour=np.where(spam, "spammer", "honest").astype(object),
        test_features=features[n:], test_scores=scores[n:],
    )  # fmt: skip


def _items(settings: PreferenceSettings) -> tuple[Floats, Floats]:
    """Features and scores of all items, the test items last."""
    rng = generator(settings.seed, "items")
    n_all, d = settings.n_items + settings.n_test, settings.n_features
    features = rng.standard_normal((n_all, d))
    along, across = rng.standard_normal((2, d)) / np.sqrt(d)
    raw = features @ along + 0.5 * np.sin(2.0 * features @ across)
    return features, settings.separation * (raw - raw.mean()) / max(float(raw.std()), 1e-9)


def _draw(x: Floats, tie: float, uniform: Floats) -> AnyArray:
    """Outcomes by the model of Davidson: 0 left, 1 right, 2 tie."""
    weight = np.stack([np.exp(x / 2.0), np.exp(-x / 2.0), np.full(len(x), tie)], axis=1)
    share = np.cumsum(weight, axis=1) / weight.sum(axis=1, keepdims=True)
    return np.asarray((uniform[:, None] > share[:, :2]).sum(axis=1))


def _feature_table(names: AnyArray, features: Floats) -> dict[str, AnyArray]:
    return {"item": names} | {f"x{j}": features[:, j] for j in range(features.shape[1])}
