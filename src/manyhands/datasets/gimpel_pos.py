"""Gimpel-POS: parts of speech of the words of tweets, with labels of 177 annotators.

Plank et al. collected the labels for the tweets of Gimpel et al.; `dh.xlsx` is the table of words
that Fornaciari et al. published with them.
"""

from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io.tables import Table
from manyhands.io.texts import text_lines

TAGS = (
    "ADJ", "ADP", "ADV", "CCONJ", "DET", "NOUN", "NUM", "PRON", "PART", "PUNCT", "VERB", "X",
)  # fmt: skip

_OLD_TAGS = {"CONJ": "CCONJ", "PRT": "PART", ".": "PUNCT"}  # of the first universal tag set
_WORDS, _LABELS = "dh.xlsx", "gimpel_crowdsourced-tf.tsv"
_COLUMNS = ("set", "word", "sent", "gold", "mv")
_LABEL_FIELD = 2  # the third field of a line, which has the labels of all annotators
_SEPARATOR = " [SEP] "
_MIN_AGREEMENT = 0.5  # of majority labels with those of the table; files of two orders have less


def load_gimpel_pos(home: Path, features: str) -> Corpus:
    """13000 labelled words for training, 1439 for validation, 3064 words with truths for testing.

    An item is a word of a tweet; its text is the tweet and the word, with [SEP] between them.
    The words for validation have the `label_distribution` of their annotators.
    """
    words = Table.open(home / _WORDS)
    column = words.select([words.find_column(name, name) for name in _COLUMNS])
    cells = {name: column[name].to_pylist() for name in _COLUMNS}
    row = {part: _rows(words, cells["set"], part) for part in ("trn", "dev", "hard-tst")}
    text = object_array([
        f"{tweet.strip()}{_SEPARATOR}{word}"
        for tweet, word in zip(cells["sent"], cells["word"], strict=True)
    ])  # fmt: skip
    truth = {part: _truth(words, cells["gold"], rows) for part, rows in row.items()}
    labelled = np.concatenate([row["trn"], row["dev"]])
    labels = _read_labels(home / _LABELS, len(labelled))
    _require_same_order(home / _LABELS, labels, [cells["mv"][each] for each in labelled])
    train = labels[: len(row["trn"])]
    valid_counts = np.zeros((len(row["dev"]), len(TAGS)))
    for count_k, said in zip(valid_counts, labels[len(train) :], strict=True):
        np.add.at(count_k, list(said.values()), 1)
    shares = valid_counts / valid_counts.sum(axis=1, keepdims=True)
    named = {item: {who: TAGS[tag] for who, tag in said.items()} for item, said in enumerate(train)}
    return Corpus(
        "gimpel-pos",
        text[row["trn"]],
        Annotations.from_dicts(named, classes=TAGS),
        truth["trn"],
        Split(text[row["hard-tst"]], truth["hard-tst"]),
        Split(text[row["dev"]], truth["dev"], shares),
    )


def _rows(words: Table, sets: list[Any], part: str) -> AnyArray:
    """The rows of the words of a part."""
    rows = np.flatnonzero(np.array(sets, dtype=object) == part)
    if not len(rows):
        raise DataError(f"{words.path}: column 'set' has no {part!r}")
    return rows


def _truth(words: Table, cells: list[Any], rows: AnyArray) -> AnyArray:
    """The true tags of some words, by name."""
    codes = {str(code): tag for code, tag in enumerate(TAGS)}
    for row in rows:
        if str(cells[row]) not in codes:
            raise DataError(
                f"{words.place(int(row))}, column 'gold': a tag must be a code 0..{len(TAGS) - 1}; "
                f"got {cells[row]!r}"
            )
    return object_array([codes[str(cells[row])] for row in rows])


def _read_labels(path: Path, n_words: int) -> list[dict[int, int]]:
    """The tag codes of each word by annotator: the n-th label of a line is of annotator n."""
    codes = {tag: code for code, tag in enumerate(TAGS)}
    codes |= {old: codes[tag] for old, tag in _OLD_TAGS.items()}
    found: list[dict[int, int]] = []
    for number, line in enumerate(text_lines(path, "utf-8"), 1):
        if not line.strip():
            continue
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) <= _LABEL_FIELD:
            raise DataError(
                f"{path}, line {number}: expected three fields with tabs between them, the third "
                "with labels; the file may be cut short"
            )
        said = {who: tag.strip() for who, tag in enumerate(fields[_LABEL_FIELD].split(","))}
        unknown = [tag for tag in said.values() if tag and tag not in codes]
        if unknown or not any(said.values()):
            got = f"got {unknown[0]!r}" if unknown else "there is none"
            raise DataError(
                f"{path}, line {number}: labels must be of {', '.join(codes)}, with a comma "
                f"between annotators; {got}"
            )
        found.append({who: codes[tag] for who, tag in said.items() if tag})
    if len(found) != n_words:
        raise DataError(
            f"{path}: has {len(found)} words, and {_WORDS} has {n_words} for training and "
            "validation; use files of one release"
        )
    return found


def _require_same_order(path: Path, labels: list[dict[int, int]], majority: list[Any]) -> None:
    """Refuse labels in another order than the words, by the majority labels of the words."""
    counts = [np.bincount(list(said.values()), minlength=len(TAGS)) for said in labels]
    same = [
        str(code) in map(str, np.flatnonzero(count_k == count_k.max()))
        for count_k, code in zip(counts, majority, strict=True)
    ]
    if np.mean(same) < _MIN_AGREEMENT:
        raise DataError(
            f"{path}: the labels do not belong to the words of {_WORDS}: the majority label of "
            f"only {np.mean(same):.0%} agrees with its column 'mv'; use files of one release"
        )


GIMPEL_POS = Reader(
    "gimpel-pos",
    "12 parts of speech, 13000 words of tweets, 177 annotators",
    [_WORDS, _LABELS],
    {"texts": []},
    load_gimpel_pos,
)
