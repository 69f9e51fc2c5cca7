"""Tagged tokens: what to say about a file of them, and how to write them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import manyhands as mh
from manyhands.cli.options import LabelOptions
from manyhands.cli.output import is_tagged, put_table
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError


def notes_on(marked: "mh.io.TextLabels", orphan_tags: str | None) -> list[str]:
    """What a person should know about a file of tagged tokens."""
    notes, labels = [], marked.labels
    if marked.n_orphan_tags:
        done = "are kept" if orphan_tags == "keep" else "were changed to B-"
        notes.append(f"{marked.n_orphan_tags} tags I- that follow no entity {done} (--orphan-tags)")
    sentence_n = labels.sentences.sentence_of_token[labels.annotations.item]
    n_bare = len(labels) - len(np.unique(sentence_n))
    if n_bare:
        notes.append(f"{n_bare} of {len(labels)} sentences have no label; they are kept")
    return notes


def read_true_tags(
    path: str | None, options: LabelOptions
) -> "mh.annotations.TaggedSentences | None":
    """True tags, if a file is given: lines with a token first and its tag last."""
    if path is None:
        return None
    if Path(path).suffix.lower() in mh.io.SUFFIXES:
        raise DataError(f"{path}: true tags are lines of a token and its tag, in a .bio file")
    settings = options.settings()
    return mh.read_bio(path, tags=settings["classes"], encoding=options.encoding)


def put_tokens(
    sentences: "mh.Sentences",
    tags: Sequence[str] | AnyArray,
    columns: dict[str, AnyArray],
    out: str,
) -> None:
    """Write tokens with their tags to a CoNLL file, or a table, by the suffix."""
    if is_tagged(out):
        tagged = mh.annotations.TaggedSentences(sentences, np.asarray(tags, dtype=object))
        mh.io.write_bio(tagged, out)
    else:
        put_table(columns, out)


def with_words(sentences: "mh.Sentences", columns: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """A table of tokens, with their names and words first."""
    return {"item": sentences.token_names, "word": sentences.word} | columns
