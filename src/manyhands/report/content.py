"""The content of a report as plain values: what a page shows, before anything is drawn.

`report_content` computes it from a consensus, and `page.render` makes one file of it. All names are
shortened by `shown`; nothing here is markup.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands import __version__
from manyhands.aggregation import Consensus
from manyhands.agreement import Agreement, AgreementSummary, summarize
from manyhands.annotations import Annotations
from manyhands.checks import FLAGS
from manyhands.core.arrays import AnyArray, Floats
from manyhands.evaluation import calibration_curve
from manyhands.evaluation.scorecard import match_truth
from manyhands.report import wording
from manyhands.report.actions import annotators_to_act_on, items_to_relabel
from manyhands.report.annotators import annotator_table
from manyhands.report.anonymous import without_names
from manyhands.report.cells import believed_counts, is_right, said_counts
from manyhands.report.confusions import MAX_CLASSES, confusions_of
from manyhands.report.items import (
    MAX_MARKUP,
    ItemLists,
    choose_items,
    describe_items,
    rows_that_fit,
)
from manyhands.report.panel import panel_of
from manyhands.report.profiles import profile_annotators
from manyhands.report.removal import (
    Removal,
    exclusion_commands,
    expected_accuracy,
    removal_content,
)
from manyhands.report.shown import number, shown
from manyhands.report.spans import SpanView, contested_spans, span_types
from manyhands.report.steps import what_to_do

MAX_DIFFERENCES = 15  # between a network and the consensus
N_BINS = 20
UNWEIGHTED = ("majority", "multilabel-majority", "mean", "median")  # all annotators count the same
REMOVE_SIGN, COPY_SIGN = " †", " ‡"  # beside names in the lists of items

Content = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class NetworkView:
    """What a trained network says of the same items, and how sure it is.

    An item that the network did not see has the label None, or NaN for numbers.
    """

    method: str
    labels: AnyArray
    confidence: Floats


def report_content(
    consensus: Consensus,
    *,
    title: str = "Annotation report",
    truth: Mapping[Any, Any] | None = None,
    agreement: AgreementSummary | None = None,
    network: NetworkView | None = None,
    spans: SpanView | None = None,
    anonymous: bool = False,
    file: str | None = "LABELS",
) -> Content:
    """Everything that a report shows, as plain values.

    Parameters
    ----------
    consensus : Consensus
        What the report is about.
    title : str
        Heading of the page.
    truth : dict
        Truths by item, to score the consensus and its confidence.
    agreement : AgreementSummary
        Agreement if it was computed already, such as that of spans.
    network : NetworkView
        What a network predicts for the same items.
    spans : SpanView
        Sentences with the labels of their tokens, if items are tokens.
    anonymous : bool
        Replace names of annotators and items by numbers, and leave texts out.
    file : str
        Name of the file in the commands that the report suggests, with options; None suggests
        no commands.
    """
    scores = None if truth is None else _scores(consensus, truth)
    given = consensus.annotations
    if anonymous:
        consensus, file = without_names(consensus), None if file is None else "LABELS"
        agreement = agreement if agreement is None else _coefficients_only(agreement)
    ann = consensus.annotations
    found = summarize(ann) if agreement is None else agreement
    profiles = profile_annotators(
        consensus, agreement=None if agreement is not None else found.annotators
    )
    removal = Removal.of(profiles, refit=spans is None, relabels=file is not None)
    lists = choose_items(consensus, profiles.left_out, judged=removal.judged)
    labels = None if network is None else network.labels
    words = None if spans is None or anonymous else spans.labels.sentences.word
    context = None if spans is None or words is None else spans.in_context
    noun = wording.ITEM if spans is None else wording.TOKEN
    n_sentences = None if spans is None else len(spans.labels.sentences)
    first, classes = items_to_relabel(removal, lists, context), removal.classes(found)
    commands = exclusion_commands(
        profiles, None if anonymous and profiles.left_out.any() else file,
        n_relabel=lists.n_relabel, of_items=spans is None,
    )  # fmt: skip
    return {
        "title": shown(title),
        "version": __version__,
        "method": consensus.method_name,
        "kind": ann.kind,
        "sizes": _sizes(ann, n_sentences),
        "source": "" if ann.source is None else shown(ann.source, 300),
        "summary": {
            "have": [
                *wording.what_we_have(consensus, n_sentences),
                *wording.how_right(removal, scores, noun),
            ],
            "agree": wording.how_far(found, classes),
            "trust": wording.whom_to_trust(profiles),
            "next": what_to_do(removal, lists, classes, first, commands, noun),
        },
        "removal": removal_content(removal, found, commands),
        "actions": {
            "annotators": annotators_to_act_on(profiles),
            "items": first,
            "n_items": lists.n_relabel,
            "weighs": consensus.method_name not in UNWEIGHTED and ann.kind == "classes",
        },
        "classes": _classes(consensus, found),
        "histogram": _histogram(ann),
        "types": [] if spans is None else span_types(spans, found),
        "spans": None if spans is None or anonymous else contested_spans(spans),
        "agreement": _coefficients(found.coefficients),
        "annotators": annotator_table(profiles, found),
        "flags": {name: {"meaning": FLAGS[name][0], "advice": FLAGS[name][1]} for name in FLAGS},
        "confusions": confusions_of(profiles),
        "confidence": _confidence(consensus),
        "expected": number(expected_accuracy(consensus) or np.nan),
        "items": _item_lists(removal, lists, words, labels),
        "scores": scores,
        "panel": None if spans else panel_of(given, truth, ann.annotator_vocabulary),
        "network": None if network is None else _network(consensus, network),
    }


def _sizes(ann: Annotations, n_sentences: int | None) -> dict[str, int]:
    sizes = {
        "labels": ann.n_annotations, "items": ann.n_items, "annotators": ann.n_annotators,
        "classes": ann.n_classes,
    }  # fmt: skip
    return sizes if n_sentences is None else sizes | {"sentences": n_sentences}


def _item_lists(
    removal: Removal, lists: ItemLists, words: AnyArray | None, network: AnyArray | None
) -> Content:
    """The lists of items with their labels; annotators to remove and pairs have signs."""
    consensus, profiles = removal.profiles.consensus, removal.profiles
    marks = np.full(consensus.annotations.n_annotators, "", dtype=object)
    marks[profiles.spare] = COPY_SIGN
    marks[profiles.untrusted] = REMOVE_SIGN
    given: Any = {
        "words": words, "network": network, "marks": marks, "judged": removal.judged,
    }  # fmt: skip
    relabel = describe_items(consensus, lists.relabel, **given)
    return {
        "unlabelled": bool((removal.judged.annotations.labels_per_item == 0).any()),
        "relabel": {"n": lists.n_relabel, "rows": rows_that_fit(relabel, MAX_MARKUP)},
        "hard": {
            "n": lists.n_hard, "rows": list(describe_items(consensus, lists.hard, **given)),
        },
        "contested": {
            "n": lists.n_contested,
            "rows": list(describe_items(consensus, lists.contested, **given)),
        },
    }  # fmt: skip


def _coefficients(found: Sequence[Agreement]) -> list[dict[str, Any]]:
    """Values and sentences; a sentence that was said of a coefficient before is not said again."""
    rows, said = [], set()
    for each in found:
        words = [text for n, text in enumerate(each.words) if n == 0 or text not in said]
        said.update(words)
        rows.append(
            {
                "title": each.title,
                "value": number(each.value),
                "low": number(each.low),
                "high": number(each.high),
                "words": [shown(text, wording.MAX_SENTENCE) for text in words],
            }
        )
    return rows


def _coefficients_only(found: AgreementSummary) -> AgreementSummary:
    """Without tables and sentences that name annotators."""
    first = found.coefficients[0].words if found.coefficients else ()
    own = {name: each for name, each in found.annotators.items() if name != "annotator"}
    return AgreementSummary(found.level, found.coefficients, first, found.classes, own)


def _classes(consensus: Consensus, found: AgreementSummary) -> list[dict[str, Any]]:
    """Shares of labels and of the consensus, and agreement, by class."""
    ann = consensus.annotations
    if ann.kind == "numbers":
        return []
    said_k, believed_k = said_counts(consensus), believed_counts(consensus)
    by_class = found.classes if "agreement" in found.classes else {}
    rows = []
    for k in _order_of_classes(ann, said_k):
        row: dict[str, Any] = {
            "class": shown(ann.classes[k], 60),
            "labels": int(said_k[k]),
            "share": number(said_k[k] / max(ann.n_annotations, 1)),
            "consensus": number(believed_k[k] / max(ann.n_items, 1)),
        }
        if by_class:
            row |= {name: number(by_class[name][k]) for name in ("agreement", "low", "high")}
            other = by_class["confused_with"][k] if "confused_with" in by_class else None
            row["confused_with"] = None if other is None else shown(other, 60)
            row["confused"] = None if other is None else number(by_class["confused"][k])
        rows.append(row)
    return rows


def _order_of_classes(ann: Annotations, said_k: AnyArray) -> list[int]:
    """Codes of classes as they are listed: numbers as such if all fit, else the most used first."""
    key_k = -said_k.astype(np.float64)
    if ann.n_classes <= MAX_CLASSES:
        with suppress(TypeError, ValueError):
            key_k = np.array([float(name) for name in ann.classes])
    return [int(k) for k in np.argsort(key_k, kind="stable")]


def _histogram(ann: Annotations) -> list[dict[str, float]]:
    """The distribution of numbers; empty for classes."""
    if ann.kind != "numbers" or ann.n_annotations == 0:
        return []
    count, edges = np.histogram(ann.label, bins=min(N_BINS, len(np.unique(ann.label))))
    return [
        {"low": float(low), "high": float(high), "labels": int(n)}
        for n, low, high in zip(count, edges[:-1], edges[1:], strict=True)
    ]


def _confidence(consensus: Consensus) -> list[dict[str, float]]:
    """How many items have which confidence."""
    known = consensus.confidence[np.isfinite(consensus.confidence)]
    count, edges = np.histogram(known, bins=N_BINS, range=(0.0, 1.0))
    return [
        {"low": round(float(low), 3), "high": round(float(high), 3), "items": int(n)}
        for n, low, high in zip(count, edges[:-1], edges[1:], strict=True)
    ]


def _scores(consensus: Consensus, truth: Mapping[Any, Any]) -> dict[str, Any]:
    """Scores against the truth, and the calibration of the confidence for classes."""
    card = {name: number(value) for name, value in consensus.score(truth).as_dict().items()}
    classes, bins = consensus.annotations.class_vocabulary, []
    if classes is not None:
        row, names = match_truth(consensus.annotations.item_vocabulary, truth)
        curve = calibration_curve(consensus.confidence[row], is_right(consensus, row, names))
        columns = zip(curve.confidence, curve.accuracy, curve.count, strict=True)
        bins = [
            {"confidence": number(confidence), "accuracy": number(accuracy), "items": int(n)}
            for confidence, accuracy, n in columns
        ]
    return {"scores": card, "calibration": bins}


def _network(consensus: Consensus, view: NetworkView) -> dict[str, Any]:
    """Where a network differs from the consensus, the most confident differences first."""
    if consensus.probabilities is None:
        off = np.abs(view.labels.astype(np.float64) - consensus.labels)
        differ, order = None, np.argsort(-np.nan_to_num(off), kind="stable")
        codes = order[:MAX_DIFFERENCES]
    else:
        seen = np.array([label is not None for label in view.labels])
        differs = seen & (view.labels != consensus.labels)
        order = np.argsort(-np.where(differs, view.confidence, -1.0), kind="stable")
        differ, codes = int(differs.sum()), order[: min(MAX_DIFFERENCES, int(differs.sum()))]
    return {
        "method": view.method,
        "differ": differ,
        "rows": list(describe_items(consensus, codes, network=view.labels)),
    }
