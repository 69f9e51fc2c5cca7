"""A consensus of tokens whose tags form valid entities: aggregate, then decode."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.choose import aggregate
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import most_probable
from manyhands.annotations import (
    Labels,
    Sentences,
    Spans,
    TagScheme,
    TokenizedTexts,
    align_to_tokens,
    as_annotations,
    decode_bio,
    find_spans,
)
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingError


@dataclass(frozen=True, eq=False)
class TokenConsensus:
    """The consensus of every token, and the entities that its tags form.

    `tokens` is the consensus of the tokens: its labels are the decoded tags, its probabilities are
    those of the aggregator. The confidence of a span is the probability that all of its tokens have
    their tags if tokens are independent: the product of theirs. A longer span is therefore less
    certain than its tokens are.
    """

    sentences: Sentences
    tokens: Consensus
    spans: Spans
    span_confidence: Floats

    @property
    def tags(self) -> AnyArray:
        """The tag of every token, valid BIO in every sentence."""
        return self.tokens.labels

    def item_columns(self) -> dict[str, AnyArray]:
        """A row per token; see `Consensus.item_columns`."""
        return self.tokens.item_columns()

    def span_columns(self, texts: TokenizedTexts | None = None) -> dict[str, AnyArray]:
        """One row per span: sentence, first token and end, label, confidence, words.

        Given the `texts` of the tokens: document, first character and end, label, confidence, and
        the words as they are written in the text.
        """
        first_s, end_s = self.spans.first, self.spans.end
        pairs = list(zip(first_s.tolist(), end_s.tolist(), strict=True))
        names = self.sentences.names[self.spans.sentence]
        if texts is None:
            at = self.sentences.offsets[self.spans.sentence]
            where = {"sentence": names, "first": first_s - at, "end": end_s - at}
            words = [" ".join(self.sentences.word[first:end]) for first, end in pairs]
        else:
            where = {"document": names, "start": texts.start[first_s], "end": texts.end[end_s - 1]}
            words = [texts.excerpt(first, end) for first, end in pairs]
        return where | {
            "label": self.spans.type_names,
            "confidence": self.span_confidence,
            "words": np.array([*words, None], dtype=object)[:-1],
        }

    def save(self, folder: str | Path) -> None:
        """Write the consensus to a folder as safetensors and json; `mh.load` reads it."""
        from manyhands.aggregation.files import save_consensus  # it knows every model

        save_consensus(folder, self.tokens, self.sentences)


def aggregate_tokens(
    sentences: Sentences,
    annotations: Labels,
    method: str | Aggregator[Any] | None = None,
    *,
    known: Mapping[Any, Any] | None = None,
    **settings: Any,
) -> TokenConsensus:
    """The consensus of every token by an aggregator of classes, then valid BIO tags by sentence.

    Of all valid tag sequences of a sentence, the one with the largest sum_t log p_t(tag) is chosen;
    most probable tags that are valid already stay. `method` is a name of `AGGREGATORS`, whose
    `settings` may follow, or an aggregator. `known` maps item names ("<sentence>:<token>") to
    certain tags. Items with such names are matched by name, others by their order.

    >>> from manyhands.annotations import Annotations
    >>> sentences = Sentences.from_lists([["Anna", "Berg"]])
    >>> ann = Annotations.from_arrays(
    ...     ["0:0", "0:0", "0:1", "0:1"], [0, 1, 0, 1], ["B-PER", "O", "I-PER", "I-PER"],
    ...     classes=["O", "B-PER", "I-PER"],
    ... )
    >>> aggregate_tokens(sentences, ann, "majority").tags.tolist()
    ['B-PER', 'I-PER']
    """
    aligned = align_to_tokens(sentences, as_annotations(annotations))
    if aligned.kind != "classes":
        raise DataError("the labels of tokens are numbers; tags are needed")
    if method is None or isinstance(method, str):
        consensus = aggregate(aligned, method, known=known, **settings)
        return decode_tokens(sentences, consensus)
    if settings:
        raise SettingError(
            f"settings go with the name of a method; {type(method).__name__} is an aggregator "
            "already: give it its settings"
        )
    return decode_tokens(sentences, method.fit(aligned, known))


def decode_tokens(sentences: Sentences, consensus: Consensus) -> TokenConsensus:
    """The valid tags and spans of a consensus of tokens."""
    if consensus.probabilities is None:
        raise DataError("this consensus holds numbers; tags come from class probabilities")
    tags = [str(name) for name in consensus.annotations.classes]
    with np.errstate(divide="ignore"):
        log_prob_tk = np.log(consensus.probabilities)
    choice_t, _ = most_probable(consensus.probabilities)
    code_t = decode_bio(log_prob_tk, sentences.offsets, tags, choice_t=choice_t)
    return with_spans(sentences, replace(consensus, codes=code_t))


def with_spans(sentences: Sentences, tokens: Consensus) -> TokenConsensus:
    """The token consensus of decoded tokens: their spans, and the confidence of these."""
    assert tokens.codes is not None, "tokens are decoded"
    tags = TagScheme.of([str(name) for name in tokens.annotations.classes])
    spans = find_spans(tokens.codes, sentences.offsets, tags)
    pairs = zip(spans.first.tolist(), spans.end.tolist(), strict=True)
    confidence = [float(np.prod(tokens.confidence[first:end])) for first, end in pairs]
    return TokenConsensus(sentences, tokens, spans, np.array(confidence))
