"""Examine a label table: run every check and put the findings in order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manyhands.annotations import Annotations, Rows
from manyhands.checks.catalog import CHECKS
from manyhands.checks.chart import Chart
from manyhands.checks.finding import SEVERITIES, Finding


@dataclass(frozen=True)
class CheckReport:
    """What was found in a label table, the worst first, and what the table is like."""

    findings: tuple[Finding, ...]
    summary: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Whether nothing was found but notes."""
        return all(finding.severity == "note" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Everything in plain values, ready to be written as JSON."""
        return {
            "ok": self.ok,
            "summary": dict(self.summary),
            "findings": [finding.to_json() for finding in self.findings],
        }


def check(rows: Rows | Annotations) -> CheckReport:
    """Look for everything that is wrong or risky in a label table.

    Rows that cannot be used are reported and left out of the other checks. When an annotator
    labelled an item again, comparisons between people use the first label.

    >>> labels = ["cat", "Cat", "dog", "dog"]
    >>> ann = Annotations.from_arrays([1, 1, 2, 2], ["u", "v", "u", "v"], labels)
    >>> [finding.check for finding in examine(ann).findings]
    ['near-duplicate-classes', 'few-labels-annotators', 'too-few-annotators']
    """
    chart = Chart(_as_rows(rows) if isinstance(rows, Annotations) else rows)
    found = [
        replace(finding, check=name) for name, check in CHECKS.items() for finding in check(chart)
    ]
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return CheckReport(tuple(found), summarise(chart))


def summarise(chart: Chart) -> dict[str, Any]:
    """What the table is like, in plain values."""
    rows = chart.rows
    per_item = np.bincount(rows.item[chart.usable], minlength=len(rows.items))
    if len(per_item) == 0:
        per_item = np.zeros(1, dtype=np.int64)
    return {
        "rows": len(rows),
        "labels": len(chart.usable),
        "items": len(rows.items),
        "annotators": len(rows.annotators),
        "classes": None if rows.classes is None else len(rows.classes),
        "labels_per_item": {
            "min": int(per_item.min()),
            "median": float(np.median(per_item)),
            "max": int(per_item.max()),
        },
        "kind": "numbers" if rows.classes is None else "classes",
    }


def _as_rows(annotations: Annotations) -> Rows:
    return Rows(
        annotations.item,
        annotations.annotator,
        annotations.label,
        np.zeros(annotations.n_annotations, dtype=np.int8),
        annotations.item_vocabulary,
        annotations.annotator_vocabulary,
        annotations.class_vocabulary,
    )
