"""One reader for every file of labels: items with classes or numbers, or tagged tokens."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from manyhands.annotations import Annotations, Comparisons, Kind, Sentences, TokenLabels
from manyhands.annotations.grouping import Duplicates
from manyhands.annotations.labels import MixedLabelsError, as_list, with_levels
from manyhands.annotations.tags import ORPHAN_TAGS, OrphanTags
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.core.settings import require, require_choice
from manyhands.io.comparisons import PairFile
from manyhands.io.conll import read_conll, read_sentences, repaired_at
from manyhands.io.exclusion import without_excluded
from manyhands.io.inception import find_documents, is_webanno, read_project
from manyhands.io.input_file import InputFile, is_opened
from manyhands.io.labels import ItemFile, require_within
from manyhands.io.numbers import require_task
from manyhands.io.opening import Paths
from manyhands.io.sniff import UNCLEAR, has_spans, sniff_text
from manyhands.io.spans import ALIGNMENTS, Alignment, TextLabels, read_spans
from manyhands.io.tables import SUFFIXES, TAGGED_SUFFIXES
from manyhands.io.tagged_exports import tag_exported_spans
from manyhands.io.tool_files import ONE_ROW_PER_LABEL, combined

Task = Literal["classification", "regression", "tagging"]
TASKS = ("classification", "regression", "tagging")
_CLASSIFICATION, _REGRESSION, _TAGGING = (SettingName("task", name) for name in TASKS)
# Layouts of tagged tokens, and the settings that they have no use for.
_NOT_FOR_TOKENS = {
    "conll": ("item", "annotator", "label"), "spans": ("missing",), "exported": ("missing",),
    "webanno": ("item", "annotator", "missing"),
}  # fmt: skip
TAGGED_LAYOUTS = tuple(_NOT_FOR_TOKENS)


def read(
    path: Paths,
    *,
    task: Task | None = None,
    format: str | None = None,
    layout: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    kind: Kind | None = None,
    classes: Iterable[Any] | None = None,
    levels: Iterable[Any] | None = None,
    missing: Any = None,
    bounds: tuple[float, float] | None = None,
    duplicates: Duplicates = "keep",
    orphan_tags: OrphanTags | None = None,
    alignment: Alignment | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    seconds: str | None = None,
    time: str | None = None,
    separator: str | None = None,
    exclude: Iterable[Any] | None = None,
) -> Annotations | Comparisons | TokenLabels:
    """Read a file of labels: `Annotations` of items, or `TokenLabels` of tagged tokens.

    A table with two items and a winner in a row becomes `Comparisons` (see `read_comparisons`).

    The suffix and the content decide what the file is, unless `task` or `format` do. Tagged tokens
    are lines of a token and one tag per annotator (.conll .bio, or .txt with such lines; see
    `read_conll`), a table with columns start, end and text (see `read_spans`), or spans of texts
    that an annotation tool exported, or WebAnno TSV of INCEpTION: one file,
    or a folder or zip with annotation/DOCUMENT/USER.tsv. All other files are labels of items (see
    `read_annotations`).

    Parameters
    ----------
    path : str, Path or list
        A file, also packed (.gz .bz2 .xz .zst .zip) or an Excel workbook (.xlsx); a folder or a
        pattern such as `labels/*.csv` of files with the same columns; a list of files; or "-" for
        standard input.
    task : {"classification", "regression", "tagging"}
        What the labels are: classes, numbers or tags of tokens. By default the labels decide.
    format : str
        File format, if neither suffix nor content tell: csv, tsv, parquet, jsonl, txt, npy, json,
        xlsx, conll or spans.
    layout : {"long", "wide", "dense"}
        Layout of labels of items: one row per label, one column per annotator, or a matrix.
    item, annotator, label : str
        Names of columns. `annotator="file name"` is for files of one annotator each.
    kind : {"classes", "numbers", "ordinal", "multilabel", "pairs"}
        Read the labels of items as classes, as numbers, as classes with an order that is known, or
        as sets of classes (see `read_annotations`); or rows as comparisons of two items. `label` is
        then the column of the winner.
    classes : list
        All classes (tags, types of spans), in their order.
    levels : list
        All classes of ordinal labels, from lowest to highest.
    missing : object
        Labels that mean "no label".
    bounds : (float, float)
        Lowest and highest number allowed; the labels are then numbers.
    duplicates : {"keep", "first", "last", "refuse"}
        Which labels count if an annotator labelled an item several times.
    orphan_tags : {"repair", "refuse", "keep"}
        What to do with a tag I-X that follows no B-X or I-X: make it B-X (default), raise, keep it.
    alignment : {"refuse", "widen"}
        What to do with a span that cuts through a token: raise (default), widen it to whole tokens.
    encoding : str
        Text encoding.
    sheet : str
        Sheet of an Excel workbook, if several have content.
    seconds, time : str
        Columns of how long each label took, and of when it was given; by default those with names
        such as lead_time and created_at.
    separator : str
        What separates the classes of a set in a cell; by default ; | or ,.
    exclude : list
        Annotators whose labels are left out.
    """
    kind, classes = with_levels(kind, classes, levels)
    file = LabelFile(
        path, task=task, format=format, layout=layout, item=item, annotator=annotator, label=label,
        kind=kind, classes=classes, missing=missing, bounds=bounds, duplicates=duplicates,
        orphan_tags=orphan_tags, alignment=alignment, encoding=encoding, sheet=sheet,
        seconds=seconds, time=time, separator=separator, exclude=exclude,
    )  # fmt: skip
    if file.has_pairs:
        return file.pairs().read()
    return file.read_items() if file.tokens is None else file.read_tokens().labels


@dataclass(frozen=True)
class LabelFile(ItemFile):
    """A file of labels, also of tokens, and how to read it; the settings are those of `read`."""

    task: Task | None = None
    bounds: tuple[float, float] | None = None
    duplicates: Duplicates = "keep"
    orphan_tags: OrphanTags | None = None
    alignment: Alignment | None = None
    exclude: Any = None  # annotators whose labels are left out

    @cached_property
    def inputs(self) -> tuple[InputFile, ...]:
        """The files to read; a project of INCEpTION is one, with all that it holds."""
        if self._project is not None and self.format is None and self.layout is None:
            return (InputFile.of(self._project, str(self._project), self._project.name),)
        return super().inputs

    @cached_property
    def tokens(self) -> str | None:
        """The layout of tagged tokens, one of `TAGGED_LAYOUTS`; None for labels of items.

        The content of the file decides, and `task` if the content is not clear. An error if the two
        contradict each other.
        """
        if self.task is not None:
            require_choice("task", self.task, TASKS)
        found = self._agreed(self.sniffed())
        for name in ("orphan_tags", "alignment"):
            if found is None and getattr(self, name) is not None:
                raise SettingError(
                    SettingName(name), f" is for tagged tokens; {self.shown} has labels of items"
                )
        return found

    def pairs(self, **settings: Any) -> PairFile:
        """The same file as one of comparisons; `settings` are more of `read_comparisons`."""
        return replace(super().pairs(**settings), exclude=self.exclude)

    def read_items(self) -> Annotations:
        """The labels of items."""
        if self.has_pairs:
            raise DataError(f"{self.shown}: has comparisons of two items; aggregate ranks them")
        try:
            rows = replace(self, path=self.inputs, kind=self.wanted_kind()).rows()
        except MixedLabelsError as error:
            if self.task != "regression":
                raise
            raise DataError(
                f"{error.where}: the label {error.label!r} is a word, and ", _REGRESSION,
                " takes numbers; drop it with ", SettingName("missing", error.label), ", or give ",
                _CLASSIFICATION,
            ) from None  # fmt: skip
        if self.bounds is not None:
            require_within(rows, *self.bounds)
        ann = Annotations.from_rows(rows, duplicates=self.duplicates)
        ann = without_excluded(ann, self.exclude, self.shown)
        require_task(self.shown, self.task, ann.kind)
        return ann

    def read_tokens(self) -> TextLabels:
        """The labels of tokens, with their texts if the file has some."""
        policy = self.orphan_tags or "repair"
        require_choice("orphan_tags", policy, ORPHAN_TAGS)
        require_choice("alignment", self.alignment or "refuse", ALIGNMENTS)
        self._refuse_settings()
        tags = None if self.classes is None else [str(name) for name in self.classes]
        if self.tokens == "exported":
            named = {"item": self.item, "annotator": self.annotator, "label": self.label}
            marked = tag_exported_spans(
                combined(self.exports).read_spans(**named), self.shown,
                alignment=self.alignment or "refuse", types=tags,
            )  # fmt: skip
        elif self.tokens == "webanno":
            marked = read_project(
                find_documents(Path(self.shown)), self.shown, label=self.label, types=tags,
                alignment=self.alignment or "refuse",
            )  # fmt: skip
        elif self.tokens == "spans":
            marked = read_spans(
                self.inputs, item=self.item, annotator=self.annotator, label=self.label,
                alignment=self.alignment or "refuse", types=tags, encoding=self.encoding,
                format=None if self.format == "spans" else self.format,
            )  # fmt: skip
        else:
            marked = TextLabels(None, read_conll(
                self._only("a file of tagged tokens"), tags=tags, missing=self._marks()[0],
                encoding=self.encoding,
            ))  # fmt: skip
        labels = marked.labels
        if labels.annotations.n_annotations == 0:
            raise DataError(f"{self.shown}: there is not a single label")
        kept = without_excluded(labels.annotations, self.exclude, self.shown)
        labels = replace(labels, annotations=kept)
        n_orphan_tags = int(labels.find_orphan_tags().sum())
        if policy != "keep":
            labels = repaired_at(self.shown, labels, policy)
        return TextLabels(marked.texts, labels, n_orphan_tags)

    def read_sentences(self, tags: Iterable[Any] = ()) -> Sentences:
        """The sentences only; labels may be missing. `tags` are known tags beside those of BIO."""
        if self.sniffed() not in {"conll", UNCLEAR, None}:
            return self.read_tokens().labels.sentences
        file = self._only("a file of tokens")
        if SUFFIXES.get(file.suffix.lower(), "tsv") != "tsv":
            raise DataError(f"{file}: is a table; tokens are in a file with one in every line")
        return read_sentences(file, tags=[str(tag) for tag in tags], encoding=self.encoding)

    def sniffed(self) -> str | None:
        """The layout of tagged tokens as `tokens` gives it, or `UNCLEAR`; None for labels of items.

        A format or layout that is given decides. `UNCLEAR` is a .txt file that may as well be a
        matrix of labels.
        """
        if self.format in _NOT_FOR_TOKENS:
            return self.format
        if self.layout is not None:
            return None
        if self.format is None and self._project is not None:
            return "webanno"
        path = self.inputs[0]
        suffix = path.suffix.lower()
        if self.format is None and suffix in TAGGED_SUFFIXES:
            return "conll"
        if self.format == "txt" or (self.format is None and suffix == ".txt"):
            return sniff_text(path, self._marks()[0], self.encoding)
        return self._sniffed_spans(path)

    def _sniffed_spans(self, path: InputFile) -> str | None:
        """Whether a table or an export has spans of texts: "spans", "exported" or None."""
        table = "csv" if path.from_sheet else self.format or SUFFIXES.get(path.suffix.lower())
        if table is not None and has_spans(path, table, self.encoding):
            return "spans"
        tagging = None if self.task is None else self.task == "tagging"
        marked = self.exports and combined(self.exports).marks_spans(self.label, tagging)
        return "exported" if marked else None

    @property
    def is_flat(self) -> bool:
        """Whether the rows of a table can be copied as they stand; not if a tool packed them."""
        if self.format is None and self._project is not None:
            return False
        if self.exports:
            flat = all(each.tool.name in ONE_ROW_PER_LABEL for each in self.exports)
            return flat and self.tokens is None
        return not self.is_wide

    @cached_property
    def _project(self) -> Path | None:
        """The folder, zip or file of an INCEpTION project; None for any other file."""
        paths = [self.path] if isinstance(self.path, str | Path) else list(self.path)
        if len(paths) != 1 or is_opened(paths[0]) or str(paths[0]) == "-":
            return None
        return Path(paths[0]) if is_webanno(Path(paths[0])) else None

    def _marks(self) -> list[str]:
        """The marks for "no label" in a column of tags."""
        return [str(code) for code in as_list("?" if self.missing is None else self.missing)]

    def _agreed(self, found: str | None) -> str | None:
        """The layout that the content and `task` give together."""
        if self.task == "tagging":
            if found is None:
                raise DataError(
                    f"{self.shown}: ", _TAGGING,
                    " takes tokens with a column of tags per annotator (.conll .bio .txt), a table "
                    "of spans with columns start, end and text, or spans that a tool exported",
                )  # fmt: skip
            return "conll" if found == UNCLEAR else found
        if found == UNCLEAR and self.task is None:
            raise DataError(
                f"{self.shown}: may be a matrix of labels, or tokens with their tags; give ",
                _CLASSIFICATION, " or ", _TAGGING,
            )  # fmt: skip
        if found in {"conll", "exported", "webanno"} and self.task is not None:
            raise DataError(
                f"{self.shown}: has tokens with their tags, which is ", _TAGGING, "; ",
                SettingName("task", self.task), " is for labels of items",
            )  # fmt: skip
        return None if self.task is not None or found == UNCLEAR else found

    def wanted_kind(self) -> Kind | None:
        """The kind of labels that `task`, `bounds` and `kind` give together."""
        kinds: dict[str, Kind] = {"regression": "numbers", "classification": "classes"}
        asked: Kind | None = kinds.get(str(self.task))
        if self.bounds is not None:
            low, high = self.bounds
            require(low < high, "bounds", "a lower and a higher number", self.bounds)
            if asked == "classes":
                raise SettingError(
                    SettingName("bounds"), " is for numbers and ", _CLASSIFICATION,
                    " for classes; leave one out",
                )  # fmt: skip
            asked = "numbers"
        given = "classes" if self.kind in ("ordinal", "multilabel") else self.kind
        if given is not None and asked is not None and given != asked:
            raise SettingError(
                SettingName("kind", self.kind), " contradicts ", SettingName("task"), " or ",
                SettingName("bounds"), "; leave one out",
            )  # fmt: skip
        return self.kind or ("numbers" if asked == "numbers" else None)

    def _refuse_settings(self) -> None:
        """Raise a `SettingError` for settings that such a file has no use for."""
        others = ("bounds", "seconds", "time", "separator")
        names = ("layout", "kind", *_NOT_FOR_TOKENS[str(self.tokens)], *others)
        given = [name for name in names if getattr(self, name) is not None]
        if given:
            raise SettingError(
                SettingName(given[0]), f" is not for {self.shown}, which has tagged tokens"
            )
        if self.duplicates != "keep":
            raise SettingError(
                SettingName("duplicates"), " is for tables of labels; tagged tokens have none"
            )
        if len(self._marks()) > 1:
            raise SettingError(
                SettingName("missing"), " may be given once for tokens: one mark means no label"
            )
