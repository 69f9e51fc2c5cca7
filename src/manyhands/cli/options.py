"""Options that several commands share; those of training are made from the declared settings."""

import functools
import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

import typer

import manyhands as mh
from manyhands.core.errors import SettingError
from manyhands.core.settings import Setting, settings_of
from manyhands.engine.settings import FeatureOptions, TaggingOptions

LABELS, TRAINING, OUTPUT = "Labels", "Training", "Output"  # panels of --help; also "Network"

Task = Literal["classification", "regression", "tagging"]
LabelsFile = Annotated[
    str, typer.Argument(metavar="LABELS", help="Table of labels (.csv .tsv .parquet .jsonl), dense "
                        "matrix (.txt .npy) or {item: {annotator: label}} (.json).")
]  # fmt: skip
AnyLabelsFile = Annotated[
    str, typer.Argument(metavar="LABELS", help="Table of labels (.csv .tsv .parquet .jsonl), dense "
                        "matrix (.txt .npy), {item: {annotator: label}} (.json); tokens with a "
                        "column of tags per annotator (.conll .bio .txt), or a table of spans.")
]  # fmt: skip
FeaturesFile = Annotated[
    str, typer.Argument(metavar="FEATURES", help="Table with a column of items and numbers in all "
                        "others (.csv .tsv .parquet .jsonl), or an array (.npy .npz); texts: one "
                        "per line (.txt), or a table with a column text; tokens (.conll .bio).")
]  # fmt: skip
TextColumn = Annotated[
    str | None,
    typer.Option("--text", metavar="NAME", help="Column of texts.", rich_help_panel=LABELS),
]
Truth = Annotated[
    str | None,
    typer.Option("--truth", metavar="FILE", rich_help_panel=LABELS,
                 help="Table with columns item, truth, for scores only. For tokens a file with "
                 "lines of a token and its tag (.bio).")
]  # fmt: skip
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object, not text.", rich_help_panel=OUTPUT),
]
OutFile = Annotated[
    str,
    typer.Option("--out", metavar="FILE", rich_help_panel=OUTPUT,
                 help="Table to write (.csv .tsv .parquet .jsonl); - is standard output."),
]  # fmt: skip
AnnotatorsFile = Annotated[
    str | None,
    typer.Option("--annotators", metavar="FILE", rich_help_panel=OUTPUT,
                 help="Table of annotators to write, such as annotators.csv."),
]  # fmt: skip
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Number of runs at the same time.",
                 show_default="one per core"),
]  # fmt: skip
DataFolder = Annotated[
    str | None, typer.Option("--data", metavar="DIR", help="Folder with the public corpora.")
]


def named_values(option: str, texts: Iterable[str] | None) -> dict[str, Any]:
    """Settings from NAME=VALUE: a number, true, false, null, a list in brackets, or a word.

    >>> named_values("--set", ["max_iter=5", "start=majority"])
    {'max_iter': 5, 'start': 'majority'}
    """
    values = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if not name or not value:
            raise SettingError(f"{option} must be NAME=VALUE; got {text!r}")
        try:
            values[name] = json.loads(value)
        except ValueError:
            values[name] = value
    return values


def aggregator_names(incomplete: str = "") -> list[str]:
    """Aggregators whose names begin so, for shell completion."""
    return _completions(mh.AGGREGATORS, incomplete)


def method_names(incomplete: str = "") -> list[str]:
    """Training methods whose names begin so, for shell completion."""
    return _completions(mh.METHODS, incomplete)


def any_method_names(incomplete: str = "") -> list[str]:
    """Aggregators and training methods after the last comma, for shell completion."""
    before, comma, last = incomplete.rpartition(",")
    names = _completions({**mh.AGGREGATORS, **mh.METHODS}, last)
    return [f"{before}{comma}{name}" for name in names]


def _completions(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


class OptionGroup:
    """Options that a command gets as one argument."""

    @classmethod
    def options(cls) -> dict[str, tuple[Any, Any]]:
        """The annotated type and the default of every option."""
        return {each.name: (each.type, each.default) for each in fields(cls)}  # type: ignore[arg-type]


def _labels(help: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=LABELS, **settings)


@dataclass(frozen=True)
class ReadingOptions(OptionGroup):
    """How to read a table or matrix of labels."""

    item: Annotated[str | None, _labels("Column of the items.", metavar="NAME")] = None
    annotator: Annotated[str | None, _labels("Column of the annotators.", metavar="NAME")] = None
    label: Annotated[str | None, _labels("Column of the labels.", metavar="NAME")] = None
    format: Annotated[
        str | None,
        _labels("File format if the suffix does not tell: csv, tsv, parquet, jsonl, txt, npy, "
                "json, conll or spans.", metavar="NAME"),
    ] = None  # fmt: skip
    layout: Annotated[
        Literal["long", "wide", "dense"] | None,
        _labels("Layout: one row per label (long), one column per annotator (wide), or the same "
                "without a header (dense)."),
    ] = None  # fmt: skip
    kind: Annotated[
        Literal["classes", "numbers"] | None, _labels("Read labels as classes or as numbers.")
    ] = None
    classes: Annotated[
        str | None, _labels("All classes, such as cat,dog,bird.", metavar="NAME,NAME")
    ] = None
    missing: Annotated[
        list[str] | None,
        _labels('A label that means no label, such as NA, or "" for blank. Repeatable.',
                metavar="LABEL"),
    ] = None  # fmt: skip
    encoding: Annotated[str, _labels("Text encoding, such as latin-1.", metavar="NAME")] = "utf-8"

    def settings(self) -> dict[str, Any]:
        """The arguments of `mh.read`."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.classes is not None:
            given["classes"] = [name.strip() for name in self.classes.split(",")]
        given["missing"] = self.missing or None  # an option that may be repeated is [] without it
        return given


@dataclass(frozen=True)
class LabelOptions(ReadingOptions):
    """How to read any file of labels."""

    task: Annotated[
        Task | None,
        _labels("What the labels are: classes, numbers, or tags of tokens.",
                show_default="by the labels"),
    ] = None  # fmt: skip
    bounds: Annotated[
        str | None,
        _labels("Numbers outside are an error, such as 1:5.", "--range", metavar="LOW:HIGH"),
    ] = None
    duplicates: Annotated[
        Literal["keep", "first", "last", "refuse"],
        _labels("Which labels count if an annotator labelled an item several times."),
    ] = "keep"
    orphan_tags: Annotated[
        Literal["repair", "refuse", "keep"] | None,
        _labels("A tag I-X that follows no B-X or I-X: make it B-X, refuse the file, or keep it.",
                show_default="repair; convert: keep"),
    ] = None  # fmt: skip
    alignment: Annotated[
        Literal["refuse", "widen"] | None,
        _labels("A span that cuts through a token: refuse the file, or widen it to whole tokens.",
                show_default="refuse"),
    ] = None  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """The arguments of `mh.read`."""
        return super().settings() | {"bounds": _bounds(self.bounds)}

    def file(self, path: str) -> "mh.io.LabelFile":
        """A file of labels with these settings."""
        return mh.io.LabelFile(path, **self.settings())

    def features(self, path: str, text: str | None) -> "mh.io.Features":
        """Features of the items; --item counts if their table has such a column."""
        named = mh.io.column_names(path, encoding=self.encoding)
        item = self.item if self.item in named else None
        return mh.read_features(path, item=item, text=text, encoding=self.encoding)

    def truth(self, path: str | None) -> dict[Any, Any] | None:
        """The truth of items, if a file is given."""
        return None if path is None else mh.read_truth(path, encoding=self.encoding)


def _bounds(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = 1.0, 0.0
    if not ends[0] < ends[1]:
        raise SettingError(f"--range must be LOW:HIGH with LOW below HIGH; got {text!r}")
    return ends


_BY_COMMAND = ("method", "seed", "checkpoint", "progress")  # options of the commands, or none
_TYPES = (bool, int, float, str)


def declared_options(*owners: type) -> dict[str, tuple[Any, Any]]:
    """The options for all settings that some classes declare; the default None is "not given"."""
    declared = {name: each for owner in owners for name, each in settings_of(owner).items()}
    return {
        name: (_annotated(each), None) for name, each in declared.items() if name not in _BY_COMMAND
    }


def _annotated(declared: Setting) -> Any:
    kind: Any = declared.type if declared.type in _TYPES else str
    settings: dict[str, Any] = {}
    if declared.choices:
        kind = Literal.__getitem__(declared.choices)
    elif getattr(declared.type, "__origin__", None) is not None:  # a mapping
        kind, settings["metavar"] = list[str], "NAME=VALUE"
    default = "the method's" if declared.by_method else declared.default
    if isinstance(default, bool):
        default = "yes" if default else "no"
    settings["show_default"] = False if default is None else str(default)
    flag = [f"--{declared.name.replace('_', '-')}"] if declared.default is False else []
    option = typer.Option(*flag, help=declared.help, rich_help_panel=declared.group, **settings)
    return Annotated[kind | None, option]


class TrainOptions(OptionGroup):
    """The settings of training that were given; the others are left to the estimator."""

    def __init__(self, **values: Any) -> None:
        self.given = {name: each for name, each in values.items() if each not in (None, [])}
        if "noise" in self.given:
            self.given["noise"] = named_values("--noise", self.given["noise"])

    @classmethod
    def options(cls) -> dict[str, tuple[Any, Any]]:
        """An option for every setting of an estimator."""
        return declared_options(FeatureOptions, TaggingOptions)

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


def takes(**groups: type[OptionGroup]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some groups, each as one argument."""

    def add_options(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        own = [each for name, each in signature.parameters.items() if name not in groups]
        options = {name: group.options() for name, group in groups.items()}
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
            for each in options.values()
            for name, (annotation, default) in each.items()
        ]

        @functools.wraps(command)
        def with_groups(**arguments: Any) -> None:
            made = {
                name: group(**{each: arguments.pop(each) for each in options[name]})
                for name, group in groups.items()
            }
            command(**arguments, **made)

        with_groups.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + added
        )
        return with_groups

    return add_options
