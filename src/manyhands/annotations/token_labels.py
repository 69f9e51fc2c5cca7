"""Sentences with labels of their tokens: those of a crowd, or one tag per token."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manyhands.annotations.annotations import Annotations
from manyhands.annotations.grouping import ItemArray
from manyhands.annotations.labels import USED
from manyhands.annotations.recoding import reindex_items
from manyhands.annotations.rows import Rows
from manyhands.annotations.sentences import Sentences
from manyhands.annotations.source import Source
from manyhands.annotations.tags import OrphanTags, TagScheme, find_orphan_tags
from manyhands.annotations.vocabulary import Vocabulary, join_names
from manyhands.core.arrays import AnyArray, Bools, read_only
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice


@dataclass(frozen=True, eq=False)
class TokenLabels(ItemArray):
    """Sentences and the crowd's labels of their tokens: token t is item t of `annotations`.

    `len` and indexing go by sentence.

    >>> sentences = Sentences.from_lists([["Anna", "sang"], ["yes"]])
    >>> labels = TokenLabels.from_codes(sentences, [0, 1], [0, 0], [1, 0], ["u"], ["O", "B-PER"])
    >>> labels[0].annotations
    Annotations(2 labels of 2 items by 1 annotators, 2 classes)
    """

    sentences: Sentences
    annotations: Annotations

    @property
    def source(self) -> Source | None:
        """What the file was taken for, if the labels were read from one."""
        return self.annotations.source

    def __post_init__(self) -> None:
        _require_same("items of the annotations", self.annotations.n_items, self.sentences)

    @classmethod
    def from_codes(
        cls,
        sentences: Sentences,
        token: Any,
        annotator: Any,
        label: Any,
        annotators: Iterable[Any],
        classes: Iterable[Any],
    ) -> "TokenLabels":
        """From parallel codes of tokens, annotators and classes, and the names of the codes."""
        label_n = np.asarray(label, dtype=np.int32)
        rows = Rows(
            np.asarray(token, dtype=np.int32), np.asarray(annotator, dtype=np.int32), label_n,
            np.full(len(label_n), USED, dtype=np.int8),
            Vocabulary.of(sentences.token_names, "item"), Vocabulary.of(annotators, "annotator"),
            Vocabulary.of(classes, "class"),
        )  # fmt: skip
        return cls(sentences, Annotations.from_rows(rows))

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, key: Any) -> "TokenLabels":
        """Some of the sentences with their labels; annotators and classes keep their codes."""
        return TokenLabels(self.sentences[key], self.annotations[self.sentences.tokens_of(key)])

    def find_orphan_tags(self) -> Bools:
        """Which labels are an I-X that follows no B-X or I-X of the same annotator.

        An I-X after a token that the annotator did not label is not counted as an orphan.
        """
        ann, scheme = self.annotations, TagScheme.of(self.annotations.classes)
        order = ann.annotator_order
        token, who = ann.item[order], ann.annotator[order]
        sentence = self.sentences.sentence_of_token[token]
        breaks = (np.diff(who) != 0) | (np.diff(sentence) != 0) | (np.diff(token) != 1)
        # runs of labels: one annotator, consecutive tokens of one sentence
        offsets = np.concatenate([[0], np.flatnonzero(breaks) + 1, [len(order)]])
        orphan_n = np.zeros(ann.n_annotations, dtype=bool)
        orphan_n[order] = find_orphan_tags(ann.label[order], offsets, scheme)
        first_n = order[offsets[:-1][np.diff(offsets) > 0]]
        begin_n = self.sentences.offsets[self.sentences.sentence_of_token[ann.item[first_n]]]
        orphan_n[first_n[ann.item[first_n] > begin_n]] = False
        return orphan_n

    def repaired(self, orphan_tags: OrphanTags = "repair") -> "TokenLabels":
        """Every orphan I-X becomes B-X, or raises a `DataError`; see `find_orphan_tags`."""
        require_choice("orphan_tags", orphan_tags, ("repair", "refuse"))
        ann, orphan_n = self.annotations, self.find_orphan_tags()
        if not orphan_n.any():
            return self
        if orphan_tags == "refuse":
            n = int(np.argmax(orphan_n))
            who = f"annotator {ann.annotators[ann.annotator[n]]!s}: "
            raise _orphan_tag(self.sentences, int(ann.item[n]), ann.classes[ann.label[n]], who)
        label_n = ann.label.copy()
        label_n[orphan_n] = TagScheme.of(ann.classes).begin_codes()[label_n[orphan_n]]
        return replace(self, annotations=replace(ann, label=read_only(label_n)))


def align_to_tokens(sentences: Sentences, annotations: Annotations) -> Annotations:
    """The labels with the tokens of the sentences as items, in order.

    Items are matched by the names of the tokens, "<sentence>:<token>" (`Sentences.token_names`).
    If no item has such a name, item t is token t.
    """
    names = sentences.token_names
    if len(names) == annotations.n_items and np.array_equal(annotations.items, names):
        return annotations
    if len(set(names)) == len(names):  # names of sentences must be unique to match by name
        tokens = Vocabulary.of(names, "item")
        known_i = tokens.codes(annotations.items.tolist()) >= 0
        lost_i = ~known_i & (annotations.labels_per_item > 0)
        if known_i.any() and not lost_i.any():
            return reindex_items(annotations, tokens)
        if known_i.any():
            raise DataError(
                f"{int(lost_i.sum())} items are no tokens of these sentences: "
                f"{join_names(annotations.items[lost_i])}; expected names of the form "
                "<sentence>:<token>, as the other items have"
            )
    _require_same("items of the annotations", annotations.n_items, sentences)
    return annotations


@dataclass(frozen=True, eq=False)
class TaggedSentences:
    """Sentences with one tag per token, such as the truth or the tags of a model."""

    sentences: Sentences
    tags: AnyArray

    def __post_init__(self) -> None:
        _require_same("tags", len(self.tags), self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, key: Any) -> "TaggedSentences":
        return TaggedSentences(self.sentences[key], self.tags[self.sentences.tokens_of(key)])

    def repaired(self, orphan_tags: OrphanTags = "repair") -> "TaggedSentences":
        """Every orphan I-X becomes B-X, or raises a `DataError` with its place."""
        require_choice("orphan_tags", orphan_tags, ("repair", "refuse"))
        scheme = TagScheme.covering(self.tags)
        code_t = scheme.codes(self.tags)
        orphan_t = find_orphan_tags(code_t, self.sentences.offsets, scheme)
        if orphan_tags == "refuse" and orphan_t.any():
            token = int(np.argmax(orphan_t))
            raise _orphan_tag(self.sentences, token, self.tags[token])
        code_t[orphan_t] = scheme.begin_codes()[code_t[orphan_t]]
        return replace(self, tags=scheme.names_of(code_t))


def _orphan_tag(sentences: Sentences, token: int, tag: object, annotator: str = "") -> DataError:
    """The error for an orphan I-X, with its sentence and token."""
    s = int(sentences.sentence_of_token[token])
    position = token - int(sentences.offsets[s])
    place = f"{annotator}sentence {sentences.names[s]}, token {position}"
    return DataError(
        f"{place} ({sentences.word[token]!r}): {tag} "
        "follows no entity of its type; begin the entity with B-, or choose ",
        SettingName("orphan_tags", "repair"),
    )


def _require_same(what: str, n: int, sentences: Sentences) -> None:
    if n != sentences.n_tokens:
        raise DataError(f"{n} {what} for {sentences.n_tokens} tokens; give one for every token")
