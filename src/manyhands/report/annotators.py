"""The table of annotators of a report: a row of plain values for each."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from manyhands.agreement import AgreementSummary
from manyhands.checks import Flag
from manyhands.core.arrays import AnyArray
from manyhands.report.profiles import Profiles
from manyhands.report.shown import n_bytes, number, shown
from manyhands.report.wording import MAX_SENTENCE

MAX_ANNOTATORS = 3000  # rows of the table: those with flags, and those with the most labels
MAX_MARKUP = 2_000_000  # bytes of the table and of its chart on a page, about


def shown_first(profiles: Profiles) -> AnyArray:
    """All annotators, those with flags first, and then those with the most labels."""
    n_a = profiles.consensus.annotations.labels_per_annotator
    flagged = np.zeros(len(n_a), dtype=bool)
    flagged[[flag.annotator for flag in profiles.flags if flag.kind != "few-labels"]] = True
    return np.lexsort((-n_a, ~flagged))


def annotator_table(profiles: Profiles, found: AgreementSummary) -> dict[str, Any]:
    """Rows of annotators, the lowest quality first, and how many there are.

    `found` has the F1 of the spans of annotators, if labels are spans.
    """
    consensus, ann = profiles.consensus, profiles.consensus.annotations
    chosen = shown_first(profiles)[:MAX_ANNOTATORS]
    columns = dict(profiles.agreement)
    name = "agreement" if "agreement" in columns else "correlation"
    if found.level == "spans" and "f1" in found.annotators:
        name, columns = "F1 with others", {"F1 with others": found.annotators["f1"]}
    rows = _that_fit(_row(profiles, columns[name], a) for a in chosen.tolist())
    quality = consensus.quality.value[[row["code"] for row in rows]]
    rows = [rows[n] for n in np.argsort(quality, kind="stable").tolist()]
    return {
        "n": ann.n_annotators, "agreement": name, "rows": rows,
        "pace": None if profiles.pace is None else {
            "crowd": number(profiles.pace.crowd, 2), "from_gaps": profiles.pace.from_gaps,
        },
        "trend": profiles.trend is not None, "errors": profiles.errors is not None,
    }  # fmt: skip


def _that_fit(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows whose markup, and whose points in charts, have about `MAX_MARKUP` bytes."""
    kept, size = [], 0
    for row in rows:
        size += 620 + 2 * n_bytes(row["name"]) + n_bytes(row["mistake"]) + n_bytes(row["tendency"])
        size += sum(130 + n_bytes(flag["evidence"]) for flag in row["flags"])
        if size > MAX_MARKUP:
            break
        kept.append(row)
    return kept


def _row(profiles: Profiles, agreement: AnyArray, a: int) -> dict[str, Any]:
    ann, quality = profiles.consensus.annotations, profiles.consensus.quality
    row = {
        "code": a,
        "name": shown(ann.annotators[a]),
        "labels": int(ann.labels_per_annotator[a]),
        "quality": number(quality.value[a], 3),
        "low": number(quality.low[a], 3),
        "high": number(quality.high[a], 3),
        "agreement": number(agreement[a], 3),
        "lowest": _lowest(profiles, a),
        "mistake": shown(profiles.mistakes[a], MAX_SENTENCE),
        "tendency": shown(profiles.biases[a], MAX_SENTENCE),
        "weak": profiles.why_weak(a) if profiles.weak[a] else "",
        "flags": [_flag(profiles, flag) for flag in profiles.flags_of.get(a, [])],
    }
    pace, trend, errors = profiles.pace, profiles.trend, profiles.errors
    if pace is not None:
        row["pace"] = {
            "seconds": number(pace.median_a[a], 2), "low": number(pace.low_a[a], 2),
            "high": number(pace.high_a[a], 2), "fast": bool(pace.is_fast_a[a]),
        }  # fmt: skip
    if trend is not None:
        row["trend"] = {
            "change": number(trend.change_a[a], 3), "low": number(trend.low_a[a], 3),
            "high": number(trend.high_a[a], 3), "text": trend.text(a),
        }  # fmt: skip
    if errors is not None:
        row["errors"] = {name: number(each[a], 3) for name, each in errors.items()}
    return row


def _lowest(profiles: Profiles, a: int) -> dict[str, Any] | None:
    """The class on which an annotator agrees least with the others."""
    row, table = int(profiles.lowest_class_a[a]), profiles.class_agreement
    if row < 0 or table is None:
        return None
    name = profiles.consensus.annotations.classes[table["class"][row]]
    return {"class": shown(name, 40), "agreement": number(table["agreement"][row], 3)}


def _flag(profiles: Profiles, flag: Flag) -> dict[str, Any]:
    names = profiles.consensus.annotations.annotators
    evidence = shown(flag.evidence, 400)
    if flag.other is not None:
        evidence += "; each confirms the other, so that quality and agreement of both are too high"
    return {
        "kind": flag.kind,
        "sure": number(flag.sure, 3),
        "evidence": evidence,
        "other": None if flag.other is None else shown(names[flag.other], 40),
    }
