"""CoNLL files: one line per token, and one column of tags per annotator."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from manyhands.annotations import Sentences, TaggedSentences, TagScheme, TokenLabels
from manyhands.annotations.grouping import duplicated_pairs
from manyhands.annotations.tags import ORPHAN_TAGS, OrphanTags, is_bio_tag
from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice
from manyhands.io.atomic import atomic_write
from manyhands.io.texts import existing, require_width, text_lines

L = TypeVar("L", TokenLabels, TaggedSentences)

BREAK = "-DOCSTART-"  # a line of CoNLL files that stands between documents
_BLANKS = " \t"  # what parts cells; a token may hold, or be, white space of any other kind
_PARTED = re.compile(f"[{_BLANKS}]+")
_MARK = "\ufeff"  # taken off where a file begins with it
_HEADS = ("#token", "#tokens", "#word", "#words")  # first cells of a line of column names


def read_conll(
    path: str | Path,
    *,
    annotators: Sequence[Any] | None = None,
    tags: Sequence[str] | None = None,
    missing: str = "?",
    orphan_tags: OrphanTags = "keep",
    encoding: str = "utf-8",
) -> TokenLabels:
    """Read lines "token tag tag ...", one column per annotator, a blank line after a sentence.

    Columns are separated by tabs if the first line has one, otherwise by blanks. `missing` marks a
    token that the annotator did not label. The names of annotators are `annotators`, or those of a
    first line "#token name name ...", or 0, 1, 2 ... Tags are O, B-TYPE and I-TYPE unless `tags`
    lists others. `orphan_tags` tells what to do with an annotator's I-X that follows no
    B-X or I-X: "keep" it, "repair" it to B-X, or "refuse" it.
    """
    require_choice("orphan_tags", orphan_tags, ORPHAN_TAGS)
    columns = _Columns(existing(path), tags, missing).read(encoding)
    width = columns.width - 1
    if not width:
        raise DataError(f"{path}: no column of tags behind the tokens")
    named = annotators if annotators is not None else columns.header
    if named is not None and len(named) != width:
        raise DataError(f"{path}: {len(named)} annotators are named for {width} columns of tags")
    code_n, names = columns.classes()
    labels = TokenLabels.from_codes(
        columns.sentences(),
        np.array(columns.token, dtype=np.int32),
        np.array(columns.column, dtype=np.int32) - 1,
        code_n,
        range(width) if named is None else named,
        names,
    )
    return labels if orphan_tags == "keep" else repaired_at(path, labels, orphan_tags)


def read_bio(
    path: str | Path,
    *,
    column: int = -1,
    tags: Sequence[str] | None = None,
    orphan_tags: OrphanTags = "keep",
    encoding: str = "utf-8",
) -> TaggedSentences:
    """Read lines with a token first and its tag in `column`, by default the last."""
    require_choice("orphan_tags", orphan_tags, ORPHAN_TAGS)
    columns = _Columns(existing(path), tags, None, column).read(encoding)
    code_t, names = columns.classes()
    tagged = TaggedSentences(columns.sentences(), object_array(names)[code_t])
    return tagged if orphan_tags == "keep" else repaired_at(path, tagged, orphan_tags)


def read_sentences(
    path: str | Path, *, tags: Collection[str] = (), encoding: str = "utf-8"
) -> Sentences:
    """The words of a file with one token per line; columns of tags behind them are ignored.

    Of several columns the last must contain tags: those of BIO, or known `tags`.
    """
    columns = _Columns(existing(path), None, None, -1, any_tag=True).read(encoding)
    if columns.width > 1 and not any(is_bio_tag(cell) or cell in tags for cell in columns.code_of):
        raise DataError(
            f"{path}: lines of {columns.width} columns, and the last has no tags; put one token in "
            "every line, and a blank line between sentences"
        )
    return columns.sentences()


def write_conll(labels: TokenLabels, path: str | Path, *, missing: str = "?") -> None:
    """Write tokens and one column of tags per annotator, with tabs; line 1 names annotators."""
    ann = labels.annotations
    if duplicated_pairs(ann.item, ann.annotator).any():
        raise DataError("an annotator labelled a token twice; a column has room for one tag")
    names = [_cell(name) for name in ann.annotators]
    said = [_cell(name) for name in ann.classes]
    if not names:
        raise DataError("no annotator is named; a file of tags needs a column of them")
    for known in (is_bio_tag, said.__contains__):  # the reader's, without its tags= and with them
        if all(known(name) or name == missing for name in names):
            raise DataError("the annotators are called as tags are; rename them")
    if missing in said or _breaks_cells(missing):
        raise DataError(
            f"{missing!r} is a tag too, or holds a tab or a line; choose another mark with ",
            SettingName("missing", ...),
        )
    grid = np.full((ann.n_items, ann.n_annotators), missing, dtype=object)
    grid[ann.item, ann.annotator] = object_array(said)[ann.label]
    _write(labels.sentences, grid.tolist(), path, ["#token", *names])


def write_bio(tagged: TaggedSentences, path: str | Path) -> None:
    """Write tokens and their tags, separated by tabs."""
    _write(tagged.sentences, [[_cell(tag)] for tag in tagged.tags], path, None)


@dataclass
class _Columns:
    """The content of the lines of a file: tokens and tags."""

    path: Path
    tags: Sequence[str] | None
    missing: str | None
    only: int | None = None  # the one column to take; None: all of them
    any_tag: bool = False  # take any cell for a tag
    encoding: str = "utf-8"
    width: int = 0
    header: list[str] | None = None
    words: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    token: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    code_of: dict[str, int] = field(default_factory=dict)

    def read(self, encoding: str) -> "_Columns":
        """These columns, with every line of the file."""
        self.encoding = encoding
        for number, cells in token_rows(self.path, encoding):
            if not cells or cells[0] == BREAK:
                self.ends.append(len(self.words))
            elif not self.width and self._is_header(cells):
                self.header = cells[1:]
                self.width = len(cells)
            else:
                self._take(number, cells)
        self.ends.append(len(self.words))
        if not self.words:
            raise DataError(f"{self.path}: the file holds no token")
        return self

    def sentences(self) -> Sentences:
        """The sentences; several blank lines count as one."""
        return Sentences.from_tokens(self.words, np.unique([0, *self.ends]))

    def classes(self) -> tuple[AnyArray, tuple[str, ...]]:
        """The code of every tag, and the names of the codes."""
        names = tuple(self.tags) if self.tags else TagScheme.covering(self.code_of).names
        place = {name: code for code, name in enumerate(names)}
        recode = np.array([place[name] for name in self.code_of], dtype=np.int32)
        return recode[np.array(self.label, dtype=np.int64)], names

    def _is_header(self, cells: list[str]) -> bool:
        if self.any_tag:
            return cells[0].lower() in _HEADS
        given = all(self._is_known(cell) or cell == self.missing for cell in cells[1:])
        return self.only is None and cells[0].startswith("#") and not given

    def _is_known(self, tag: str) -> bool:
        return self.any_tag or (tag in self.tags if self.tags else is_bio_tag(tag))

    def _take(self, number: int, cells: list[str]) -> None:
        if len(cells) != self.width:
            if self.width:
                raise DataError(
                    f"{self.path}, line {number}: {len(cells)} columns where the lines before have "
                    f"{self.width}; every line has one token and equally many columns, and a blank "
                    "line ends a sentence; the file may be cut short"
                )
            self.width = len(cells)
        if _is_blank(cells[0]):
            raise DataError(f"{self.path}, line {number}: the token is blank; the line begins so")
        if self.only is not None and not -len(cells) <= self.only < len(cells):
            raise DataError(
                f"{self.path}, line {number}: no column {self.only}; there are {len(cells)}, "
                "counted from 0"
            )
        token = len(self.words)
        self.words.append(cells[0])
        taken = range(1, len(cells)) if self.only is None else [self.only % len(cells)]
        for column in taken:
            tag = cells[column]
            if tag == self.missing:
                continue
            code = self.code_of.get(tag)
            self.token.append(token)
            self.column.append(column)
            self.label.append(self._new(number, column, tag) if code is None else code)

    def _new(self, number: int, column: int, tag: str) -> int:
        """The code of a tag that is new."""
        if not self._is_known(tag):
            if self.only is None:
                self._require_tags(column)
            known = ", ".join(self.tags) if self.tags else "O, B-TYPE or I-TYPE"
            mark = f", or {self.missing} for no label" if self.missing else ""
            raise DataError(
                f"{self.path}, line {number}, column {column + 1}: the tag {tag!r} is outside the "
                f"scheme; expected {known}{mark}"
            )
        return self.code_of.setdefault(tag, len(self.code_of))

    def _require_tags(self, column: int) -> None:
        """Raise a `DataError` for a column of something else, such as parts of speech."""
        rows = [row for _, row in token_rows(self.path, self.encoding) if len(row) == self.width]
        rows = [row for row in rows if row[0] != BREAK and row[0][:1] != "#"]
        said = [row[column] for row in rows]
        n_tags = sum(self._is_known(cell) or cell == self.missing for cell in said)
        if len(said) < 2 or 2 * n_tags >= len(said):
            return  # a tag that is misspelt
        others = [cell for cell in dict.fromkeys(said) if not self._is_known(cell)]
        shown = ", ".join(others[:3]) + (" ..." if len(others) > 3 else "")
        raise DataError(
            f"{self.path}: column {column + 1} holds no tags ({shown}); leave it out: behind the "
            "token there is one column of tags per annotator, and no other"
        )


def token_rows(path: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of every line; a blank line has no cells."""
    tabbed: bool | None = None
    for number, line in enumerate(text_lines(path, encoding), 1):
        if _is_blank(line):
            yield number, []
            continue
        if tabbed is None:
            tabbed = "\t" in line
        cells = line.split("\t") if tabbed else _PARTED.split(line.strip(_BLANKS))
        require_width(path, len(cells))
        yield number, cells


def _write(
    sentences: Sentences, rows: list[list[str]], path: str | Path, header: list[str] | None
) -> None:
    if not len(sentences):
        raise DataError("no sentence is there to be written")
    if sentences.lengths.min() == 0:
        empty = sentences.names[int(np.argmin(sentences.lengths))]
        raise DataError(f"sentence {empty}: it has no token, which such a file cannot tell")
    words = [_cell(word) for word in sentences.word]
    if BREAK in words:
        raise DataError(f"the token {BREAK!r} parts documents in such a file; leave it out")
    ends = set(sentences.offsets[1:].tolist())
    with atomic_write(path) as stream:
        if header is not None:
            stream.write(("\t".join(header) + "\n").encode())
        elif words[0].startswith(_MARK):
            stream.write(_MARK.encode())  # readers take off one
        for token, (word, row) in enumerate(zip(words, rows, strict=True), 1):
            stream.write(("\t".join([word, *row]) + "\n" + "\n" * (token in ends)).encode())


def _cell(value: object) -> str:
    text = str(value)
    if _is_blank(text) or _breaks_cells(text):
        raise DataError(
            f"{text!r} cannot stand in a column: it is blank, or holds a tab, the end of a line or "
            "half of a UTF-16 pair"
        )
    return text


def _is_blank(text: str) -> bool:
    return not text.strip(_BLANKS)


def _breaks_cells(text: str) -> bool:
    """Whether a cell would be read as several, or could not be saved at all."""
    return any(mark in "\t\n\r" or "\ud800" <= mark <= "\udfff" for mark in text)


def repaired_at(path: str | Path, labels: L, orphan_tags: OrphanTags) -> L:
    """The labels of a file with their orphan tags repaired; errors name the file."""
    try:
        return labels.repaired(orphan_tags)
    except DataError as error:
        raise error.at(path) from None


def require_same_tokens(
    path: object, first: Sentences, other_path: object, other: Sentences
) -> None:
    """Raise a `DataError` at the first sentence in which the words of two files differ."""
    for s in range(min(len(first), len(other))):
        if first.words(s) != other.words(s):
            raise DataError(
                f"{other_path}: sentence {s} is {_excerpt(other.words(s))}, and in {path} "
                f"{_excerpt(first.words(s))}; both must have the same tokens"
            )
    if len(first) != len(other):
        raise DataError(f"{other_path}: {len(other)} sentences, and in {path} {len(first)}")


def _excerpt(words: list[str]) -> str:
    return repr(" ".join(words[:6]) + (" ..." if len(words) > 6 else ""))
