"""WebAnno TSV 3, the format of INCEpTION and WebAnno: the tokens of a document and its spans.

A line is a token: its number, its characters, its text, then a column per feature. A cell is `_`
for no annotation, `*` for one without a value, or values such as PER[2]: all tokens with [2] are
one annotation. `|` stands between several annotations of a token.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from manyhands.annotations.tags import is_bio_tag
from manyhands.core.errors import DataError

HEAD = "#FORMAT=WebAnno TSV 3"
_SPAN_LAYER, _OTHER_LAYERS = "#T_SP=", ("#T_RL=", "#T_CH=")
# Layers of the tokens themselves, which are no entities.
_OF_TOKENS = {"POS", "Lemma", "Stem", "MorphologicalFeatures", "Token", "Sentence"}
_TOKEN = re.compile(r"(\d+)-(\d+)(\.\d+)?")
_VALUE = re.compile(r"((?:\\.|[^\\\[\]|])*)(?:\[(\d+)\])?")
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class Mark:
    """An annotation: the first token and the one after the last, counted over the document."""

    first: int
    end: int
    label: str | None
    within_token: bool = False


@dataclass
class WebAnnoDocument:
    """The words of every sentence, and the marks of every feature by "Layer.feature"."""

    sentences: list[list[str]] = field(default_factory=list)
    marks: dict[str, list[Mark]] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """The words of all sentences."""
        return [word for sentence in self.sentences for word in sentence]


def parse_webanno(text: str, where: str) -> WebAnnoDocument:
    """The tokens and the annotations of a WebAnno TSV file; `where` is for errors."""
    lines = _lines(text)
    if not lines or not lines[0].startswith(HEAD):
        raise DataError(f"{where}: not WebAnno TSV 3; export the documents as WebAnno TSV v3.x")
    found, columns = WebAnnoDocument(), list[str]()
    cells_of: dict[str, list[tuple[int, bool, str]]] = {}
    sentence, n_tokens = "", 0
    for number, line in enumerate(lines, 1):
        if line.startswith(_SPAN_LAYER) or line.startswith(_OTHER_LAYERS):
            columns += _columns(line)
        match = None if line.startswith("#") or not line else _TOKEN.match(line)
        if match is None:
            continue
        cells = line.split("\t")
        if len(cells) < 3 + len(columns):
            raise DataError(
                f"{where}, line {number}: {len(cells)} cells where {3 + len(columns)} are "
                "expected; the file may be cut short"
            )
        is_part = match[3] is not None
        if not is_part:
            if match[1] != sentence:
                found.sentences.append([])
                sentence = match[1]
            found.sentences[-1].append(_unescaped(cells[2]))
            n_tokens += 1
        for name, cell in zip(columns, cells[3:], strict=False):
            if name and cell != "_":
                cells_of.setdefault(name, []).append((n_tokens - 1, is_part, cell))
    if not found.sentences:
        raise DataError(f"{where}: has no token")
    for name in dict.fromkeys(filter(None, columns)):
        found.marks[name] = list(_marks(cells_of.get(name, []), name))
    return found


def parse_conll(text: str, where: str) -> WebAnnoDocument:
    """The tokens of a CoNLL file of one annotator, and the entities in its last column."""
    found, marks = WebAnnoDocument(), list[Mark]()
    before, is_new, n_tokens = "", True, 0
    for number, line in enumerate(_lines(text), 1):
        cells = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or cells[0] == "-DOCSTART-":
            is_new = True
            continue
        tag = "O" if cells[-1] == "_" else cells[-1]
        if len(cells) < 2 or not is_bio_tag(tag):
            raise DataError(
                f"{where}, line {number}: the tag {tag!r} is not O, B-TYPE or I-TYPE; export the "
                "documents as WebAnno TSV v3.x, CoNLL 2002 or CoNLL 2003"
            )
        if is_new:
            found.sentences.append([])
        token = n_tokens
        n_tokens += 1
        found.sentences[-1].append(cells[0])
        if tag != "O" and not is_new and tag[:2] == "I-" and before == tag[2:]:
            marks[-1] = replace(marks[-1], end=token + 1)
        elif tag != "O":
            marks.append(Mark(token, token + 1, tag[2:]))
        before, is_new = tag[2:], False
    if not found.sentences:
        raise DataError(f"{where}: has no token")
    found.marks["tag"] = marks
    return found


def features_of_spans(documents: Mapping[str, WebAnnoDocument]) -> dict[str, str]:
    """The features that may be the label, with an example; those of tokens only if named."""
    examples: dict[str, str] = {}
    for document in documents.values():
        for name, marks in document.marks.items():
            labelled = [mark.label for mark in marks if mark.label is not None]
            if labelled and name.partition(".")[0] not in _OF_TOKENS:
                examples.setdefault(name, f"such as {labelled[0]}")
    # The identifier of a named entity is a link; its value is the label.
    return {
        name: example
        for name, example in examples.items()
        if not name.endswith(".identifier") or f"{name[: -len('identifier')]}value" not in examples
    }


def _lines(text: str) -> list[str]:
    """The lines of a text; a token may hold any other separator."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")


def _columns(line: str) -> list[str]:
    """The name of every column of a layer, "Layer.feature"; empty for those without spans."""
    layer, *features = line.partition("=")[2].split("|")
    short = layer.rpartition(".")[2]
    is_span = line.startswith(_SPAN_LAYER)
    slots = {place + 1 for place, each in enumerate(features) if each.startswith("ROLE_")}
    names = []
    for place, feature in enumerate(features or [""]):
        is_value = is_span and place not in slots and not feature.startswith("ROLE_")
        names.append((f"{short}.{feature}" if feature else short) if is_value else "")
    return names


def _marks(cells: list[tuple[int, bool, str]], name: str) -> Iterator[Mark]:
    """The annotations of one feature: values with the same number are one."""
    numbered: dict[str, Mark] = {}
    for token, is_part, cell in cells:
        for value, number in _values(cell):
            # A layer without features marks spans of one kind, named as the layer.
            label = value if value is not None or "." in name else name
            mark = Mark(token, token + 1, label, is_part)
            if number is None:
                yield mark
                continue
            before = numbered.setdefault(number, mark)
            is_within = before.within_token or is_part
            numbered[number] = Mark(before.first, token + 1, before.label, is_within)
    yield from numbered.values()


def _values(cell: str) -> Iterator[tuple[str | None, str | None]]:
    """The values of a cell with their numbers."""
    for match in _VALUE.finditer(cell):
        if match[0] and match[1] not in ("", "_"):
            yield None if match[1] == "*" else _unescaped(match[1]), match[2]


def _unescaped(text: str) -> str:
    controls = {"t": "\t", "n": "\n", "r": "\r"}
    return _ESCAPED.sub(lambda match: controls.get(match[1], match[1]), text)
