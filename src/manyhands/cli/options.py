"""Options that several commands share; those of training are made from the declared settings."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import manyhands as mh
from manyhands.cli.option_groups import OptionGroup, options_of, takes_groups
from manyhands.cli.values import bounds, lines_of, named_values, names_of, numbers
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import Setting, settings_of
from manyhands.engine.settings import FeatureOptions, TaggingOptions

__all__ = ["OptionGroup", "options_of", "takes_groups"]  # what commands take from here

Task = Literal["classification", "regression", "tagging"]


def option(help: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """An option of a command, in a panel of its help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


in_labels = functools.partial(option, panel="Labels")
in_training = functools.partial(option, panel="Training")
in_output = functools.partial(option, panel="Output")

_LABELS = (
    "Table of labels (.csv .tsv .parquet .jsonl .xlsx); an export of Label Studio, Argilla, "
    "Prodigy, doccano, Mechanical Turk, INCEpTION or LeWiDi; a dense matrix (.txt .npy); or {item: "
    "{annotator: label}} (.json)"
)
_TOKENS = "; tokens with a column of tags per annotator (.conll .bio .txt), or a table of spans"
_WAYS = (
    ". May be packed (.gz .bz2 .xz .zst .zip), a folder, a pattern in quotes such as "
    '"labels/*.csv", or - for standard input.'
)
LabelsFiles = Annotated[
    list[str], typer.Argument(metavar="LABELS", help=f"{_LABELS}{_WAYS} Several are joined.")
]
AnyLabelsFiles = Annotated[
    list[str],
    typer.Argument(metavar="LABELS", help=f"{_LABELS}{_TOKENS}{_WAYS} Several are joined."),
]
AnyLabelsFile = Annotated[str, typer.Argument(metavar="LABELS", help=f"{_LABELS}{_TOKENS}{_WAYS}")]
Truth = Annotated[
    str | None,
    in_labels("Table with columns item and truth, or p_<class> (shares of labels), to score with. "
              "For tokens a file with lines of a token and its tag (.bio).", metavar="FILE"),
]  # fmt: skip
Json = Annotated[bool, in_output("Print the result as one JSON object.", "--json")]
OutFile = Annotated[
    str,
    in_output("Table to write (.csv .tsv .parquet .jsonl); - is standard output.", metavar="FILE"),
]
AnnotatorsFile = Annotated[
    str | None,
    in_output(
        "Write a table with the profile of every annotator, such as annotators.csv.", metavar="FILE"
    ),
]
Seed = Annotated[int, option("Seed of all random numbers.", min=0)]
Jobs = Annotated[
    int | None, option("Number of runs at the same time.", min=1, show_default="one per core")
]
DataFolder = Annotated[str | None, option("Folder with the public corpora.", metavar="DIR")]


def completed(*registries: str, also: Sequence[str] = ()) -> Callable[[str], list[str]]:
    """What completes, in a shell, the last of the names of some registries of the package."""

    def names(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        known = [*also, *(name for registry in registries for name in getattr(mh, registry))]
        return [f"{before}{comma}{name}" for name in known if name.startswith(last)]

    return names


@dataclass(frozen=True)
class ReadingOptions(OptionGroup):
    """How to read a table or matrix of labels."""

    item: Annotated[
        str | None,
        in_labels("Column of the items. By default it is found by its name, such as item or id, "
                  "and its cells.", metavar="NAME"),
    ] = None  # fmt: skip
    annotator: Annotated[
        str | None,
        in_labels('Column of annotators; likewise. "file name" for a file per annotator.',
                  metavar="NAME"),
    ] = None  # fmt: skip
    label: Annotated[str | None, in_labels("Column of the labels; likewise.", metavar="NAME")] = (
        None
    )
    format: Annotated[
        str | None,
        in_labels("Format of the labels if neither suffix nor content tell: csv, tsv, parquet, "
                  "jsonl, txt, npy, json, xlsx, conll or spans. Exports of tools need none.",
                  metavar="NAME"),
    ] = None  # fmt: skip
    layout: Annotated[
        Literal["long", "wide", "dense"] | None,
        in_labels("Layout: one row per label (long); one row per item and one column per annotator "
                  "(wide); or only labels, without names of items and annotators (dense)."),
    ] = None  # fmt: skip
    kind: Annotated[
        Literal["classes", "numbers", "ordinal", "multilabel", "pairs"] | None,
        in_labels("Read labels such as 1, 2, 3 as names of classes, as numbers, as classes that "
                  "have an order, or as sets of classes such as cat;dog (multilabel); or rows as "
                  "comparisons of two items (pairs)."),
    ] = None  # fmt: skip
    classes: Annotated[
        str | None,
        in_labels("All classes in order, also those nobody used, such as cat,dog,bird.",
                  metavar="NAME,NAME"),
    ] = None  # fmt: skip
    levels: Annotated[
        str | None,
        in_labels("All levels of ordinal labels, from lowest to highest, such as bad,fair,good. "
                  "Numbers and common scales need none: --kind ordinal.",
                  metavar="NAME,NAME"),
    ] = None  # fmt: skip
    missing: Annotated[
        list[str] | None,
        in_labels('A label that means no label, such as NA, or "" for an empty cell. Repeatable.',
                  metavar="LABEL"),
    ] = None  # fmt: skip
    encoding: Annotated[str, in_labels("Text encoding, such as latin-1.", metavar="NAME")] = "utf-8"
    separator: Annotated[
        str | None, in_labels("What is between the classes of a set, such as ;.", metavar="TEXT")
    ] = None
    sheet: Annotated[
        str | None, in_labels("Sheet of an Excel file, if several have content.", metavar="NAME")
    ] = None

    def settings(self) -> dict[str, Any]:
        """The arguments of `mh.read`; listed levels are ordinal classes."""
        from manyhands.annotations.labels import with_levels  # pyarrow is slow to import

        given = {each.name: getattr(self, each.name) for each in fields(self)}
        classes, levels = (
            names_of(flag, names)
            for flag, names in (("--classes", self.classes), ("--levels", given.pop("levels")))
        )
        given["kind"], given["classes"] = with_levels(self.kind, classes, levels)
        given["missing"] = self.missing or None  # an option that may be repeated is [] without it
        return given


@dataclass(frozen=True)
class AnyFileOptions(ReadingOptions):
    """How to read a table, a matrix, or tagged tokens."""

    task: Annotated[
        Task | None,
        in_labels("What the labels are: classes (classification), numbers (regression) or tags of "
                  "tokens (tagging).", metavar="TASK", show_default="by the labels"),
    ] = None  # fmt: skip
    orphan_tags: Annotated[
        Literal["repair", "refuse", "keep"] | None,
        in_labels("A tag I-X that follows no B-X or I-X: make it B-X, refuse the file, or keep it.",
                  show_default="repair, but keep for convert"),
    ] = None  # fmt: skip
    alignment: Annotated[
        Literal["refuse", "widen"] | None,
        in_labels("A span that cuts through a token: refuse the file, or widen the span to whole "
                  "tokens.", show_default="refuse"),
    ] = None  # fmt: skip


@dataclass(frozen=True)
class LabelOptions(AnyFileOptions):
    """How to read labels that are to be used."""

    bounds: Annotated[
        str | None,
        in_labels("Range that numbers must lie in, such as 1:5.", "--range", metavar="LOW:HIGH"),
    ] = None
    duplicates: Annotated[
        Literal["keep", "first", "last", "refuse"],
        in_labels(
            "An annotator labelled an item several times: count every label, the first, the "
            "last, or refuse the file."
        ),
    ] = "keep"
    exclude: Annotated[
        list[str] | None,
        in_labels("Annotator whose labels are left out. Repeatable.", metavar="NAME"),
    ] = None
    exclude_from: Annotated[
        str | None,
        in_labels("Text file with the name of an annotator to leave out in every line.",
                  metavar="FILE"),
    ] = None  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """The arguments of `mh.read`."""
        given = super().settings()
        listed = given.pop("exclude_from")
        names = [*(self.exclude or ()), *(lines_of(listed, self.encoding) if listed else ())]
        return given | {"bounds": bounds(self.bounds), "exclude": names or None}

    def file(self, path: str | list[str]) -> "mh.io.LabelFile":
        """A file of labels, or several, with these settings."""
        return mh.io.LabelFile(path, **self.settings())

    def truth(self, path: str | None) -> dict[Any, Any] | None:
        """The truth of items, if a file is given."""
        if path is None:
            return None
        sheet = mh.io.sheet_of(path, self.sheet)
        return mh.read_truth(path, encoding=self.encoding, sheet=sheet)

    def true_tags(self, path: str | None) -> "mh.annotations.TaggedSentences | None":
        """True tags, if a file is given: lines with a token first and its tag last."""
        if path is None:
            return None
        if Path(path).suffix.lower() in mh.io.SUFFIXES:
            raise DataError(f"{path}: true tags are lines of a token and its tag, in a .bio file")
        return mh.read_bio(path, tags=self.settings()["classes"], encoding=self.encoding)

    def task_note(self, task: str) -> str:
        """How the task was decided, if the labels decided it."""
        reasons = {"regression": "labels are numbers", "tagging": "tagged tokens"}
        decided = self.task is None and task in reasons
        return f" ({reasons[task]}: --task {task})" if decided else ""


@dataclass(frozen=True)
class TimedLabelOptions(LabelOptions):
    """How to read labels that are to be used with their times."""

    seconds: Annotated[
        str | None,
        in_labels("Column of the seconds that a label took. By default it is found by its name, "
                  "such as seconds or lead_time.", metavar="NAME"),
    ] = None  # fmt: skip
    time: Annotated[
        str | None,
        in_labels("Column of when a label was given; likewise, such as time or created_at.",
                  metavar="NAME"),
    ] = None  # fmt: skip


_BY_COMMAND = ("method", "seed", "checkpoint", "progress")  # options of the commands, or none
_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_TYPES = (bool, int, float, str)
_WIDEST = 24  # characters of choices that leave the column of the help texts wide enough


def declared_options(*owners: type) -> dict[str, inspect.Parameter]:
    """The options for all settings that some classes declare; the default None is "not given"."""
    declared = {name: each for owner in owners for name, each in settings_of(owner).items()}
    return {
        name: inspect.Parameter(name, _BY_NAME, default=None, annotation=_annotated(each))
        for name, each in declared.items()
        if name not in _BY_COMMAND
    }


def _annotated(declared: Setting) -> Any:
    kind: Any = declared.type if declared.type in _TYPES else str
    settings: dict[str, Any] = {}
    help = declared.help
    if declared.choices:
        kind = Literal.__getitem__(declared.choices)
        if len("|".join(declared.choices)) > _WIDEST:
            settings["metavar"] = "NAME"
            help += f" One of {', '.join(declared.choices)}."
    elif is_mapping(declared):
        kind, settings["metavar"] = list[str], "NAME=VALUE"
        help += " Repeatable."
    elif is_list(declared):
        settings["metavar"] = "NUMBER,NUMBER"
    default = "the method's" if declared.by_method else declared.default
    if isinstance(default, bool):
        default = "yes" if default else "no"
    settings["show_default"] = False if default is None else str(default)
    flag = [flag_of(declared)] if declared.default is False or is_mapping(declared) else []
    return Annotated[kind | None, option(help, *flag, panel=declared.group, **settings)]


def is_mapping(declared: Setting) -> bool:
    """Whether a setting holds values by name."""
    return getattr(declared.type, "__origin__", None) is Mapping


def is_list(declared: Setting) -> bool:
    """Whether a setting holds several numbers."""
    return getattr(declared.type, "__origin__", None) is Sequence


def flag_of(declared: Setting) -> str:
    """The option of a setting; one that takes a NAME=VALUE at a time is in the singular."""
    name = declared.name.removesuffix("s") if is_mapping(declared) else declared.name
    return f"--{name.replace('_', '-')}"


class TrainOptions(OptionGroup):
    """The settings of training that were given; the others are left to the estimator."""

    __signature__ = inspect.Signature(
        list(declared_options(FeatureOptions, TaggingOptions).values())
    )

    def __init__(self, **values: Any) -> None:
        self.given = {name: each for name, each in values.items() if each not in (None, [])}
        for name, each in settings_of(FeatureOptions).items():
            read: Any = named_values if is_mapping(each) else numbers if is_list(each) else None
            if read is not None and name in self.given:
                self.given[name] = read(flag_of(each), self.given[name])

    def settings(self, task: str) -> dict[str, Any]:
        """The arguments of the estimator of a task; an error for those that it does not have."""
        estimator: Any = mh.estimators.ESTIMATORS[task]
        known = settings_of(estimator)
        for name in self.given:
            if name not in known:
                raise SettingError(f"--{name.replace('_', '-')} is not for {task}; leave it out")
        if self.given.get("freeze_embeddings") and "word_vectors" not in self.given:
            raise SettingError("--freeze-embeddings needs --word-vectors")
        return dict(self.given)
