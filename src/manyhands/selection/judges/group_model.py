"""A model of judges in groups: on an item, a judge follows the group or labels independently.

::

    p(labels of a group | class k) = sum_z G[k, z] prod_a (s [y_a = z] + (1 - s) C[a, k, y_a])

C are confusions of judges, G is the mean of those of the group, z is what the group says, and s is
the probability of following it. With s = 0 or a single judge this is Dawid-Skene; with s = 1 the
group counts as one judge.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Bools, Codes, Floats

_MAX_CELLS = 2**21  # items x classes x labels at once
MOST_SHARING = 0.99
_FEWEST = 20  # items that the penalty of sharing is computed for at least


@dataclass(frozen=True)
class Grouping:
    """The group of every judge, and the probability that a judge of the group follows it."""

    group_a: Codes
    sharing_m: Floats

    @property
    def members(self) -> list[AnyArray]:
        """The judges of every group."""
        return [np.flatnonzero(self.group_a == m) for m in range(len(self.sharing_m))]

    @property
    def is_independent(self) -> bool:
        """Whether no judge shares errors with another."""
        return not np.any(self.sharing_m > 0)


def alone(n_judges: int) -> Grouping:
    """Every judge in a group of one."""
    return Grouping(np.arange(n_judges, dtype=np.int32), np.zeros(n_judges))


@dataclass(frozen=True)
class LabelColumns:
    """Labels as parallel arrays: the item (or another place), the judge and the label."""

    item: AnyArray
    judge: AnyArray
    label: AnyArray
    n_items: int

    def of(self, chosen: Bools) -> "LabelColumns":
        """Some of them; the items stay the same."""
        return LabelColumns(self.item[chosen], self.judge[chosen], self.label[chosen], self.n_items)


def label_columns(ann: Annotations) -> LabelColumns:
    """The labels of annotations."""
    return LabelColumns(ann.item, ann.annotator, ann.label, ann.n_items)


def class_log_likelihood(
    said: LabelColumns, grouping: Grouping, log_prior_k: Floats, confusion_akl: Floats
) -> Floats:
    """The joint log-probability of class k and the labels of item i, shape (i, k).

    Labels are sorted by item.
    """
    shared_mkl = group_confusions(grouping, confusion_akl)
    n_classes = confusion_akl.shape[1]
    log_ik = np.empty((said.n_items, n_classes))
    for items, chosen in _blocks(said, n_classes):
        part = LabelColumns(said.item[chosen] - items.start, said.judge[chosen], said.label[chosen],
                       items.stop - items.start)  # fmt: skip
        own_nk = confusion_akl[part.judge, :, part.label]
        log_ik[items] = labels_log_likelihood(part, grouping, own_nk, shared_mkl[:, None])
    return np.asarray(log_ik + log_prior_k)


def labels_log_likelihood(
    said: LabelColumns, grouping: Grouping, own_nk: Floats, shared_mikl: Floats
) -> Floats:
    """The log-probability of the labels of item i given k, from that of every single label.

    `shared_mikl` are confusions of the groups; its axis of items may have length 1.
    """
    n_classes, n_labels = own_nk.shape[1], shared_mikl.shape[3]
    log_ik = np.zeros((said.n_items, n_classes))
    group_n, every = grouping.group_a[said.judge], np.arange(n_classes)
    share_n = grouping.sharing_m[group_n]
    log_apart_nk = np.log((1.0 - share_n[:, None]) * own_nk)
    for k in range(n_classes):
        log_ik[:, k] = np.bincount(said.item, log_apart_nk[:, k], said.n_items)
    for m in np.flatnonzero(grouping.sharing_m > 0):
        chosen = group_n == m
        item, label = said.item[chosen], said.label[chosen]
        bonus_nk = np.log1p(grouping.sharing_m[m] / np.exp(log_apart_nk[chosen]))
        bonus_ikl = np.zeros((said.n_items, n_classes, n_labels))
        np.add.at(bonus_ikl, (item[:, None], every, label[:, None]), bonus_nk)
        log_ik += special.logsumexp(bonus_ikl + np.log(shared_mikl[m]), axis=2)
    return log_ik


def group_confusions(grouping: Grouping, confusion_akl: Floats) -> Floats:
    """The mean confusion (m, k, l) of the judges of every group."""
    total_mkl = np.zeros((len(grouping.sharing_m), *confusion_akl.shape[1:]))
    np.add.at(total_mkl, grouping.group_a, confusion_akl)
    count_m = np.bincount(grouping.group_a, minlength=len(total_mkl))
    return np.asarray(total_mkl / count_m[:, None, None])


def _blocks(said: LabelColumns, n_classes: int) -> Iterator[tuple[slice, slice]]:
    """Ranges of items, and of their labels."""
    step = max(1, _MAX_CELLS // n_classes**2)
    for begin in range(0, said.n_items, step):
        end = min(begin + step, said.n_items)
        first, last = np.searchsorted(said.item, [begin, end])
        yield slice(begin, end), slice(int(first), int(last))


def find_groups(
    said: LabelColumns, truth_i: Codes, confusion_akl: Floats, correlation_ab: Floats
) -> Grouping:
    """The groups under which the labels of gold items are most probable.

    Judges are merged by their correlation, the most correlated first (average linkage). Of these
    partitions the one is taken with the highest log-likelihood of the labels given the truth, minus
    log(number of items, 20 or more) for every group that shares errors. The probability of sharing
    is that of the highest likelihood.
    """
    n_items, known = said.n_items, dict[tuple[int, ...], tuple[float, float]]()
    own_n = confusion_akl[said.judge, truth_i[said.item], said.label]

    def fitted(group: tuple[int, ...]) -> tuple[float, float]:
        if group not in known:
            known[group] = _fit_sharing(said, truth_i, own_n, confusion_akl, group)
        return known[group]

    best: list[tuple[int, ...]] = []
    highest = -np.inf
    for partition in _partitions(np.nan_to_num(correlation_ab, nan=0.0)):
        value = sum(fitted(group)[1] for group in partition)
        value -= np.log(max(n_items, _FEWEST)) * sum(fitted(group)[0] > 0 for group in partition)
        if value > highest + 1e-9:
            best, highest = partition, value
    return _grouping(best, [fitted(group)[0] for group in best], len(confusion_akl))


def _grouping(groups: Sequence[tuple[int, ...]], sharing: list[float], n_judges: int) -> Grouping:
    """Groups in the order of their first judges; groups that share nothing are divided."""
    split = [
        (members, share)
        for group, share in zip(groups, sharing, strict=True)
        for members in ([group] if share > 0 else [(a,) for a in group])
    ]
    split.sort(key=lambda each: min(each[0]))
    group_a = np.empty(n_judges, dtype=np.int32)
    for m, (members, _) in enumerate(split):
        group_a[list(members)] = m
    return Grouping(group_a, np.array([share for _, share in split]))


def _fit_sharing(
    said: LabelColumns, truth_i: Codes, own_n: Floats, confusion_akl: Floats, group: tuple[int, ...]
) -> tuple[float, float]:
    """The sharing with the highest likelihood of the labels of a group, and that likelihood."""
    chosen = np.isin(said.judge, group)
    part = said.of(chosen)
    alone_log = float(np.log(own_n[chosen]).sum())
    if len(group) == 1:
        return 0.0, alone_log
    one_group = np.zeros(len(confusion_akl), dtype=np.int32)
    shared_il = confusion_akl[list(group)].mean(axis=0)[truth_i]

    def value(sharing: float) -> float:
        grouping = Grouping(one_group, np.array([sharing]))
        log_i1 = labels_log_likelihood(
            part, grouping, own_n[chosen][:, None], shared_il[None, :, None, :]
        )
        return float(log_i1.sum())

    tried = np.linspace(0.0, MOST_SHARING, 34)[1:]
    found = max(((value(float(each)), float(each)) for each in tried), key=lambda pair: pair[0])
    return (found[1], found[0]) if found[0] > alone_log else (0.0, alone_log)


def _partitions(correlation_ab: Floats) -> Iterator[list[tuple[int, ...]]]:
    """All judges alone, then merged by the highest mean correlation, until all are one group."""
    groups: list[tuple[int, ...]] = [(a,) for a in range(len(correlation_ab))]
    yield groups
    while len(groups) > 1:
        pairs = [
            (float(correlation_ab[np.ix_(one, other)].mean()), i, i + 1 + j)
            for i, one in enumerate(groups)
            for j, other in enumerate(groups[i + 1 :])
        ]
        _, i, j = max(pairs, key=lambda pair: pair[0])
        merged = tuple(sorted(groups[i] + groups[j]))
        groups = [*(group for m, group in enumerate(groups) if m not in (i, j)), merged]
        yield groups
