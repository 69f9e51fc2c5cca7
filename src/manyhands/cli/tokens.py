"""Files of tokens: what people said of them, what is true, and what came out."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

import manyhands as mh
from manyhands.annotations import (
    Sentences,
    TaggedSentences,
    TokenizedTexts,
    TokenLabels,
    is_bio_tag,
)
from manyhands.annotations.tags import ORPHAN_TAGS
from manyhands.cli.options import Reading, TaskOptions
from manyhands.cli.output import in_options, is_tagged, put_table
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import require_choice
from manyhands.io.tables import SUFFIXES, existing
from manyhands.io.texts import text_lines

_HEADS = ("#token", "#tokens", "#word", "#words")  # first cells of a line of names
_ONLY_SPANS = ("item", "annotator", "label")
_ONLY_ITEMS = ("layout", "kind")


@dataclass(frozen=True)
class TokenFile:
    """Labels of tokens, what a person should know of them, and the texts if there were any."""

    labels: TokenLabels
    notes: tuple[str, ...]
    texts: TokenizedTexts | None = None

    @property
    def sentences(self) -> Sentences:
        """The sentences."""
        return self.labels.sentences


def tokens_from(path: str, layout: str, task_options: TaskOptions, reading: Reading) -> TokenFile:
    """The labels of a file that `tokens_layout` has looked at."""
    require_choice("--orphan-tags", task_options.orphan_tags, ORPHAN_TAGS)
    require_choice("--alignment", task_options.alignment, mh.io.ALIGNMENTS)
    _refuse_options(path, layout, task_options, reading)
    classes = reading.settings()["classes"]
    texts = None
    try:
        if layout == "spans":
            marked = _spans(path, classes, task_options, reading)
            labels, texts = marked.labels, None if marked.in_tokens else marked.texts
        else:
            mark = (reading.missing or ["?"])[0]
            labels = mh.read_conll(path, tags=classes, missing=mark, encoding=reading.encoding)
    except DataError as error:
        raise DataError(in_options(str(error))) from None
    if labels.annotations.n_annotations == 0:
        raise DataError(f"{path}: there is not a single label; nothing can be said")
    n_stray = int(labels.find_orphan_tags().sum())
    if task_options.orphan_tags != "keep":
        try:
            labels = labels.repaired(cast(Any, task_options.orphan_tags))
        except DataError as error:
            raise DataError(f"{path}: {in_options(str(error))}") from None
    return TokenFile(labels, tuple(_notes(labels, n_stray, task_options.orphan_tags)), texts)


def tagged_from(path: str, reading: Reading) -> TaggedSentences:
    """True tags: lines with a token first and its tag last."""
    if Path(path).suffix.lower() in SUFFIXES:
        raise DataError(f"{path}: true tags are lines of a token and its tag, in a .bio file")
    classes = reading.settings()["classes"]
    return mh.read_bio(path, tags=classes, encoding=reading.encoding)


def sentences_from(path: str, reading: Reading, tags: Collection[str] = ()) -> Sentences:
    """The words of a file with a token in every line, and perhaps columns of tags behind it.

    `tags` are those that are known, beside BIO's.
    """
    suffix = Path(path).suffix.lower()
    if SUFFIXES.get(suffix, "tsv") != "tsv":
        raise DataError(f"{path}: is a table; tokens stand in a file with one in every line")
    words: list[str] = []
    last = set[str]()
    ends, width, split = [0], 0, ""
    for number, line in enumerate(text_lines(_file(path), reading.encoding), 1):
        if not line.strip(" \t") or line.startswith("-DOCSTART-"):
            ends.append(len(words))
            continue
        split = split or ("\t" if "\t" in line else " ")
        cells = line.split("\t") if split == "\t" else re.split(r"[ \t]+", line.strip(" \t"))
        if width and len(cells) != width:
            raise DataError(
                f"{path}, line {number}: {len(cells)} columns where the lines before have {width}; "
                "a file of tokens has one in every line, and a blank line between sentences"
            )
        if not width and cells[0].lower() in _HEADS:
            width = len(cells)  # the names of the columns
            continue
        width = len(cells)
        words.append(cells[0])
        last.add(cells[-1])
    if not words:
        raise DataError(f"{path}: the file holds no token")
    if width > 1 and not any(is_bio_tag(cell) or cell in tags for cell in last):
        raise DataError(
            f"{path}: lines of {width} columns, and the last holds no tags; put one token in every "
            "line, and a blank line between sentences"
        )
    return Sentences.from_tokens(words, np.unique([*ends, len(words)]))


def require_same(path: str, one: Sentences, other_path: str, other: Sentences) -> None:
    """Refuse two files of other words or sentences, at the first difference."""
    for s in range(min(len(one), len(other))):
        if one.words(s) != other.words(s):
            raise DataError(
                f"{other_path}: sentence {s} is {_short(other.words(s))}, and in {path} "
                f"{_short(one.words(s))}; both must hold the same tokens"
            )
    if len(one) != len(other):
        raise DataError(f"{other_path}: {len(other)} sentences, and in {path} {len(one)}")


def put_tokens(
    sentences: Sentences, tags: Sequence[str] | AnyArray, columns: dict[str, AnyArray], out: str
) -> None:
    """Tokens with their tags to a CoNLL file by its suffix, or to a table."""
    if is_tagged(out):
        mh.io.write_bio(TaggedSentences(sentences, np.asarray(tags, dtype=object)), out)
    else:
        put_table(columns, out)


def with_words(sentences: Sentences, columns: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """A table of tokens with their words behind the items."""
    return {"item": columns["item"], "word": sentences.word} | columns


def _spans(
    path: str, types: Any, task_options: TaskOptions, reading: Reading
) -> "mh.io.TextLabels":
    given = {"document": reading.item, "annotator": reading.annotator, "label": reading.label}
    columns = {role: name for role, name in given.items() if name is not None}
    table = None if reading.format == "spans" else reading.format
    return mh.read_spans(
        path, columns=columns, alignment=cast(Any, task_options.alignment), types=types, format=table,
        encoding=reading.encoding,
    )  # fmt: skip


def _refuse_options(path: str, layout: str, task_options: TaskOptions, reading: Reading) -> None:
    """Options that say nothing about such a file are no help, and are told so."""
    lost = [name for name in _ONLY_ITEMS if getattr(reading, name) is not None]
    if layout == "conll":
        lost += [name for name in _ONLY_SPANS if getattr(reading, name) is not None]
    elif reading.missing:
        lost.append("missing")
    lost += ["range"] if task_options.bounds is not None else []
    if lost:
        raise SettingError(f"--{lost[0]} is not for {path}, which holds tagged tokens")
    if len(reading.missing or ()) > 1:
        raise SettingError("--missing may be given once for tokens: one mark says no label")


def _notes(labels: TokenLabels, n_stray: int, orphan_tags: str) -> list[str]:
    notes, sentences, ann = [], labels.sentences, labels.annotations
    if n_stray:
        done = "were made B-" if orphan_tags == "repair" else "are kept"
        notes.append(f"{n_stray} tags I- that follow nothing {done} (--orphan-tags)")
    labelled = np.unique(sentences.sentence_of_token[ann.item])
    n_bare = len(sentences) - len(labelled)
    if n_bare:
        notes.append(f"{n_bare} of {len(sentences)} sentences have no label; they are kept")
    return notes


def _file(path: str) -> Path:
    return existing(path)


def _short(words: list[str]) -> str:
    return repr(" ".join(words[:6]) + (" ..." if len(words) > 6 else ""))
