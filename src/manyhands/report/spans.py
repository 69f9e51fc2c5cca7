"""Spans of a report: agreement by type, and the spans that annotators disagree about most."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation import TokenConsensus
from manyhands.agreement import AgreementSummary
from manyhands.agreement.spans import SpanPairs
from manyhands.annotations import TokenLabels
from manyhands.core.arrays import AnyArray
from manyhands.report.shown import number, shown

MAX_SPANS = 100
MAX_WORDS = 15  # on each side of a span
MAX_AROUND = 4  # words on each side of a token to relabel
MAX_NAMES = 12
MAX_RIVALS = 3


@dataclass(frozen=True, kw_only=True)
class SpanView:
    """Sentences with the labels of their tokens, and the spans of their consensus."""

    labels: TokenLabels
    consensus: TokenConsensus

    def in_context(self, codes: AnyArray) -> AnyArray:
        """The words of all tokens; those of `codes` with the words around them."""
        sentences = self.labels.sentences
        words = sentences.word.astype(object)
        shown_words = words.copy()
        for at, sentence in zip(
            codes.tolist(), sentences.sentence_of_token[codes].tolist(), strict=True
        ):
            begin = max(int(sentences.offsets[sentence]), at - MAX_AROUND)
            end = min(int(sentences.offsets[sentence + 1]), at + MAX_AROUND + 1)
            parts = [*words[begin:at], f"[{words[at]}]", *words[at + 1 : end]]
            shown_words[at] = " ".join(map(str, parts))
        return shown_words


def span_types(view: SpanView, found: AgreementSummary) -> list[dict[str, Any]]:
    """A row per type of span: how often it was marked, and F1 between annotators."""
    columns = found.classes
    if "f1" not in columns:
        return []
    believed = view.consensus.spans.type_names.tolist()
    rows = [
        {
            "type": shown(name, 60),
            "spans": int(columns["n_spans"][k]),
            "consensus": believed.count(name),
            "f1": number(columns["f1"][k]),
            "overlap": number(columns["f1_overlap"][k]),
        }
        for k, name in enumerate(columns["class"].tolist())
    ]
    return sorted(rows, key=lambda row: -row["spans"])


def contested_spans(view: SpanView) -> dict[str, Any]:
    """The spans that some annotators marked and others did not, the most contested first."""
    table = SpanPairs.of(view.labels)
    n_spans = len(table.first_s)
    n_others = np.bincount(table.span_t, minlength=n_spans)
    n_same = np.bincount(table.span_t, table.is_exact_t, n_spans).astype(np.int64)
    key = np.stack([table.first_s, table.end_s, table.type_s], axis=1)
    _, one_of, group_s = np.unique(key, axis=0, return_index=True, return_inverse=True)
    marked, asked = (1 + n_same)[one_of], (1 + n_others)[one_of]
    # One of two is less of a dispute than four of eight.
    dispute = np.minimum(marked, asked - marked) / (asked + 1.0)
    chosen = np.flatnonzero(marked < asked)
    chosen = chosen[np.lexsort((table.first_s[one_of][chosen], -dispute[chosen]))]
    believed = _believed(view)
    members = _members(group_s.ravel(), len(one_of))
    rows = [
        _described(view, table, members, one_of, g, int(asked[g]), believed)
        for g in chosen[:MAX_SPANS].tolist()
    ]
    return {"n": len(chosen), "rows": rows}


def _believed(view: SpanView) -> dict[tuple[int, int, str], float]:
    """The confidence of the spans of the consensus."""
    spans = view.consensus.spans
    places = zip(spans.first.tolist(), spans.end.tolist(), spans.type_names.tolist(), strict=True)
    return dict(zip(places, view.consensus.span_confidence.tolist(), strict=True))


def _members(group_s: AnyArray, n_groups: int) -> list[AnyArray]:
    """The spans of every group of equal spans."""
    order = np.argsort(group_s, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group_s, minlength=n_groups))[:-1])


def _described(
    view: SpanView,
    table: SpanPairs,
    members: list[AnyArray],
    one_of: AnyArray,
    group: int,
    asked: int,
    believed: dict[tuple[int, int, str], float],
) -> dict[str, Any]:
    sentences, names = view.labels.sentences, view.labels.annotations.annotators
    s = one_of[group]
    first, end = int(table.first_s[s]), int(table.end_s[s])
    kind = table.types[table.type_s[s]]
    begin, stop = sentences.offsets[table.sentence_s[s] : table.sentence_s[s] + 2].tolist()
    who = table.annotator_s[members[group]].tolist()
    confidence = believed.get((first, end, kind))
    return {
        "sentence": shown(sentences.names[table.sentence_s[s]], 60),
        "before": _before(sentences.word, begin, first),
        "span": shown(" ".join(map(str, sentences.word[first:end])), 300),
        "after": _after(sentences.word, end, stop),
        "type": shown(kind, 60),
        "marked": len(who),
        "asked": asked,
        "annotators": [shown(names[a], 40) for a in who[:MAX_NAMES]],
        "more": max(len(who) - MAX_NAMES, 0),
        "confidence": None if confidence is None else number(confidence, 3),
        "rivals": _rivals(view, table, members, one_of, group),
    }


def _before(word: AnyArray, begin: int, first: int) -> str:
    near = max(begin, first - MAX_WORDS)
    return shown(("… " if near > begin else "") + " ".join(map(str, word[near:first])), 300)


def _after(word: AnyArray, end: int, stop: int) -> str:
    near = min(stop, end + MAX_WORDS)
    return shown(" ".join(map(str, word[end:near])) + (" …" if near < stop else ""), 300)


def _rivals(
    view: SpanView, table: SpanPairs, members: list[AnyArray], one_of: AnyArray, group: int
) -> list[dict[str, Any]]:
    """Other spans with a common token, the most frequent first."""
    s = one_of[group]
    near = np.flatnonzero(table.sentence_s[one_of] == table.sentence_s[s])
    overlap = (table.first_s[one_of[near]] < table.end_s[s]) & (
        table.end_s[one_of[near]] > table.first_s[s]
    )
    others = [g for g in near[overlap].tolist() if g != group]
    others.sort(key=lambda g: -len(members[g]))
    word = view.labels.sentences.word
    return [
        {
            "span": shown(" ".join(map(str, word[table.first_s[r] : table.end_s[r]])), 80),
            "type": shown(table.types[table.type_s[r]], 60),
            "marked": len(members[g]),
        }
        for g in others[:MAX_RIVALS]
        for r in (one_of[g],)
    ]
