"""manyhands compare: several methods on the same labels, in one ranked table."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import (
    LABELS,
    TRAINING,
    DataFolder,
    Jobs,
    Json,
    LabelOptions,
    OutFile,
    Seed,
    TextColumn,
    TrainOptions,
    Truth,
    any_method_names,
    takes,
)
from manyhands.cli.output import (
    counting,
    noting,
    put_table,
    remark,
    require_targets,
    say,
    say_json,
    show_table,
    working,
)
from manyhands.cli.tokens import notes_on, read_true_tags
from manyhands.core.errors import SettingError

_BY_TRUTH = "nothing was chosen with clean labels"
_LAST = f"last epoch of every run; {_BY_TRUTH}"
_VALIDATED = f"epoch chosen on validation labels of the crowd; {_BY_TRUTH}"
_EITHER = f"last epoch, or epoch chosen on validation labels, as the method has it; {_BY_TRUTH}"


@dataclass(frozen=True)
class _Request:
    """What to compare, on what, and how."""

    labels: str | None
    names: list[str] | None
    features: str | None
    text: str | None
    dataset: str | None
    data: str | None
    feature_set: str | None
    truth: str | None
    runs: int
    seed: int
    jobs: int | None
    options: LabelOptions
    training: TrainOptions

    @property
    def file(self) -> "mh.io.LabelFile":
        """The file of labels."""
        return self.options.file(str(self.labels))

    @property
    def n_jobs(self) -> int:
        """Number of runs at the same time."""
        return self.jobs or os.cpu_count() or 1


@takes(options=LabelOptions, training=TrainOptions)
def compare(
    labels: Annotated[
        str | None,
        typer.Argument(metavar="LABELS", help="Labels, or tagged tokens. Not with --dataset."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help="Methods, such as majority,dawid-skene.",
                     autocompletion=any_method_names, show_default="all that fit"),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=LABELS,
                     help="Features of the items; networks are then trained."),
    ] = None,
    text: TextColumn = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel=LABELS,
                     help="A public corpus by name (see manyhands datasets) in the folder --data."),
    ] = None,
    data: DataFolder = None,
    feature_set: Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel=LABELS, help="Features of the corpus.",
                     show_default="its first"),
    ] = None,
    truth: Truth = None,
    select: Annotated[
        bool,
        typer.Option("--select", help="Choose a winner without truth, on validation labels, by "
                     "--monitor (default: ranks), and say whether majority voting is enough."),
    ] = False,
    runs: Annotated[
        int,
        typer.Option(min=1, rich_help_panel=TRAINING,
                     help="Seeds per method, for networks and for --select."),
    ] = 1,
    jobs: Jobs = None,
    out: OutFile = "-",
    seed: Seed = 0,
    json: Json = False,
    options: LabelOptions = LabelOptions(),  # noqa: B008 - frozen
    training: TrainOptions = TrainOptions(),  # noqa: B008 - never changed
) -> None:  # fmt: skip
    """Compare methods on the same labels in one ranked table.

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

    Example: manyhands compare labels.csv --select

    Example: manyhands compare labels.csv --truth truth.csv --methods majority,dawid-skene

    Example: manyhands compare labels.csv --features features.csv --select --monitor likelihood

    Example: manyhands compare --dataset labelme --data DIR --methods conal,speelfc --runs 10

    Example: manyhands compare ratings.csv --features texts.txt --task regression --truth
    truth.csv

    Example: manyhands compare tokens.conll --truth test.bio --methods majority,crowd-layer-mw
    """
    if (labels is None) == (dataset is None):
        raise SettingError("give a file of labels, or --dataset with --data, one of the two")
    require_targets(out, read=[labels, truth, features])
    names = [name.strip() for name in methods.split(",")] if methods else None
    request = _Request(labels, names, features, text, dataset, data, feature_set, truth, runs, seed,
                       jobs, options, training)  # fmt: skip
    if labels is not None and features is None and request.file.tokens is None:
        if select:
            _tell_choice(_select_aggregator(request), out, json)
        else:
            _tell(_compare_aggregators(request), "", out, json)
        return
    trial, names, notes = _trial(request)
    if select:
        _tell_choice(_select_method(request, trial, names), out, json)
        return
    table = _compare_methods(request, trial, names)
    for note in notes:
        remark(f"note: {note}")
    _tell(table, _epoch_rule(trial, names, training), out, json)


def _trial(
    request: _Request,
) -> "tuple[mh.selection.Trial, list[str] | None, list[str]]":
    """What networks are compared on, the methods, and notes."""
    options, truth = request.options, request.truth
    if request.dataset is not None:
        return _corpus(request), request.names, []
    file = request.file
    if file.tokens is None:
        table = options.features(str(request.features), request.text)
        truths = options.truth(truth)
        return mh.selection.trial_of_files(table, file.read_items(), truths), request.names, []
    gold = read_true_tags(truth, options)
    marked = file.read_tokens()
    trial, notes = (
        mh.selection.trial_of_tokens(marked.labels, gold),
        notes_on(marked, options.orphan_tags),
    )
    if gold is not None and trial.test_features is not None:
        notes.append(f"scored on the {len(gold)} sentences of {truth}, not on the labelled ones")
    names = request.names
    if names is None and request.features is None:  # aggregators only
        known = [name for name, each in mh.AGGREGATORS.items() if each.kind == "classes"]
        names = [name for name in known if name not in mh.METHODS]
    return trial, names, notes


def _corpus(request: _Request) -> "mh.selection.Trial":
    reader = mh.DATASETS[str(request.dataset)]
    if request.data is None:
        raise SettingError("give --data, the folder that holds the corpora")
    trial = mh.selection.trial_of_corpus(reader.read(request.data, request.feature_set))
    task = trial.task
    if request.options.task not in (None, task):
        raise SettingError(
            f"{request.dataset} is a corpus for {task}; got --task {request.options.task}"
        )
    return trial


def _compare_aggregators(request: _Request) -> "mh.aggregation.Comparison":
    truth = request.options.truth(request.truth)
    mh.aggregation.require_comparable(request.names or ())  # before a long file is read
    with working(f"comparing methods on {request.labels}"):
        ann = request.file.read_items()
        return mh.aggregation.compare(ann, request.names, truth=truth, seed=request.seed)


def _compare_methods(
    request: _Request, trial: "mh.selection.Trial", names: list[str] | None
) -> "mh.aggregation.Comparison":
    mh.selection.require_methods(names or (), trial.task)  # before the bar is shown
    settings = request.training.settings(trial.task)
    with counting("training", mh.selection.n_runs(trial, names, request.runs)) as done, noting():
        return mh.selection.compare_training(
            trial, names, runs=request.runs, seed=request.seed, settings=settings,
            jobs=request.n_jobs, done=done,
        )  # fmt: skip


def _epoch_rule(
    trial: "mh.selection.Trial", names: Sequence[str] | None, training: TrainOptions
) -> str:
    """How the epoch of every run was chosen."""
    trains = names is None or not mh.METHODS.keys().isdisjoint(names)
    if not trains and trial.task != "classification":
        return ""
    fraction = training.given.get("validation_fraction")
    return _EITHER if fraction is None else _VALIDATED if fraction else _LAST


def _select_aggregator(request: _Request) -> "mh.aggregation.Choice":
    options = request.options
    numbers = options.kind == "numbers" or options.bounds is not None
    _require_classes("regression" if numbers else options.task)
    monitor = _monitor(request.training)
    mh.aggregation.candidates(request.names)  # before a long file is read
    truth = options.truth(request.truth)
    with working(f"comparing methods on {request.labels}"):
        return mh.aggregation.select(
            request.file.read_items(), request.names, monitor=monitor, truth=truth,
            runs=request.runs, seed=request.seed,
        )  # fmt: skip


def _select_method(
    request: _Request, trial: "mh.selection.Trial", names: list[str] | None
) -> "mh.selection.Selection":
    _require_classes(trial.task)
    settings: dict[str, Any] = request.training.settings("classification")
    monitor = _monitor(request.training)
    settings.pop("monitor", None)
    n_models = len(mh.selection.all_candidates(names, settings, trial.features))
    with counting("training", n_models * request.runs) as done:
        return mh.selection.select_on_trial(
            trial, names, monitor=monitor, runs=request.runs, seed=request.seed,
            settings=settings, jobs=request.n_jobs, done=done,
        )  # fmt: skip


def _require_classes(task: str | None) -> None:
    if task not in (None, "classification"):
        raise SettingError(
            f"--select is for classification, and this is {task}; without --select and --truth, "
            "methods are ranked by held-out labels"
        )


def _monitor(training: TrainOptions) -> str:
    """The criterion of --select; by default all criteria together."""
    return str(training.given.get("monitor", mh.evaluation.RANKS))


def _tell(table: "mh.aggregation.Comparison", rule: str, out: str, json: bool) -> None:
    if json:
        content = {"ranked_by": table.ranked_by, "methods": table.records()}
        say_json(content | ({"selection": rule} if rule else {}))
    elif out == "-":
        show_table("", list(table.columns), [list(row.values()) for row in table.records()])
        remark(f"ranked by {table.ranked_by}" + (f"; {rule}" if rule else ""))
    if out != "-":
        put_table(table.columns, out)


def _tell_choice(choice: "mh.aggregation.Choice", out: str, json: bool) -> None:
    table = choice.table
    if json:
        keys = ("winner", "majority_is_enough", "reason")
        content = {name: getattr(choice, name) for name in keys}
        say_json(content | {"ranked_by": table.ranked_by, "methods": table.records()})
    elif out == "-":
        show_table("", list(table.columns), [list(row.values()) for row in table.records()])
    if not json:
        say(f"The winner is {choice.winner}, by {table.ranked_by}.")
        say(choice.reason)
        if "accuracy" in table.columns:
            remark("accuracy is against the truth and for information: nothing was chosen by it")
    if out != "-":
        put_table(table.columns, out)
