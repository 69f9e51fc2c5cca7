"""Check a label table: run all checks of `CHECKS` and sort their findings."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manyhands.aggregation.pairs import as_comparisons, means_pairs
from manyhands.annotations import Labels, Rows, as_annotations
from manyhands.annotations.comparison_rows import ComparisonRows
from manyhands.annotations.labels import MixedLabelsError
from manyhands.checks import annotators, coverage, label_values, rows
from manyhands.checks.comparisons import PAIR_CHECKS, ComparisonTable
from manyhands.checks.copies import copies
from manyhands.checks.label_table import SEVERITIES, Finding, LabelTable
from manyhands.checks.set_tables import SetTables
from manyhands.core.arrays import AnyArray
from manyhands.core.settings import Registry
from manyhands.io.labels import ItemFile
from manyhands.io.opening import Paths

Check = Callable[[LabelTable], Iterable[Finding]]

# The worst first: findings of one severity keep this order.
CHECKS: Registry[Check] = Registry(
    "check",
    {
        "no-labels": rows.no_labels,
        "blank-label": rows.blank_label,
        "label-outside-classes": rows.label_outside_classes,
        "infinite-label": rows.infinite_label,
        "blank-name": rows.blank_name,
        "unlisted-name": rows.unlisted_name,
        "no-agreement": coverage.no_agreement,
        "one-class": label_values.one_class,
        "many-classes": label_values.many_classes,
        "looks-missing": label_values.looks_missing,
        "looks-like-sets": label_values.looks_like_sets,
        "mixed-separators": label_values.mixed_separators,
        "outlier-numbers": label_values.outlier_numbers,
        "near-duplicate-classes": rows.near_duplicate_classes,
        "near-duplicate-names": rows.near_duplicate_names,
        "repeated-pair": rows.repeated_pair,
        "below-chance": annotators.below_chance,
        "constant-annotator": annotators.constant_annotator,
        "random-annotator": annotators.random_annotator,
        "copies": copies,
        "disconnected-crowd": coverage.disconnected_crowd,
        "too-few-annotators": coverage.too_few_annotators,
        "single-label-items": coverage.single_label_items,
        "unlabelled-items": coverage.unlabelled_items,
        "few-labels-annotators": coverage.few_labels_annotators,
        "class-never-said": label_values.class_never_said,
        "imbalance": label_values.imbalance,
    },
)


@dataclass(frozen=True)
class CheckReport:
    """The findings about a label table, the worst first, and a summary of the table."""

    findings: tuple[Finding, ...]
    summary: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Whether there are no errors and no warnings."""
        return all(finding.severity == "note" for finding in self.findings)

    def __str__(self) -> str:
        """A line for every finding, and what to do about it."""
        lines = [
            f"{each.severity}: {each.check}: {each.message}\n    do: {each.remedy}"
            for each in self.findings
        ]
        return "\n".join(lines) or "nothing wrong was found"

    def to_json(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "ok": self.ok,
            "summary": dict(self.summary),
            "findings": [finding.to_json() for finding in self.findings],
        }


def check(annotations: Labels | Rows) -> CheckReport:
    """Find everything that is wrong or risky in a label table.

    Labels are `Annotations`, a frame or a matrix as `as_annotations` takes them, the rows of a
    file, or `Comparisons`. Rows that cannot be used are reported, and the other checks ignore them.
    If an annotator labelled an item more than once, comparisons between annotators use the first
    label.

    >>> from manyhands import Annotations
    >>> labels = ["cat", "Cat", "dog", "dog"]
    >>> ann = Annotations.from_arrays([1, 1, 2, 2], ["u", "v", "u", "v"], labels)
    >>> [finding.check for finding in check(ann).findings]
    ['near-duplicate-classes', 'few-labels-annotators', 'too-few-annotators']
    """
    if means_pairs(annotations):
        return check_pairs(as_comparisons(annotations).to_rows())
    found = annotations if hasattr(annotations, "to_rows") else as_annotations(annotations)
    table = LabelTable(found.to_rows())
    is_sets = table.rows.classes is not None and table.rows.classes.kind == "multilabel"
    of_sets = SetTables(table.rows) if is_sets else None
    seen = {name: table if of_sets is None else of_sets.of(name) for name in CHECKS}
    return CheckReport(_findings(CHECKS, seen), _summarize(table))


def check_pairs(rows: ComparisonRows) -> CheckReport:
    """Find everything that is wrong or risky in a table of comparisons, by its rows."""
    table = ComparisonTable(rows)
    pairs = table.comparisons
    per_item = pairs.counts()["n_comparisons"]
    summary = _sizes(rows, len(pairs), pairs.n_items, pairs.n_annotators, per_item)
    return CheckReport(
        _findings(PAIR_CHECKS, dict.fromkeys(PAIR_CHECKS, table)),
        summary | {"classes": None, "kind": "pairs", "ties": pairs.n_ties},
    )


def _findings(
    checks: Mapping[str, Callable[..., Any]], tables: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """The findings of all checks, the worst first; a check without a table finds nothing."""
    found = [
        replace(finding, check=name)
        for name, find in checks.items()
        if tables[name] is not None
        for finding in find(tables[name])
    ]
    return tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity)))


def check_file(path: Paths, **reading: Any) -> CheckReport:
    """Find everything that is wrong or risky in a label file, also in one that cannot be used.

    `reading` are the arguments of `read_annotations`: columns, layout, classes, missing codes.
    If some labels are numbers and some are words, a finding says so and all are read as classes.
    """
    try:
        return check(ItemFile(path, **reading).rows())
    except MixedLabelsError as error:
        finding = _mixed_labels(error)
    report = check(ItemFile(path, **(reading | {"kind": "classes"})).rows())
    return replace(report, findings=(finding, *report.findings))


def _summarize(table: LabelTable) -> dict[str, Any]:
    """The sizes of the table as plain values."""
    read = table.rows
    per_item = np.bincount(read.item[table.usable], minlength=max(len(read.items), 1))
    sizes = _sizes(read, len(table.usable), len(read.items), len(read.annotators), per_item)
    n_classes = None if read.classes is None else len(read.classes.class_names)
    return sizes | {"classes": n_classes, "kind": _kind(read)}


def _sizes(
    read: Any, n_labels: int, n_items: int, n_annotators: int, per_item: AnyArray
) -> dict[str, Any]:
    source = read.read_from
    per_item = per_item if len(per_item) else np.zeros(1, dtype=int)
    return {
        "read_as": "" if source is None else str(source),
        "source": {} if source is None else source.as_dict(),
        "notes": [] if source is None else list(source.notes),
        "rows": len(read),
        "labels": n_labels,
        "items": n_items,
        "annotators": n_annotators,
        "labels_per_item": {
            "min": int(per_item.min()),
            "median": float(np.median(per_item)),
            "max": int(per_item.max()),
        },
    }


def _kind(read: Rows) -> str:
    if read.classes is None:
        return "numbers"
    return "ordinal" if read.classes.ordered else read.classes.kind


def _mixed_labels(error: MixedLabelsError) -> Finding:
    what, rest = ("a word", "numbers") if error.is_word else ("a number", "words")
    return Finding(
        severity="error",
        message=f"some labels are numbers and some are words: {error.label!r} is {what} among "
        f"{rest}",
        remedy=f"drop it with --missing {error.label!r}, or set --kind classes if it is a class",
        count=1,
        rows=(error.row + 1,),
        names=(error.label,),
        places=(error.where,),
        check="mixed-labels",
    )
