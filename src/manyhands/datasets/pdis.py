"""PDIS: is a noun phrase new in its document? Labels of players of Phrase Detectives.

The files are those of Uma et al., one document per line of JSON.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats, object_array
from manyhands.core.errors import DataError
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io.json_text import parse_json
from manyhands.io.texts import text_lines

CLASSES = ("DN", "DO")  # discourse-new, discourse-old

_PARTS = ("train", "dev", "test")
_SEPARATOR = " [SEP] "
_NEEDED = ("doc_key", "sentences", "mentions")
_NOTE = "phrases without gold_labels have the majority of their labels as truth, DN if tied"


@dataclass(frozen=True)
class Phrase:
    """A noun phrase: its name, its feature, the labels by annotator, and the true class.

    `truth` is None where the document has no gold labels.
    """

    item: str
    feature: Any
    labels: tuple[tuple[str, int], ...]
    truth: int | None

    @property
    def count_k(self) -> Floats:
        """The number of labels of each class."""
        codes = [code for _, code in self.labels]
        return np.bincount(codes, minlength=len(CLASSES)).astype(np.float64)


def load_pdis(home: Path, features: str) -> Corpus:
    """Noun phrases with labels by annotator for training, and others for validation and testing.

    Features `sentences` are the text of the sentence and the phrase, with [SEP] between them;
    `documents` the whole document and the phrase; `syntax` are the published numbers of the
    phrase. A split has a `label_distribution` if all its phrases have labels.
    """
    parts = {part: list(_phrases(home / _file(part), features)) for part in _PARTS}
    splits = {part: _split(home / _file(part), phrases) for part, phrases in parts.items()}
    train = splits["train"]
    said = {phrase.item: phrase.labels for phrase in parts["train"]}
    rows = [(item, who, CLASSES[code]) for item, labels in said.items() for who, code in labels]
    if not rows:
        raise DataError(f"{home / _file('train')}: no phrase has annotations")
    annotations = Annotations.from_arrays(
        *zip(*rows, strict=True), kind="classes", items=said, classes=CLASSES
    )
    only_gold = all(phrase.truth is not None for part in parts.values() for phrase in part)
    return Corpus(
        "pdis", train.features, annotations, train.truth, splits["test"], splits["dev"],
        () if only_gold else (_NOTE,),
    )  # fmt: skip


def _file(part: str) -> str:
    return f"combined_{part}_dndo_raw.jsonlines"


def _split(path: Path, phrases: list[Phrase]) -> Split:
    if not phrases:
        raise DataError(f"{path}: has no mentions")
    truth = []
    for phrase in phrases:
        if phrase.truth is None and not phrase.labels:
            raise DataError(f"{path}: {phrase.item} has neither gold_labels nor annotations")
        code = int(phrase.count_k.argmax()) if phrase.truth is None else phrase.truth
        truth.append(CLASSES[code])
    count_ik = np.array([phrase.count_k for phrase in phrases])
    total_i1 = count_ik.sum(axis=1, keepdims=True)
    shares = count_ik / total_i1 if total_i1.all() else None
    return Split(_as_array(path, [p.feature for p in phrases]), object_array(truth), shares)


def _as_array(path: Path, features: list[Any]) -> AnyArray:
    """Texts as objects, numbers as rows of floats."""
    if isinstance(features[0], str):
        return object_array(features)
    try:
        return np.array(features, dtype=np.float32)
    except (TypeError, ValueError):
        raise DataError(f"{path}: 'features' must have as many numbers for each phrase") from None


def _phrases(path: Path, features: str) -> Iterator[Phrase]:
    """The noun phrases of all documents of a file."""
    for number, line in enumerate(text_lines(path, "utf-8"), 1):
        if line.strip():
            place = f"{path}, line {number}"
            yield from _of_document(place, parse_json(line, place), features)


def _of_document(place: str, document: Any, features: str) -> Iterator[Phrase]:
    needed = (*_NEEDED, "features") if features == "syntax" else _NEEDED
    missing = needed if not isinstance(document, dict) else [n for n in needed if n not in document]
    if missing:
        raise DataError(f"{place}: has no {missing[0]!r}; a document has {', '.join(needed)}")
    listed = {name: document.get(name) for name in ("annotations", "gold_labels", "features")}
    for name, values in {**listed, **{n: document[n] for n in ("sentences", "mentions")}}.items():
        if values is not None and not isinstance(values, list):
            raise DataError(f"{place}: {name!r} must be a list; got {values!r:.40}")
    n_mentions = len(document["mentions"])
    for name, values in listed.items():
        if values is not None and len(values) != n_mentions:
            raise DataError(f"{place}: {len(values)} {name} for {n_mentions} mentions")
    if not all(isinstance(words, list) for words in document["sentences"]):
        raise DataError(f"{place}: a sentence must be a list of words")
    sentence_t = [list(map(str, words)) for words in document["sentences"] for _ in words]
    word_t = [str(word) for words in document["sentences"] for word in words]
    for index, mention in enumerate(document["mentions"]):
        item = f"{document['doc_key']}:{index}"
        first, last = _span(f"{place}: {item}", mention, len(word_t))
        context = word_t if features == "documents" else sentence_t[first]
        text = _SEPARATOR.join([" ".join(context), " ".join(word_t[first : last + 1])])
        yield Phrase(
            item,
            listed["features"][index] if features == "syntax" and listed["features"] else text,
            _labels(f"{place}: {item}", (listed["annotations"] or {index: []})[index]),
            None if listed["gold_labels"] is None
            else _gold(f"{place}: {item}", listed["gold_labels"][index]),
        )  # fmt: skip


def _span(place: str, mention: Any, n_words: int) -> tuple[int, int]:
    """The first and the last word of a mention, counted in the whole document."""
    whole = isinstance(mention, list) and [type(each) for each in mention] == [int, int]
    if not whole or not 0 <= mention[0] <= mention[1] < n_words:
        raise DataError(
            f"{place}: a mention is its first and last word, 0..{n_words - 1}; got {mention!r:.40}"
        )
    return mention[0], mention[1]


def _labels(place: str, annotations: Any) -> tuple[tuple[str, int], ...]:
    """Annotators and class codes, the first two values of each annotation."""
    found = []
    for each in annotations if isinstance(annotations, list) else [annotations]:
        if not isinstance(each, list) or len(each) < 2 or each[1] not in range(len(CLASSES)):
            raise DataError(
                f"{place}: an annotation is an annotator, then 0 (DN) or 1 (DO); got {each!r:.40}"
            )
        found.append((str(each[0]), int(each[1])))
    return tuple(found)


def _gold(place: str, gold: Any) -> int:
    """The class with the 1 of a one-hot label."""
    if not isinstance(gold, list) or gold not in ([1, 0], [0, 1]):
        raise DataError(f"{place}: a gold label is [1, 0] (DN) or [0, 1] (DO); got {gold!r:.40}")
    return gold.index(1)


PDIS = Reader(
    "pdis",
    "new or old information, noun phrases, 1728 annotators",
    [_file(part) for part in _PARTS],
    {"sentences": [], "documents": [], "syntax": []},
    load_pdis,
)
