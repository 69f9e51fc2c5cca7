"""A consensus of tokens whose tags form whole entities: aggregate, then decode."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.beliefs import winners
from manyhands.aggregation.catalog import AGGREGATORS, DEFAULTS
from manyhands.aggregation.consensus import Consensus
from manyhands.annotations import (
    Annotations,
    Sentences,
    Spans,
    TagScheme,
    TokenizedTexts,
    align_to_tokens,
    decode_bio,
    find_spans,
)
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError


@dataclass(frozen=True, eq=False)
class TokenConsensus:
    """What is believed about every token, and the entities this makes.

    `tokens` is the consensus of the tokens; its labels are the decoded tags, its probabilities
    those of the aggregator, token by token. The confidence of a span is the probability that all
    of its tokens have their tags when tokens are independent: the product of theirs. A longer
    span is therefore less certain than its tokens are.
    """

    sentences: Sentences
    tokens: Consensus
    spans: Spans
    span_confidence: Floats

    @property
    def tags(self) -> AnyArray:
        """The tag of every token, valid BIO in every sentence."""
        return self.tokens.labels

    def span_columns(self, texts: TokenizedTexts | None = None) -> dict[str, AnyArray]:
        """A row per span: sentence, first token and end in it, label, confidence, its words.

        With the `texts` that the tokens are of: document, the characters it starts at and ends
        before, label, confidence, its words as they stand there.
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


def aggregate_tokens(
    sentences: Sentences,
    annotations: Annotations,
    method: str | Aggregator[Any] | None = None,
    *,
    known: Mapping[Any, Any] | None = None,
) -> TokenConsensus:
    """The consensus of every token by an aggregator of classes, then valid BIO tags by sentence.

    Of all valid sequences of a sentence the one of largest sum_t log p_t(tag) is taken; where the
    most probable tags are valid already they stay. `method` is a name of `AGGREGATORS` or an
    aggregator with settings of its own; `known` maps item names ("<sentence>:<token>") to tags
    held for certain. Items so called are found by name, others are taken in order.

    >>> sentences = Sentences.from_lists([["Anna", "Berg"]])
    >>> ann = Annotations.from_arrays(
    ...     ["0:0", "0:0", "0:1", "0:1"], [0, 1, 0, 1], ["B-PER", "O", "I-PER", "I-PER"],
    ...     classes=["O", "B-PER", "I-PER"],
    ... )
    >>> aggregate_tokens(sentences, ann, "majority").tags.tolist()
    ['B-PER', 'I-PER']
    """
    annotations = align_to_tokens(sentences, annotations)
    if annotations.kind != "classes":
        raise DataError("the labels of tokens are numbers; tags are needed")
    if method is None or isinstance(method, str):
        method = AGGREGATORS[method or DEFAULTS["classes"]]()
    return decoded_tokens(sentences, method.fit(annotations, known))


def decoded_tokens(sentences: Sentences, consensus: Consensus) -> TokenConsensus:
    """The valid tags and spans of a consensus of tokens."""
    if consensus.probabilities is None:
        raise DataError("this consensus holds numbers; tags come from class probabilities")
    tags = [str(name) for name in consensus.annotations.classes]
    with np.errstate(divide="ignore"):
        log_prob_tk = np.log(consensus.probabilities)
    choice_t, _ = winners(consensus.probabilities)
    code_t = decode_bio(log_prob_tk, sentences.offsets, tags, choice_t=choice_t)
    tokens = replace(consensus, codes=code_t)
    spans = find_spans(code_t, sentences.offsets, TagScheme.of(tags))
    pairs = zip(spans.first.tolist(), spans.end.tolist(), strict=True)
    confidence = [float(np.prod(tokens.confidence[first:end])) for first, end in pairs]
    return TokenConsensus(sentences, tokens, spans, np.array(confidence))
