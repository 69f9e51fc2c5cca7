"""The labels of a panel: one per judge and item, after samples and abstentions are settled."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from manyhands.annotations import Annotations, Labels, Vocabulary, as_annotations
from manyhands.annotations.vocabulary import join_names
from manyhands.core.arrays import Bools, Codes, Floats, read_only
from manyhands.core.errors import DataError
from manyhands.core.settings import require, require_choice

MAX_JUDGES = 50  # all pairs are compared
Abstentions = Literal["missing", "label"]


@dataclass(frozen=True, eq=False)
class JudgeLabels:
    """At most one label per judge and item; `no_verdict_k` are classes that no item has.

    `n_samples_a` counts the labels of a judge before samples of one item became one label.
    `consistency_a` is the mean share of an item's samples that say this label, NaN without repeats.
    `n_abstained_a` counts abstentions, and `n_tied` pairs whose samples had no most frequent label.
    `abstentions` are the names of the labels without a verdict.
    """

    annotations: Annotations
    no_verdict_k: Bools
    n_samples_a: Codes
    consistency_a: Floats
    n_abstained_a: Codes
    n_tied: int
    abstentions: tuple[Any, ...] = ()


def make_judge_labels(
    labels: Labels,
    *,
    samples: str | Mapping[Any, Any] | None = None,
    abstain: Any = None,
    abstentions: Abstentions = "missing",
) -> JudgeLabels:
    """The labels of judges; see `judge_panel` for the settings.

    >>> dense = Annotations.from_arrays([1, 1, 1], ["m#1", "m#2", "m#3"], ["a", "a", "b"])
    >>> made = make_judge_labels(dense, samples="#")
    >>> made.annotations.annotators.tolist(), made.annotations.label_names().tolist()
    (['m'], ['a'])
    """
    require_choice("abstentions", abstentions, ("missing", "label"))
    ann = as_annotations(labels)
    if ann.kind != "classes":
        what = {"multilabel": "sets of classes"}.get(ann.kind, ann.kind)
        raise DataError(f"panels of judges are for classes; these labels are {what}")
    if ann.n_annotations == 0:
        raise DataError("there is not a single label; nothing can be said about the judges")
    ann = _with_judges(ann, samples)
    require(
        ann.n_annotators <= MAX_JUDGES, "labels", f"by {MAX_JUDGES} judges at most",
        ann.n_annotators, "keep the labels of the judges to compare",
    )  # fmt: skip
    no_verdict_k = _no_verdict(ann, abstain)
    is_none_n = no_verdict_k[ann.label]
    names = tuple(ann.classes[no_verdict_k].tolist())
    n_abstained_a = np.bincount(ann.annotator[is_none_n], minlength=ann.n_annotators)
    if abstentions == "missing" and no_verdict_k.any():
        ann, no_verdict_k = _without_classes(ann, no_verdict_k), np.zeros(0, dtype=bool)
        if ann.n_annotations == 0:
            raise DataError("all labels are abstentions; nothing can be said about the judges")
        no_verdict_k = np.zeros(ann.n_classes, dtype=bool)
    n_samples_a = np.asarray(ann.labels_per_annotator, dtype=np.int32)
    merged, share_n, repeated_n, n_tied = _one_each(ann)
    total_a = np.bincount(merged.annotator[repeated_n], share_n[repeated_n], ann.n_annotators)
    with np.errstate(invalid="ignore"):
        count_a = np.bincount(merged.annotator[repeated_n], minlength=ann.n_annotators)
        consistency_a = total_a / count_a
    return JudgeLabels(
        merged, no_verdict_k, n_samples_a, consistency_a, n_abstained_a.astype(np.int32), n_tied,
        names,
    )  # fmt: skip


def _with_judges(ann: Annotations, samples: str | Mapping[Any, Any] | None) -> Annotations:
    """The same labels with the judge of every annotator, in order of their names."""
    if samples is None:
        return ann
    names = ann.annotators.tolist()
    if isinstance(samples, str):
        require(samples != "", "samples", "a separator such as '#', or {annotator: judge}", samples)
        judge_of = [str(name).rpartition(samples)[0] or str(name) for name in names]
    else:
        codes = ann.annotator_vocabulary.codes(samples)
        if np.any(codes < 0):
            unknown = list(samples)[int(np.flatnonzero(codes < 0)[0])]
            raise DataError(f"samples name {unknown!r}, who has no label; leave it out")
        judge_of = list(names)
        for code, judge in zip(codes.tolist(), samples.values(), strict=True):
            judge_of[code] = judge
    judges = Vocabulary.of(_sorted(judge_of), "annotator")
    code_a = judges.codes(judge_of)
    order = np.lexsort((code_a[ann.annotator], ann.item))
    ann = ann.only(order)
    return replace(
        ann, annotator=read_only(code_a[ann.annotator]), annotator_vocabulary=judges, times=None
    )


def _sorted(names: Iterable[Any]) -> list[Any]:
    unique = list(dict.fromkeys(names))
    return sorted(unique, key=str)


def _no_verdict(ann: Annotations, abstain: Any) -> Bools:
    """Which classes mean that the judge gave no verdict."""
    mask_k = np.zeros(ann.n_classes, dtype=bool)
    assert ann.class_vocabulary is not None, "labels are classes"
    if abstain is not None:
        names = abstain if isinstance(abstain, list | tuple | set) else [abstain]
        mask_k[[ann.class_vocabulary.code(name) for name in names]] = True
    return mask_k


def _without_classes(ann: Annotations, dropped_k: Bools) -> Annotations:
    assert ann.class_vocabulary is not None, "labels are classes"
    kept = ann.only(np.flatnonzero(~dropped_k[ann.label]))
    code_k = np.cumsum(~dropped_k, dtype=np.int32) - 1
    names = replace(ann.class_vocabulary, names=read_only(ann.classes[~dropped_k]))
    return replace(kept, label=read_only(code_k[kept.label]), class_vocabulary=names)


def _one_each(ann: Annotations) -> tuple[Annotations, Floats, Bools, int]:
    """The most frequent label of every pair, its share, whether there were several; ties dropped.

    Labels are sorted by item and annotator, so that pairs are runs.
    """
    pair_n = ann.item.astype(np.int64) * ann.n_annotators + ann.annotator
    triples, count_t = np.unique(pair_n * ann.n_classes + ann.label, return_counts=True)
    pair_t, label_t = np.divmod(triples, ann.n_classes)
    pairs, place_t = np.unique(pair_t, return_inverse=True)
    most_p = np.zeros(len(pairs), dtype=np.int64)
    np.maximum.at(most_p, place_t, count_t)
    total_p = np.bincount(place_t, count_t)
    is_most_t = count_t == most_p[place_t]
    n_most_p = np.bincount(place_t, is_most_t)
    kept_t = is_most_t & (n_most_p[place_t] == 1)
    item, judge = np.divmod(pair_t[kept_t], ann.n_annotators)
    merged = replace(
        ann,
        item=read_only(item.astype(np.int32)),
        annotator=read_only(judge.astype(np.int32)),
        label=read_only(label_t[kept_t].astype(np.int32)),
        times=None,
    )
    share = count_t[kept_t] / total_p[place_t[kept_t]]
    return merged, share, total_p[place_t[kept_t]] > 1, int((n_most_p > 1).sum())


@dataclass(frozen=True, eq=False)
class Gold:
    """Items of known truth: their rows, in order, and the codes of their classes."""

    row_g: Codes
    truth_g: Codes

    def __len__(self) -> int:
        return len(self.row_g)

    def every(self, stride: int) -> "Gold":
        """Every first, second or third ... item."""
        return Gold(self.row_g[::stride], self.truth_g[::stride])


def match_gold(judges: JudgeLabels, gold: Mapping[Any, Any]) -> tuple[JudgeLabels, Gold]:
    """The gold of items that have labels; classes that no judge used are added to the labels."""
    ann = judges.annotations
    assert ann.class_vocabulary is not None, "labels are classes"
    code_of = ann.item_vocabulary.codes(gold)
    known = [(code, truth) for code, truth in zip(code_of.tolist(), gold.values(), strict=True)
             if code >= 0 and ann.labels_per_item[code] > 0]  # fmt: skip
    if not known:
        raise DataError("no item of the gold has labels; check that the item names match")
    known.sort(key=lambda each: each[0])
    truths = [truth for _, truth in known]
    abstained = Vocabulary.of(_sorted(judges.abstentions), "class").codes(truths)
    if np.any(abstained >= 0):
        name = truths[int(np.argmax(abstained >= 0))]
        raise DataError(f"the gold says {name!s}, which is an abstention; correct the gold")
    if np.all(ann.class_vocabulary.codes(truths) < 0):
        raise DataError(
            f"the gold has the classes {join_names(dict.fromkeys(truths))}, which no judge used; "
            f"judges used {join_names(ann.classes.tolist())}"
        )
    classes = ann.class_vocabulary.extended(Vocabulary.of(_sorted(truths), "class"))
    truth_g = classes.codes(truths)
    n_new = len(classes) - ann.n_classes
    no_verdict_k = np.append(judges.no_verdict_k, np.zeros(n_new, dtype=bool))
    found = replace(
        judges,
        annotations=replace(ann, class_vocabulary=classes),
        no_verdict_k=no_verdict_k,
    )
    return found, Gold(np.array([code for code, _ in known], dtype=np.int32), truth_g)
