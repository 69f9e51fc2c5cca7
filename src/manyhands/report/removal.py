"""What changes without annotators to remove, and with one of each pair that copies."""

import shlex
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manyhands.aggregation import Consensus, default_method
from manyhands.agreement import AgreementSummary, alpha
from manyhands.agreement.tables import class_columns
from manyhands.core.arrays import AnyArray, Bools
from manyhands.io.tool_imports import RELABEL_BELOW
from manyhands.report.items import unsure_items
from manyhands.report.profiles import Profiles
from manyhands.report.shown import number, shown

MAX_TYPED = 12  # names in a command; more are in a file
MAX_LISTED = 2000  # names of annotators to leave out
MAX_FEW = 20  # names of items that keep fewer than two labels
EXCLUDED = "exclude.txt"


@dataclass(frozen=True)
class Removal:
    """The labels that are left, their consensus, and whom that leaves out.

    `after` is None if nobody is left out, or if the consensus cannot be computed again. If it
    `relabels`, it tells which items to label again, and otherwise the consensus of all labels.
    """

    profiles: Profiles
    after: Consensus | None
    relabels: bool

    @classmethod
    def of(cls, profiles: Profiles, *, refit: bool = True, relabels: bool = True) -> "Removal":
        """Fit the method of the consensus, with its settings, to the labels that are left."""
        consensus, after = profiles.consensus, None
        rest = consensus.annotations.only(~profiles.left_out[consensus.annotations.annotator])
        if refit and profiles.left_out.any() and consensus.method is not None and len(rest.label):
            who = consensus.annotations.annotators[profiles.left_out]
            known = consensus.evidence.known_by_name()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # those of the whole consensus are told
                after = consensus.method.fit(
                    consensus.annotations.without_annotators(who.tolist()), known
                )
        return cls(profiles, after, relabels and after is not None)

    @property
    def judged(self) -> Consensus:
        """The consensus that tells what to label again."""
        return self.after if self.relabels and self.after is not None else self.profiles.consensus

    @property
    def rest(self) -> Consensus:
        """The consensus of the labels that are left; of all labels if nobody is left out."""
        return self.profiles.consensus if self.after is None else self.after

    @cached_property
    def changed(self) -> Bools:
        """Items whose consensus becomes another; of numbers none."""
        now, after = self.profiles.consensus, self.rest
        if now.probabilities is None:
            return np.zeros(now.annotations.n_items, dtype=bool)
        return np.asarray(now.labels != after.labels)

    @cached_property
    def doubled(self) -> dict[int, list[list[int]]]:
        """Annotators of a group that copies who gave an item the same label, by item."""
        return _doubled(self.profiles)

    @cached_property
    def decided_by_copies(self) -> Bools:
        """Items whose consensus is sure only because a label counts for two annotators or more."""
        now = self.profiles.consensus
        twice = np.zeros(now.annotations.n_items, dtype=bool)
        twice[list(self.doubled)] = True
        unsure = np.nan_to_num(self.rest.confidence) < RELABEL_BELOW
        was_sure = np.nan_to_num(now.confidence) >= RELABEL_BELOW
        return np.asarray(twice & was_sure & (unsure | self.changed))

    def classes(self, found: AgreementSummary) -> Mapping[str, AnyArray]:
        """Agreement by class among the labels that are left; that of `found` if all are."""
        if self.after is None or "confused_with" not in found.classes:
            return found.classes
        return class_columns(self.rest.annotations)


def _doubled(profiles: Profiles) -> dict[int, list[list[int]]]:
    ann = profiles.consensus.annotations
    group_a = np.full(ann.n_annotators, -1)
    for n, group in enumerate(profiles.copying):
        group_a[group] = n
    said: dict[tuple[int, int, float], list[int]] = {}
    for row in np.flatnonzero(group_a[ann.annotator] >= 0).tolist():
        who = int(ann.annotator[row])
        key = int(ann.item[row]), int(group_a[who]), float(ann.label[row])
        said.setdefault(key, []).append(who)
    found: dict[int, list[list[int]]] = {}
    for (item, _, _), people in said.items():
        different = list(dict.fromkeys(people))
        if len(different) > 1:
            found.setdefault(item, []).append(different)
    return found


def expected_accuracy(consensus: Consensus) -> float | None:
    """The mean confidence of the items that have labels; None for numbers, or without labels."""
    labelled = consensus.annotations.labels_per_item > 0
    if consensus.probabilities is None or not labelled.any():
        return None
    return float(np.mean(consensus.confidence[labelled]))


def removal_content(
    removal: Removal, found: AgreementSummary, commands: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Numbers before and after as plain values, and the commands; None if nobody is left out."""
    profiles, after = removal.profiles, removal.after
    ann, gone = profiles.consensus.annotations, profiles.left_out
    if not gone.any():
        return None
    n_left = int((~gone[ann.annotator]).sum())
    left_i = np.bincount(ann.item[~gone[ann.annotator]], minlength=ann.n_items)
    rows = [
        _row("Annotators", ann.n_annotators, int((~gone).sum())),
        _row("Labels", ann.n_annotations, n_left, share=n_left / max(ann.n_annotations, 1)),
        _row("Labels of an item, mean", ann.n_annotations / ann.n_items, n_left / ann.n_items),
        _row("Items with fewer than two labels", int((ann.labels_per_item < 2).sum()),
             int((left_i < 2).sum())),
    ]  # fmt: skip
    if after is not None:
        rows += _of_consensus(removal, after, found)
    return {
        "relabels": removal.relabels,
        "codes": np.flatnonzero(gone).tolist(),
        "n_removed": int(profiles.untrusted.sum()),
        "n_spare": int(profiles.spare.sum()),
        "share": number(1.0 - n_left / max(ann.n_annotations, 1)),
        "rows": rows,
        "few": _few_left(profiles, left_i),
        "copying": [[shown(ann.annotators[a], 60) for a in group] for group in profiles.copying],
        "commands": commands,
    }


def _few_left(profiles: Profiles, left_i: AnyArray) -> dict[str, Any]:
    """The items that keep fewer than two labels and had more, the first of them by name."""
    ann = profiles.consensus.annotations
    codes = np.flatnonzero((left_i < 2) & (ann.labels_per_item >= 2))
    return {"n": len(codes), "names": [shown(ann.items[i], 60) for i in codes[:MAX_FEW]]}


def _of_consensus(
    removal: Removal, after: Consensus, found: AgreementSummary
) -> list[dict[str, Any]]:
    now, rows = removal.profiles.consensus, []
    first = found.coefficients[0] if found.coefficients else None
    if first is not None and first.name == "alpha":
        level: Any = found.level
        value = alpha(after.annotations, level=level, interval="none").value
        rows.append(_row(first.title, number(first.value), number(value)))
    unsure = int(unsure_items(now).sum()), int(unsure_items(after).sum())
    rows.append(_row(f"Items with a confidence below {RELABEL_BELOW:g}", *unsure))
    if now.probabilities is not None:
        expected = expected_accuracy(now), expected_accuracy(after)
        rows.append(_row("Expected accuracy of the consensus", *expected, unit="share"))
        rows.append(_row("Items whose consensus becomes another", None, int(removal.changed.sum())))
    if removal.profiles.spare.any():
        n_decided = int(removal.decided_by_copies.sum())
        rows.append(_row("Items decided by a label that counts twice", n_decided, 0))
    return rows


def _row(
    what: str, now: float | None, without: float | None, *, share: float | None = None,
    unit: str = "",
) -> dict[str, Any]:  # fmt: skip
    if unit == "" and isinstance(without, float):
        unit = "decimals"
    return {
        "what": what, "unit": unit or "count",
        "now": None if now is None else number(now), "without": None if without is None else
        number(without), "share": None if share is None else number(share),
    }  # fmt: skip


def exclusion_commands(
    profiles: Profiles, file: str | None, *, n_relabel: int = 0, of_items: bool = True
) -> dict[str, Any] | None:
    """The command that aggregates the labels that are left, and the names that it leaves out.

    None without a file. What to label next is for classes of items. Names that cannot be typed as
    they are shown are only counted.
    """
    if file is None:
        return None
    ann, consensus = profiles.consensus.annotations, profiles.consensus
    names = [str(name) for name in ann.annotators[profiles.left_out].tolist()]
    typed = [name for name in names if shown(name) == name.strip() == name]
    exclude = "".join(f" --exclude {shlex.quote(name)}" for name in typed)
    if len(typed) > MAX_TYPED:
        exclude = f" --exclude-from {EXCLUDED}"
    labels = shown(file, 400) + " --kind multilabel" * (
        ann.kind == "multilabel" and "--kind" not in file
    )
    method = consensus.method_name
    named = f" --method {method}" if method and method != default_method(ann) else ""
    relabel = " --relabel relabel.csv" if n_relabel else ""
    return {
        "aggregate": f"manyhands aggregate {labels}{exclude}{named} --out consensus.csv{relabel}",
        "next": f"manyhands next {labels}{exclude}" if of_items and ann.kind == "classes" else "",
        "names": typed[:MAX_LISTED] if len(typed) > MAX_TYPED else [],
        "n_names": len(typed),
        "n_untyped": len(names) - len(typed),
    }
