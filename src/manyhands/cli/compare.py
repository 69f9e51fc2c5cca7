"""manyhands compare: several methods on the same labels, in one ranked table."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, cast

import typer

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.feature_options import FeatureColumns, matched
from manyhands.cli.options import in_labels
from manyhands.cli.pair_options import PairOptions
from manyhands.cli.ranking import compare_pairs
from manyhands.core.errors import SettingError

_BY_TRUTH = "nothing was chosen with clean labels"
_LAST = f"last epoch of every run; {_BY_TRUTH}"
_VALIDATED = f"epoch chosen on validation labels of the crowd; {_BY_TRUTH}"
_EITHER = f"last epoch, or epoch chosen on validation labels, as the method has it; {_BY_TRUTH}"


@dataclass(frozen=True, kw_only=True)
class Request(options.OptionGroup):
    """What to compare, on what, and how."""

    labels: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABELS", help="Labels, or tagged tokens; - is standard input. "
                       "Not with --dataset."),
    ] = None  # fmt: skip
    methods: Annotated[
        str | None,
        options.option("Methods, such as majority,dawid-skene.", metavar="NAME,NAME",
                       autocompletion=options.completed(
                           "AGGREGATORS", "METHODS", "PAIR_AGGREGATORS"),
                       show_default="all that fit"),
    ] = None  # fmt: skip
    features: Annotated[
        str | None, in_labels("Features of the items; networks are then trained.", metavar="FILE")
    ] = None
    dataset: Annotated[
        str | None,
        in_labels("A public corpus by name (see manyhands datasets) in the folder --data.",
                  metavar="NAME"),
    ] = None  # fmt: skip
    data: options.DataFolder = None
    feature_set: Annotated[
        str | None, in_labels("Features of the corpus.", metavar="NAME", show_default="its first")
    ] = None
    truth: options.Truth = None
    select: Annotated[
        bool,
        options.option("Choose a winner without truth, on validation labels, by --monitor "
                       "(default: ranks), and say whether majority voting is enough.", "--select"),
    ] = False  # fmt: skip
    runs: Annotated[
        int, options.in_training("Seeds per method, for networks and for --select.", min=1)
    ] = 1
    jobs: options.Jobs = None
    out: options.OutFile = "-"
    seed: options.Seed = 0
    json: options.Json = False
    pairs: PairOptions
    reading: options.LabelOptions
    columns: FeatureColumns
    training: options.TrainOptions

    @cached_property
    def file(self) -> "mh.io.LabelFile":
        """The file of labels."""
        return self.reading.file(self.labels or [])

    @cached_property
    def annotations(self) -> "mh.Annotations":
        """The labels of items; what the file was taken for is printed."""
        return cast("mh.Annotations", output.told(self.file.read_items()))

    @cached_property
    def marked(self) -> "mh.io.TextLabels":
        """The labels of tokens."""
        return self.file.read_tokens()

    def source(self) -> dict[str, object]:
        """What the file of labels was taken for; nothing for a corpus."""
        if self.labels is None:
            return {}
        items = self.file.tokens is None
        read = self.annotations if items else self.marked.labels.annotations
        return {"source": output.source_of(read, self.file)}

    @property
    def names(self) -> list[str] | None:
        """The names of the methods, if they were given."""
        return [name.strip() for name in self.methods.split(",")] if self.methods else None

    @property
    def n_jobs(self) -> int:
        """Number of runs at the same time."""
        return self.jobs or os.cpu_count() or 1

    @property
    def monitor(self) -> str:
        """The criterion of --select; by default all criteria together."""
        return str(self.training.given.get("monitor", mh.evaluation.RANKS))


@options.takes_groups
def compare(request: Request) -> None:
    """Rank methods on the same labels, with truth or without.

    Without features, aggregators are compared: with --truth by accuracy (classes) or mean
    absolute error (numbers), without it by the probability of labels that were held out.

    With --features or --dataset, networks are trained with --runs seeds each. The score is that
    of the network alone on items without labels (the test items of a corpus); the column
    inferred is that of network and labels together on the labelled items; the deviation is over
    seeds. Regression is ranked by mean absolute error (mae), with rmse and r2 beside it;
    without truth by the log density of held-out labels. Tagging is ranked by F1 of the
    entities, with precision and recall beside it, on the sentences of --truth, which may be
    other ones. No --features are needed for tagging: name methods that train.

    With --select the winner is chosen without truth. Labels are held out before fitting, and
    methods are ranked by five criteria on them: likelihood (log-probability of the labels),
    majority (the predicted class is the majority of the labels), confidence (the same, weighted
    by how clear the majority is), log-odds (the same, weighted by how certain the model is),
    annotator (the label predicted for this annotator is the given one). Majority voting is
    enough unless the winner is better by more than two standard errors. --truth then only adds
    a last column, accuracy.

    Of comparisons of two items, methods are ranked by --truth (true scores of items) or by the
    probability of comparisons that were held out.

    Example: manyhands compare labels.csv --select

    Example: manyhands compare pairs.csv --methods bradley-terry,crowd-bt

    Example: manyhands compare labels.csv --truth truth.csv --methods majority,dawid-skene

    Example: manyhands compare labels.csv --features features.csv --select --monitor likelihood

    Example: manyhands compare --dataset labelme --data DIR --methods conal,speelfc --runs 10

    Example: manyhands compare ratings.csv --features texts.txt --task regression --truth
    truth.csv

    Example: manyhands compare tokens.conll --truth test.bio --methods majority,crowd-layer-mw
    """
    labels = request.file.names if request.labels else []
    if bool(labels) == (request.dataset is not None):
        raise SettingError("give a file of labels, or --dataset with --data, one of the two")
    compared = request.pairs.file(request.file) if labels else None
    if compared is not None:
        compare_pairs(request, compared)
        return
    output.require_targets(request.out, read=[*labels, request.truth, request.features])
    if labels and request.features is None and request.file.tokens is None:
        if request.select:
            _tell_choice(request, _select_aggregator(request))
        else:
            _tell(request, _compare_aggregators(request))
        return
    trial, names, notes = _trial(request)
    if request.select:
        _tell_choice(request, _select_method(request, trial, names))
        return
    table = _compare_methods(request, trial, names)
    for note in notes:
        output.remark(f"note: {note}")
    _tell(request, table, _epoch_rule(trial, names, request.training))


def _trial(request: Request) -> "tuple[mh.selection.Trial, list[str] | None, list[str]]":
    """What networks are compared on, the methods, and notes."""
    reading, truth = request.reading, request.truth
    if request.dataset is not None:
        return _corpus(request), request.names, []
    file = request.file
    if file.tokens is None:
        table = request.columns.read(str(request.features), reading)
        truths, ann = reading.truth(truth), request.annotations
        table = matched(table, ann, str(request.features))
        return mh.selection.trial_of_files(table, ann, truths), request.names, []
    gold = reading.true_tags(truth)
    marked = request.marked
    trial, notes = (
        mh.selection.trial_of_tokens(marked.labels, gold),
        output.token_notes(marked, reading.orphan_tags),
    )
    if gold is not None and trial.test_features is not None:
        notes.append(f"scored on the {len(gold)} sentences of {truth}, not on the labelled ones")
    names = request.names
    if names is None and request.features is None:  # aggregators only
        known = [name for name, each in mh.AGGREGATORS.items() if each.kind == "classes"]
        names = [name for name in known if name not in mh.METHODS]
    return trial, names, notes


def _corpus(request: Request) -> "mh.selection.Trial":
    reader = mh.DATASETS[str(request.dataset)]
    if request.data is None:
        raise SettingError("give --data, the folder that holds the corpora")
    trial = mh.selection.trial_of_corpus(reader.read(request.data, request.feature_set))
    task = trial.task
    if request.reading.task not in (None, task):
        raise SettingError(
            f"{request.dataset} is a corpus for {task}; got --task {request.reading.task}"
        )
    return trial


def _compare_aggregators(request: Request) -> "mh.aggregation.Comparison":
    truth = request.reading.truth(request.truth)
    mh.aggregation.require_comparable(request.names or ())  # before a long file is read
    with output.working(f"comparing methods on {request.file.shown}"):
        ann = request.annotations
        return mh.aggregation.compare(ann, request.names, truth=truth, seed=request.seed)


def _compare_methods(
    request: Request, trial: "mh.selection.Trial", names: list[str] | None
) -> "mh.aggregation.Comparison":
    mh.selection.require_methods(names or (), trial.task)  # before the bar is shown
    settings = request.training.settings(trial.task)
    n_runs = mh.selection.n_runs(trial, names, request.runs)
    with output.counting("training", n_runs) as done, output.noting():
        return mh.selection.compare_training(
            trial, names, runs=request.runs, seed=request.seed, settings=settings,
            jobs=request.n_jobs, done=done,
        )  # fmt: skip


def _epoch_rule(
    trial: "mh.selection.Trial", names: Sequence[str] | None, training: options.TrainOptions
) -> str:
    """How the epoch of every run was chosen."""
    trains = names is None or not mh.METHODS.keys().isdisjoint(names)
    if not trains and trial.task != "classification":
        return ""
    fraction = training.given.get("validation_fraction")
    return _EITHER if fraction is None else _VALIDATED if fraction else _LAST


def _select_aggregator(request: Request) -> "mh.aggregation.Choice":
    reading = request.reading
    numbers = reading.kind == "numbers" or reading.bounds is not None
    _require_classes("regression" if numbers else reading.task)
    mh.aggregation.candidates(request.names)  # before a long file is read
    truth = reading.truth(request.truth)
    with output.working(f"comparing methods on {request.file.shown}"):
        ann = request.annotations
        return mh.aggregation.select(
            ann, request.names, monitor=request.monitor, truth=truth, runs=request.runs,
            seed=request.seed,
        )  # fmt: skip


def _select_method(
    request: Request, trial: "mh.selection.Trial", names: list[str] | None
) -> "mh.selection.Selection":
    _require_classes(trial.task)
    settings: dict[str, Any] = request.training.settings("classification")
    settings.pop("monitor", None)
    n_models = len(mh.selection.all_candidates(names, settings, trial.features))
    with output.counting("training", n_models * request.runs) as done:
        return mh.selection.select_on_trial(
            trial, names, monitor=request.monitor, runs=request.runs, seed=request.seed,
            settings=settings, jobs=request.n_jobs, done=done,
        )  # fmt: skip


def _require_classes(task: str | None) -> None:
    if task not in (None, "classification"):
        raise SettingError(
            f"--select is for classification, and this is {task}; without --select and --truth, "
            "methods are ranked by held-out labels"
        )


def _tell(request: Request, table: "mh.aggregation.Comparison", rule: str = "") -> None:
    ranked_by = table.ranked_by
    _put(request, table, {"ranked_by": ranked_by} | ({"selection": rule} if rule else {}))
    if request.out == "-" and not request.json:
        output.remark(f"ranked by {ranked_by}" + (f"; {rule}" if rule else ""))


def _tell_choice(request: Request, choice: "mh.aggregation.Choice") -> None:
    table = choice.table
    facts = {name: getattr(choice, name) for name in ("winner", "majority_is_enough", "reason")}
    _put(request, table, facts | {"ranked_by": table.ranked_by})
    if not request.json:
        output.say(f"The winner is {choice.winner}, by {table.ranked_by}.")
        output.say(choice.reason)
        if "accuracy" in table.columns:
            output.remark(
                "accuracy is against the truth and for information: nothing was chosen by it"
            )


def _put(request: Request, table: "mh.aggregation.Comparison", facts: dict[str, Any]) -> None:
    """Print the table, or an object that has it, and write it to a file if one is named."""
    if request.json:
        output.say_json(request.source() | facts | {"methods": table.records()})
    elif request.out == "-":
        output.show_table("", table.records(), table.columns)
    if request.out != "-":
        output.put_table(table.columns, request.out)
