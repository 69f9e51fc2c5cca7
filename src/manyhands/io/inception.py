"""INCEpTION and WebAnno projects: a file per document and annotator -> labels of tokens."""

import io
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from manyhands.annotations import Sentences, TokenLabels
from manyhands.annotations.source import Source
from manyhands.annotations.tags import Span, TagScheme, spans_to_tags
from manyhands.core.errors import DataError, SettingName, first_line
from manyhands.io.exports.exported import counted, pick
from manyhands.io.packed import BROKEN, MAX_RATIO, MAX_UNPACKED, of_machine
from manyhands.io.spans import Alignment, TextLabels
from manyhands.io.webanno import (
    HEAD,
    Mark,
    WebAnnoDocument,
    features_of_spans,
    parse_conll,
    parse_webanno,
)

CURATED = "CURATION_USER"
_INITIAL = "INITIAL_CAS"  # the document before anyone annotated it
_SUFFIX, _ZIP = ".tsv", ".zip"
_MACOS = "__MACOSX/"  # what a system adds to an archive
_SUFFIXES = (_SUFFIX, ".conll", ".conll2002", ".conll2003")
_ANNOTATION, _CURATION = "annotation", "curation"

Files = Mapping[str, Mapping[str, str]]  # {document: {user: text of the file}}


def is_webanno(path: Path) -> bool:
    """Whether a file is WebAnno TSV, or a folder or zip has such files of documents and users."""
    if path.is_dir() or (path.is_file() and path.suffix.lower() == ".zip"):
        return bool(find_documents(path, n_files=1))
    if path.suffix.lower() != _SUFFIX or not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(64).decode("utf-8-sig", "replace").startswith(HEAD)


def find_documents(path: Path, n_files: int | None = None) -> dict[str, dict[str, str]]:
    """The files of a folder, zip or single file, {document: {user: text}}.

    A project has the folders annotation/DOCUMENT/USER.tsv and curation/DOCUMENT/CURATION_USER.tsv,
    or .conll in place of .tsv, or USER.zip with one such file; a folder of documents, or of one
    document, will do for .tsv. `n_files` stops the search.
    """
    if path.is_file() and path.suffix.lower() != ".zip":
        return {"": {path.stem: path.read_text(encoding="utf-8-sig")}}
    try:
        top: Path | zipfile.Path = path if path.is_dir() else zipfile.Path(path)
        names = _tables(top)
    except BROKEN as error:
        if of_machine(error):
            raise
        return {}
    found: dict[str, dict[str, str]] = {}
    parts = {tuple(name.split("/")) for name in names}
    folders = {_ANNOTATION, _CURATION}
    in_project = any(len(each) >= 3 and each[-3] in folders for each in parts)
    left = max(MAX_UNPACKED, 0 if path.is_dir() else MAX_RATIO * path.stat().st_size)
    for each in sorted(parts):
        is_annotation = len(each) >= 3 and each[-3] in folders
        if not is_annotation and (in_project or not each[-1].endswith((_SUFFIX, _ZIP))):
            continue
        try:
            data = _content(top, "/".join(each), left)
            text = _text("/".join(each), data)
        except DataError as error:
            if n_files is not None and not in_project:
                return found  # its reader raises the error
            raise error.at(path) from None
        left -= len(data)
        if text is None:
            if n_files is not None:
                return found  # another kind of folder
            continue
        document, user = each[-2] if len(each) > 1 else path.name, each[-1].rpartition(".")[0]
        found.setdefault(document, {})[user] = text
        if n_files is not None and len(found) >= n_files:
            return found
    return found


def read_project(
    files: Files,
    where: str,
    *,
    label: str | None = None,
    alignment: Alignment = "refuse",
    types: list[str] | None = None,
) -> TextLabels:
    """The labels of tokens of all documents and users.

    Every sentence has the name "document:number". Files of CURATION_USER become known tags, in the
    source of the annotations; INITIAL_CAS, the document before it was annotated, is skipped and
    counted.

    Parameters
    ----------
    files : dict
        {document: {user: text of the file}}, in WebAnno TSV or CoNLL.
    where : str
        Name of the folder or zip, for errors and for the source.
    label : str
        The feature of the labels, "Layer.feature" or one of the two, if several may be it.
    alignment : {"refuse", "widen"}
        What to do with a span that is a part of a token.
    types : list of str
        All labels of spans, in order.
    """
    skipped: Counter[str] = Counter()
    parsed: dict[tuple[str, str], WebAnnoDocument] = {}
    for document, texts in files.items():
        for user, text in texts.items():
            if user == _INITIAL:
                skipped["document before annotation"] += 1
            else:
                parse = parse_webanno if text.startswith("#FORMAT=") else parse_conll
                parsed[document, user] = parse(text, _place(where, document, user))
    if not any(user != CURATED for _, user in parsed):
        raise DataError(f"{where}: has no file of an annotator")
    feature = _feature({f"{d}/{u}": each for (d, u), each in parsed.items()}, label, where)
    tagged = {
        (document, user): _tags(each, feature, alignment, _place(where, document, user), skipped)
        for (document, user), each in parsed.items()
    }
    return _labels(parsed, tagged, types, where, feature, skipped)


def _tables(top: Path | zipfile.Path) -> list[str]:
    """The files of tokens below a folder or in a zip, with their folders."""
    if isinstance(top, Path):
        names = [each.relative_to(top).as_posix() for each in sorted(top.rglob("*.*"))]
    else:
        names = sorted(top.root.namelist())
    return [name for name in names if name.endswith((*_SUFFIXES, _ZIP)) and _MACOS not in name]


def _content(top: Path | zipfile.Path, name: str, limit: int) -> bytes:
    """A file of a folder or zip, or the only table of a zip; at most `limit` bytes."""
    if isinstance(top, Path) and not name.endswith(_ZIP):
        return (top / name).read_bytes()  # not packed
    try:
        if isinstance(top, zipfile.Path):
            data = _member(top.root, name, limit)
            if not name.endswith(_ZIP):
                return data
            packed: Path | io.BytesIO = io.BytesIO(data)
        else:
            packed = top / name
        with zipfile.ZipFile(packed) as archive:
            tables = [each for each in archive.namelist() if each.endswith(_SUFFIXES)]
            if not tables and any(each.endswith(".xmi") for each in archive.namelist()):
                raise DataError(f"{name}: is XMI; export the project as WebAnno TSV")
            return _member(archive, tables[0], limit) if len(tables) == 1 else b""
    except DataError:
        raise
    except BROKEN as error:
        if of_machine(error):
            raise
        raise DataError(f"{name}: not a zip file, or cut short ({first_line(error)})") from None


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    with archive.open(name) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise DataError(
            f"{name}: the files would unpack to more than is allowed; unpack the archive yourself "
            "if this is right"
        )
    return data


def _text(name: str, data: bytes) -> str | None:
    """The text of a file, unless it is another kind of TSV."""
    is_webanno = data[:64].decode("utf-8-sig", "replace").startswith(HEAD)
    if name.endswith((_SUFFIX, _ZIP)) and not is_webanno:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{name}: is not utf-8 text; export it again") from None


def _place(where: str, document: str, user: str) -> str:
    return f"{where}, {document}/{user}" if document else where


def _feature(documents: Mapping[str, WebAnnoDocument], given: str | None, where: str) -> str:
    found = features_of_spans(documents)
    try:
        if given is not None and given not in found:
            # The layer or the feature alone will do, if no other has it.
            fitting = [name for name in found if given in name.split(".")]
            return fitting[0] if len(fitting) == 1 else pick("feature", found, given)
        if not found:
            raise DataError("no annotator marked a span with a value in any document")
        return pick("feature", found, given)
    except DataError as error:
        raise error.at(where) from None


def _tags(
    document: WebAnnoDocument, feature: str, alignment: Alignment, where: str, skipped: Counter[str]
) -> list[str]:
    """The tag of every token; a span over several sentences begins anew in every sentence."""
    tags: list[str] = []
    marks = document.marks.get(feature, [])
    kept = [mark for mark in marks if mark.label is not None]
    skipped["span without a label"] += len(marks) - len(kept)
    for mark in kept:
        if mark.within_token and alignment == "refuse":
            raise DataError(
                f"{where}: the span {_shown(document, mark)} is a part of a token; choose ",
                SettingName("alignment", "widen"), " to take tokens whole",
            )  # fmt: skip
    first = 0
    for words in document.sentences:
        spans: list[Span] = []
        for mark in sorted(set(kept), key=lambda each: (each.first, each.end)):
            begin, end = max(mark.first - first, 0), min(mark.end - first, len(words))
            if begin >= end:
                continue
            if spans and begin < spans[-1].end:
                raise DataError(
                    f"{where}: the span {_shown(document, mark)} overlaps another span of the "
                    "annotator; keep one of them"
                )
            spans.append(Span(begin, end, str(mark.label)))
        tags += spans_to_tags(spans, len(words))
        first += len(words)
    return tags


def _shown(document: WebAnnoDocument, mark: Mark) -> str:
    return repr(" ".join(document.words[mark.first : mark.end]))


def _labels(
    parsed: Mapping[tuple[str, str], WebAnnoDocument],
    tagged: Mapping[tuple[str, str], list[str]],
    types: list[str] | None,
    where: str,
    feature: str,
    skipped: Counter[str],
) -> TextLabels:
    """The labels of all documents, with the sentences of every document once."""
    sentences, names, first_of = list[list[str]](), list[str](), dict[str, int]()
    n_tokens = 0
    for (document, user), each in parsed.items():
        if document not in first_of:
            first_of[document] = n_tokens
            sentences += each.sentences
            prefix = f"{document}:" if document else ""
            names += [f"{prefix}{number + 1}" for number in range(len(each.sentences))]
            n_tokens += len(each.words)
            reference = each
        elif each.sentences != reference.sentences:
            raise DataError(
                f"{_place(where, document, user)}: other tokens than in the files of other users; "
                "export all users again"
            )
    seen = {tag[2:] for tags in tagged.values() for tag in tags if tag != "O"}
    unknown = seen - set(types or seen)
    if unknown:
        raise DataError(
            f"{where}: the label {min(unknown)!r} is not among {', '.join(types or ())}"
        )
    scheme = TagScheme.of_types(types or seen)
    users = sorted({user for _, user in tagged if user != CURATED})
    token, who, code = list[int](), list[int](), list[int]()
    known: dict[str, str] = {}
    all_sentences = Sentences.from_lists(sentences, names)
    token_names = all_sentences.token_names
    for (document, user), tags in tagged.items():
        places = range(first_of[document], first_of[document] + len(tags))
        if user == CURATED:
            known |= {str(token_names[place]): tag for place, tag in zip(places, tags, strict=True)}
            continue
        token += places
        who += [users.index(user)] * len(tags)
        code += scheme.codes(tags).tolist()
    labels = TokenLabels.from_codes(
        all_sentences, np.array(token), np.array(who), np.array(code), users, scheme.names
    )
    note = _summary(tagged, feature, skipped)
    source = Source(where, "webanno", label=feature, notes=(note,), known=known)
    return TextLabels(None, replace(labels, annotations=replace(labels.annotations, source=source)))


def _summary(
    tagged: Mapping[tuple[str, str], list[str]], feature: str, skipped: Mapping[str, int]
) -> str:
    users = {user for _, user in tagged if user != CURATED}
    n_spans = sum(
        tag.startswith("B-")
        for (_, user), tags in tagged.items()
        if user != CURATED
        for tag in tags
    )
    n_documents = len({document for document, _ in tagged})
    parts = [f"{n_spans} spans of {feature} in {n_documents} documents by {len(users)} annotators"]
    n_curated = sum(user == CURATED for _, user in tagged)
    parts += [f"{n_curated} curated documents are known truths"] if n_curated else []
    left = counted(skipped)
    return "webanno: " + "; ".join(parts + ([f"skipped: {left}"] if left else []))
