"""Simulated crowds of very different kinds, one per seed.

docs/zoo.md says what is drawn from what.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats

KINDS = ("expert", "average", "random", "constant", "adversarial")
# Dirichlet weights of the shares of the kinds in a crowd: spam is frequent, adversaries are rare.
WEIGHTS = (1.2, 1.5, 0.6, 0.6, 0.25)


@dataclass(frozen=True)
class Crowd:
    """A crowd with its truth, and what it was drawn from."""

    annotations: Annotations
    truth: Codes
    kind_a: Codes  # of every annotator, in KINDS
    about: dict[str, Any]


def draw_crowd(seed: int) -> Crowd:
    """The crowd of a seed; the page says what is drawn from what."""
    rng = np.random.default_rng([seed, 77])
    n_classes, per_item = int(rng.integers(2, 11)), int(rng.integers(2, 9))
    per_annotator = float(np.exp(rng.uniform(np.log(4), np.log(100))))
    n_items = int(np.exp(rng.uniform(np.log(150), np.log(2000))))
    n_annotators = max(per_item + 1, round(n_items * per_item / per_annotator))
    share = rng.dirichlet(WEIGHTS)
    kind_a = rng.choice(len(KINDS), size=n_annotators, p=share)
    evenness = np.exp(rng.uniform(np.log(0.8), np.log(30)))
    prior = np.maximum(rng.dirichlet(np.full(n_classes, evenness)), 0.005)
    truth = rng.choice(n_classes, size=n_items, p=prior / prior.sum())
    confusion_akl = draw_confusions(kind_a, n_classes, rng)
    item, annotator = _who_labels_what(n_items, n_annotators, per_item, rng)
    hard_i = rng.random(n_items) < rng.choice([0.0, 0.1, 0.25])
    lure_i = (truth + rng.integers(1, n_classes, size=n_items)) % n_classes
    lured_n = hard_i[item] & (rng.random(len(item)) < rng.uniform(0.2, 0.6))
    seen_n = np.where(lured_n, lure_i[item], truth[item])
    above_nl = rng.random(len(item))[:, None] > confusion_akl[annotator, seen_n].cumsum(axis=1)
    label = above_nl[:, :-1].sum(axis=1)
    annotations = Annotations.from_arrays(
        item, annotator, label,
        items=range(n_items), annotators=range(n_annotators), classes=range(n_classes),
    )  # fmt: skip
    about = {
        "n_classes": n_classes,
        "n_items": n_items,
        "labels_per_item": per_item,
        "labels_per_annotator": round(len(item) / n_annotators, 1),
        "shares": [round(float(each), 2) for each in share],
        "hard": round(float(hard_i.mean()), 2),
        "silent": round(float((annotations.labels_per_annotator == 0).mean()), 2),
    }
    return Crowd(annotations, truth.astype(np.int32), kind_a.astype(np.int32), about)


def draw_confusions(kind_a: Any, n_classes: int, rng: np.random.Generator) -> Floats:
    """The confusion of every annotator, row = true class."""
    expert, average = rng.uniform(0.8, 0.95), rng.uniform(0.4, 0.75)
    concentration = np.exp(rng.uniform(np.log(0.3), np.log(10)))
    same_mistakes = rng.random() < 0.4

    def mistakes() -> Floats:
        return rng.dirichlet(np.full(max(n_classes - 1, 1), concentration), size=n_classes)

    shared, off = mistakes(), ~np.eye(n_classes, dtype=bool)
    confusion_akl = np.empty((len(kind_a), n_classes, n_classes))
    for confusion_kl, kind in zip(confusion_akl, (KINDS[k] for k in kind_a), strict=True):
        if kind in ("expert", "average"):
            mean, strength = (expert, 20) if kind == "expert" else (average, 12)
            accuracy = rng.beta(strength * mean, strength * (1 - mean))
            accuracy_k = max(accuracy, 1 / n_classes) + rng.normal(0, 0.05, n_classes)
            accuracy_k = np.clip(accuracy_k, 0.02, 0.99)
            error_kl = shared if same_mistakes else mistakes()
            confusion_kl[off] = ((1 - accuracy_k)[:, None] * error_kl).ravel()
            np.fill_diagonal(confusion_kl, accuracy_k)
        elif kind == "random":
            habit = rng.random() < 0.5
            confusion_kl[:] = rng.dirichlet(np.full(n_classes, 3.0)) if habit else 1 / n_classes
        elif kind == "constant":
            confusion_kl[:] = 0.02 / n_classes
            confusion_kl[:, rng.integers(n_classes)] += 0.98
        else:
            knows = rng.uniform(0.5, 0.9)
            confusion_kl[:] = knows / max(n_classes - 1, 1)
            np.fill_diagonal(confusion_kl, 1 - knows)
    return np.asarray(confusion_akl / confusion_akl.sum(axis=2, keepdims=True))


def _who_labels_what(
    n_items: int, n_annotators: int, per_item: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Pairs of items and annotators; some annotators are busier than others."""
    log_busy_a = np.log(rng.gamma(rng.choice([0.5, 2.0, 20.0]), size=n_annotators) + 1e-3)
    n_i = np.where(
        rng.random(n_items) < 0.7, per_item, np.maximum(rng.poisson(per_item, n_items), 1)
    )
    n_i = np.minimum(n_i, n_annotators)
    chosen = []
    for n in n_i:  # the n largest of noisy weights: a draw without replacement
        chosen.append(np.argsort(-(log_busy_a + rng.gumbel(size=n_annotators)))[:n])
    return np.repeat(np.arange(n_items), n_i), np.concatenate(chosen)
