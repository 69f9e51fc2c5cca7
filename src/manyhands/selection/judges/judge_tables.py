"""Tables about judges against gold: accuracy and kappa, bias by class, confusions, pairs."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import special

from manyhands.agreement import cohen
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats, object_array
from manyhands.evaluation import confusion_counts
from manyhands.evaluation.scores import LEVEL, accuracy_interval
from manyhands.selection.judges.dependence import Dependence, gold_labels
from manyhands.selection.judges.judge_labels import Gold, JudgeLabels

_Z = float(special.ndtri((1 + LEVEL) / 2))
Columns = dict[str, AnyArray]


def judge_columns(judges: JudgeLabels) -> Columns:
    """What is known of every judge without gold."""
    ann = judges.annotations
    return {
        "judge": ann.annotators,
        "n_labels": judges.n_samples_a,
        "n_items": np.asarray(ann.labels_per_annotator),
        "abstained": judges.n_abstained_a,
        "consistency": judges.consistency_a,
    }


def gold_columns(ann: Annotations, gold: Gold) -> Columns:
    """The accuracy and the kappa of every judge on gold items, with 95 % intervals."""
    label_ga = gold_labels(ann, gold)
    said_ga = label_ga >= 0
    right_a = ((label_ga == gold.truth_g[:, None]) & said_ga).sum(axis=0)
    n_a = said_ga.sum(axis=0)
    accuracy = [_share(right, n) for right, n in zip(right_a.tolist(), n_a.tolist(), strict=True)]
    kappa = [_kappa(label_ga[:, a], gold) for a in range(ann.n_annotators)]
    return {"n_gold": n_a} | _triples("accuracy", accuracy) | _triples("kappa", kappa)


def bias_columns(ann: Annotations, gold: Gold) -> Columns:
    """How often every judge says every class, and how often it is true of the same items.

    The interval is that of the paired difference. `use` is "over" or "under" if 0 is outside.
    """
    label_ga = gold_labels(ann, gold)
    rows = []
    for a, name in enumerate(ann.annotators):
        on = label_ga[:, a] >= 0
        for k, class_name in enumerate(ann.classes):
            said, true = label_ga[on, a] == k, gold.truth_g[on] == k
            rows.append((name, class_name, *_difference(said, true)))
    names = ("judge", "class", "said", "true", "difference", "low", "high", "use")
    return table_of(names, rows)


def _difference(said: AnyArray, true: AnyArray) -> tuple[float, float, float, float, float, str]:
    n = len(said)
    if n < 2:
        return (*([float("nan")] * 5), "")  # type: ignore[return-value]
    off = said.astype(np.float64) - true
    mean, half = float(off.mean()), _Z * float(off.std(ddof=1)) / n**0.5
    use = "over" if mean - half > 0 else "under" if mean + half < 0 else ""
    return float(said.mean()), float(true.mean()), mean, mean - half, mean + half, use


def confusion_columns(ann: Annotations, gold: Gold) -> Columns:
    """The confusion of every judge on gold items: a row per true class and label."""
    label_ga = gold_labels(ann, gold)
    place, judge = np.nonzero(label_ga >= 0)
    counts_akl = confusion_counts(
        judge.astype(np.int32), gold.truth_g[place], label_ga[place, judge], ann.n_annotators,
        ann.n_classes,
    ).astype(np.int64)  # fmt: skip
    rows = []
    for (a, k, label), count in np.ndenumerate(counts_akl):
        total = int(counts_akl[a, k].sum())
        if total:
            names = ann.annotators[a], ann.classes[k], ann.classes[label]
            rows.append((*names, int(count), *_share(int(count), total)))
    return table_of(("judge", "truth", "label", "n", "share", "low", "high"), rows)


def pair_columns(ann: Annotations, gold: Gold, dependence: Dependence) -> Columns:
    """Every pair of judges: their correlation, and how often both are wrong.

    `expected_both_wrong` is how often they would be if they erred independently given the truth.
    """
    label_ga = gold_labels(ann, gold)
    rows = []
    for a in range(ann.n_annotators):
        for b in range(a + 1, ann.n_annotators):
            both = (label_ga[:, a] >= 0) & (label_ga[:, b] >= 0)
            truth = gold.truth_g[both]
            wrong_a, wrong_b = (label_ga[both, each] != truth for each in (a, b))
            shares = _both_wrong(wrong_a, wrong_b, truth)
            of_pair = [float(each[a, b]) for each in (
                dependence.correlation, dependence.low, dependence.high)]  # fmt: skip
            pair = ann.annotators[a], ann.annotators[b]
            rows.append((*pair, int(both.sum()), *of_pair, *shares))
    names = (
        "judge", "other", "n_gold", "correlation", "low", "high", "both_wrong",
        "expected_both_wrong",
    )  # fmt: skip
    return table_of(names, rows)


def _both_wrong(one: AnyArray, other: AnyArray, truth: AnyArray) -> tuple[float, float]:
    if len(truth) == 0:
        return float("nan"), float("nan")
    n_k = np.bincount(truth)
    rates = [np.bincount(truth, each) / np.maximum(n_k, 1) for each in (one, other)]
    return float((one & other).mean()), float((n_k * rates[0] * rates[1]).sum() / len(truth))


def _share(n_right: int, n: int) -> tuple[float, float, float]:
    if n == 0:
        return float("nan"), float("nan"), float("nan")
    return n_right / n, *accuracy_interval(n_right, n)


def _kappa(label_g: AnyArray, gold: Gold) -> tuple[float, float, float]:
    """Cohen's kappa of a judge and the truth."""
    on = label_g >= 0
    if on.sum() < 2:
        return float("nan"), float("nan"), float("nan")
    found = cohen(np.stack([label_g[on], gold.truth_g[on]], axis=1))
    return found.value, found.low, found.high


def _triples(name: str, values: list[tuple[float, float, float]]) -> Columns:
    table = np.array(values, dtype=np.float64).reshape(-1, 3)
    return {name: table[:, 0], f"{name}_low": table[:, 1], f"{name}_high": table[:, 2]}


def table_of(names: Iterable[str], rows: list[tuple[Any, ...]]) -> Columns:
    """Columns from rows."""
    names = list(names)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return {name: _array(column) for name, column in zip(names, columns, strict=True)}


def _array(values: Any) -> AnyArray:
    if values and isinstance(values[0], float | int) and not isinstance(values[0], bool):
        return np.array(values)
    return object_array(list(values))


def strict_majority(judges: JudgeLabels) -> tuple[AnyArray, Floats]:
    """The label that more than half of an item's judges gave, -1 if none; and its share."""
    counts_ik = judges.annotations.label_counts()
    n_i = counts_ik.sum(axis=1)
    share_i = np.divide(counts_ik.max(axis=1), n_i, out=np.zeros(len(n_i)), where=n_i > 0)
    label_i = np.where(share_i > 0.5, counts_ik.argmax(axis=1), -1)
    return label_i, share_i


def cost_of(ann: Annotations, costs: Mapping[Any, float] | None) -> Floats:
    """The cost of a label of every judge, 1 without costs."""
    cost_a = np.ones(ann.n_annotators)
    for name, cost in (costs or {}).items():
        cost_a[ann.annotator_vocabulary.code(name)] = cost
    return cost_a
