"""Everything about the agreement of one table of labels: coefficients, tables, words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from manyhands.agreement.alpha import LEVELS, LevelName, alpha
from manyhands.agreement.chance import brennan_prediger, fleiss, gwet, percent
from manyhands.agreement.cohen import cohen, scott
from manyhands.agreement.estimate import IntervalKind
from manyhands.agreement.icc import icc
from manyhands.agreement.kinds import default_level
from manyhands.agreement.ordered import Weights
from manyhands.agreement.pair_table import PairTable
from manyhands.agreement.result import Agreement
from manyhands.agreement.runs import one_label_each
from manyhands.agreement.sets import as_sets
from manyhands.agreement.spans import span_f1
from manyhands.agreement.standouts import annotator_words, class_words
from manyhands.agreement.tables import (
    Columns,
    annotator_columns,
    class_columns,
    item_columns,
    pair_columns,
    span_annotator_columns,
    span_pair_columns,
    type_columns,
)
from manyhands.agreement.words import column_words
from manyhands.annotations import Annotations, Labels, TokenLabels, as_annotations
from manyhands.core.errors import SettingError, SettingName
from manyhands.core.settings import Registry, require_choice

_CLASSES = ("nominal", "ordinal")
_NUMBERS = ("interval", "ratio")


class Coefficient(NamedTuple):
    """A coefficient, and the levels of measurement that it is for."""

    compute: Callable[..., Agreement]
    levels: tuple[str, ...]
    settings: Mapping[str, Any] = {}


COEFFICIENTS: Registry[Coefficient] = Registry(
    "coefficient",
    {
        "alpha": Coefficient(alpha, LEVELS),
        "percent": Coefficient(percent, _CLASSES),
        "fleiss": Coefficient(fleiss, _CLASSES),
        "cohen": Coefficient(cohen, _CLASSES),
        "scott": Coefficient(scott, _CLASSES),
        "gwet": Coefficient(gwet, _CLASSES),
        "brennan-prediger": Coefficient(brennan_prediger, _CLASSES),
        "icc1": Coefficient(icc, _NUMBERS, {"model": 1}),
        "icc1k": Coefficient(icc, _NUMBERS, {"model": 1, "average": True}),
        "icc2": Coefficient(icc, _NUMBERS, {"model": 2}),
        "icc2k": Coefficient(icc, _NUMBERS, {"model": 2, "average": True}),
        "icc3": Coefficient(icc, _NUMBERS, {"model": 3}),
        "icc3k": Coefficient(icc, _NUMBERS, {"model": 3, "average": True}),
    },
)

# What is computed unless coefficients are named: one view of each kind.
_DEFAULTS = {
    "nominal": ("alpha", "percent", "fleiss", "cohen", "gwet", "brennan-prediger"),
    "ordinal": ("alpha", "percent", "fleiss", "cohen", "gwet", "brennan-prediger"),
    "interval": ("alpha", "icc1", "icc2", "icc2k", "icc3", "icc3k"),
    "ratio": ("alpha", "icc1", "icc2", "icc2k", "icc3", "icc3k"),
    "sets": ("alpha",),
}


@dataclass(frozen=True)
class AgreementSummary:
    """Coefficients, the most general first, tables as columns, and a summary in words.

    `classes`, `annotators`, `pairs` and `items` are the tables of `by_class` and so on; empty where
    the labels have none.
    """

    level: str
    coefficients: tuple[Agreement, ...]
    words: tuple[str, ...]  # on the first coefficient, and then on classes and annotators
    classes: Columns = field(default_factory=dict, repr=False)
    annotators: Columns = field(default_factory=dict, repr=False)
    pairs: Columns = field(default_factory=dict, repr=False)
    items: Columns = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.coefficients), "", *self.words])

    def coefficient_columns(self) -> Columns:
        """The coefficients as the columns of a table."""
        rows = [each.to_json() for each in self.coefficients]
        names = ("title", "value", "low", "high", "interval", "observed", "expected")
        counts = ("n_items", "n_annotators", "n_labels")
        columns: Columns = {"coefficient": np.array([row["title"] for row in rows], dtype=object)}
        for name in names[1:]:
            kind = object if name == "interval" else float
            columns[name] = np.array([row[name] for row in rows], dtype=kind)
        for name in counts:
            columns[name] = np.array([row[name] for row in rows], dtype=np.int64)
        return columns

    def column_words(self, table: Literal["classes", "annotators", "pairs"]) -> tuple[str, ...]:
        """What the columns of a table hold, a sentence each."""
        return column_words(table, getattr(self, table))


def summarize(
    labels: Labels,
    *,
    level: LevelName | None = None,
    coefficients: Sequence[str] | None = None,
    weights: Weights | None = None,
    order: Sequence[Any] | None = None,
    separator: str | None = None,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> AgreementSummary:
    """All that agreement tells about some labels: what the command `agree` prints.

    Parameters
    ----------
    labels : Annotations, frame, matrix or dictionaries
        The labels.
    level : {"nominal", "ordinal", "interval", "ratio", "sets"}
        How two labels differ; see `alpha`. By default "nominal" for classes, "ordinal" for levels
        and "interval" for numbers.
    coefficients : list of str
        Names in `COEFFICIENTS`; by default those that fit the level.
    weights : {"linear", "quadratic", "ordinal"}
        Weights of kappas at the level "ordinal"; by default "quadratic".
    order, separator, interval, confidence, n_resamples, seed
        As those of `alpha`. ICC has no bootstrap over annotators: its interval is then analytic.

    Examples
    --------
    >>> found = summarize([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]], coefficients=["alpha"])
    >>> print(found.coefficients[0])
    Krippendorff's alpha (nominal): 0.533 (-0.934 to 1.000)
    """
    ann = as_annotations(labels)
    chosen = level or default_level(ann)
    require_choice("level", chosen, LEVELS)
    if weights is not None and chosen != "ordinal":
        raise SettingError(SettingName("weights"), " is for ", SettingName("level", "ordinal"))
    given = {"confidence": confidence, "n_resamples": n_resamples, "seed": seed}
    found = []
    for name in coefficients or _DEFAULTS[chosen]:
        entry = _fitting(name, chosen)
        more: dict[str, Any] = {**entry.settings, **given, "interval": interval}
        if name == "alpha":
            more |= {"level": chosen, "separator": separator}
        elif chosen == "ordinal":
            more["weights"] = weights or "quadratic"
        if order is not None and chosen == "ordinal":
            more["order"] = order
        if entry.compute is icc and interval == "annotators":
            more["interval"] = "analytic"
        found.append(entry.compute(ann, **more))
    if chosen == "sets":
        return _with_tables(chosen, found, as_sets(ann, separator))
    summary = _with_tables(chosen, found, ann.as_kind(
        "classes" if chosen in _CLASSES else "numbers"
    ))  # fmt: skip
    if level is None and chosen == "nominal" and _look_ordered(ann):
        hint = (
            "The classes are numbers: if they are ratings, the level ordinal (manyhands agree "
            "--level ordinal) counts near labels as nearly agreeing."
        )
        summary = replace(summary, words=(*summary.words, hint))
    return summary


def _with_tables(level: str, found: Sequence[Agreement], ann: Annotations) -> AgreementSummary:
    """The coefficients with all tables of labels."""
    classes = {} if ann.kind == "numbers" else class_columns(ann)
    table = None
    if level in _CLASSES:
        single = one_label_each(ann)
        table = PairTable.of(single, single.label, None)
    annotators = annotator_columns(ann, table)
    words = (*found[0].words, *class_words(classes), *annotator_words(annotators))
    return AgreementSummary(
        level, tuple(found), words, classes, annotators, pair_columns(ann, table),
        item_columns(ann),
    )  # fmt: skip


def summarize_tokens(
    labels: TokenLabels,
    *,
    interval: IntervalKind = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> AgreementSummary:
    """Agreement about spans of tokens (F1), and about the tags of single tokens (alpha).

    The parameters are those of `span_f1`.
    """
    given: dict[str, Any] = {"confidence": confidence, "n_resamples": n_resamples, "seed": seed}
    exact = span_f1(labels, match="exact", interval=interval, **given)
    overlap = span_f1(labels, match="overlap", interval=interval, **given)
    # tokens of one sentence are not independent: an interval over tokens would be too narrow
    tokens = [each(labels.annotations, interval="none") for each in (alpha, percent)]
    tokens = [replace(each, title=f"{each.title} of tokens") for each in tokens]
    words = (*exact.words, *overlap.words[:1])
    return AgreementSummary(
        "spans", (exact, overlap, *tokens), words,
        type_columns(labels), span_annotator_columns(labels), span_pair_columns(labels),
        item_columns(labels.annotations),
    )  # fmt: skip


def _fitting(name: str, level: str) -> Coefficient:
    entry = COEFFICIENTS[name]
    if level not in entry.levels:
        fitting = [each for each in COEFFICIENTS if level in COEFFICIENTS[each].levels]
        raise SettingError(
            f"{name} is not for the level {level}; there are {', '.join(fitting)}, and ",
            SettingName("level"), f" may be {', '.join(entry.levels)} for {name}",
        )  # fmt: skip
    return entry


def _look_ordered(ann: Annotations) -> bool:
    return ann.n_classes > 2 and ann.classes.dtype.kind in "iuf"
