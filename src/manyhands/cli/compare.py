"""manyhands compare: several methods on the same labels, one ranked table."""

import os
from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import (
    Json,
    OutFile,
    Reading,
    Repeats,
    Seed,
    TaskOptions,
    Training,
    Truth,
    takes,
)
from manyhands.cli.output import (
    counting,
    noting,
    put_table,
    remark,
    require_targets,
    say_json,
    show_table,
    working,
)
from manyhands.cli.reading import annotations_from, features_from, truth_from
from manyhands.cli.selection import select_aggregator, select_method, tell_choice
from manyhands.cli.tasks import LEARNS, kind_asked, tokens_layout
from manyhands.cli.train import TextColumn
from manyhands.core.errors import SettingError

_RULE = "last epoch of every run; nothing was chosen with clean labels"
_RULE_OWN = (
    "last epoch, or where the method has it so, chosen by held-out labels of the crowd; nothing "
    "was chosen with clean labels"
)
_RULE_HELD = "epoch chosen by held-out labels of the crowd; nothing was chosen with clean labels"


@takes(task_options=TaskOptions, training=Training, reading=Reading)
def compare(
    labels: Annotated[
        str | None,
        typer.Argument(metavar="LABELS", help="Labels, or tagged tokens; not with --dataset."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names separated by commas. [default: all that fit]")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Features of the items: then networks are trained.")
    ] = None,
    text: TextColumn = None,
    dataset: Annotated[
        str | None, typer.Option(help="A public corpus by name, see manyhands datasets.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Folder that holds the public corpora.")] = None,
    feature_set: Annotated[
        str | None, typer.Option(help="Which features of the corpus. [default: its first]")
    ] = None,
    truth: Truth = None,
    select: Annotated[
        bool,
        typer.Option(
            "--select",
            help="Choose without truth: name a winner by labels kept aside, as --monitor says "
            "[default: ranks], and say whether majority voting is enough.",
        ),
    ] = False,
    runs: Annotated[
        int, typer.Option(min=1, help="Seeds per method where networks train or --select chooses.")
    ] = 1,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time. [default: one per core]")
    ] = None,
    out: OutFile = "-",
    duplicates: Repeats = "keep",
    seed: Seed = 0,
    json: Json = False,
    task_options: TaskOptions = TaskOptions(),  # noqa: B008 - frozen
    training: Training = Training(),  # noqa: B008 - frozen
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Compare methods on the same labels: one table, best first.

    Without features, aggregators: with --truth the rank is by accuracy (classes) or mean absolute
    error (numbers), without it by how well a method foretells labels that were held out. With
    --features or --dataset, networks are trained, --runs times each: accuracy is of the network
    alone on items without labels (the corpus's test items), `inferred` of network and labels
    together on the labelled items; the deviation is over seeds. Networks for numbers are ranked by
    mean absolute error (mae; rmse and r2 beside it), without truth by the log density of held-out
    labels. For tagged tokens it is F1 of the entities, precision and recall beside it, on the
    sentences of --truth, which may be others; methods that train do so, as the words are there.

    With --select the winner is named without any truth. Labels are kept aside before fitting, and
    methods are ranked by five criteria on them: likelihood (log-probability of the labels),
    majority (the class found is what most of them say), confidence (the same, sure majorities
    count more), log-odds (the same, what the model is sure of counts more), annotator (the label
    predicted of this person is the one given). Majority voting is enough unless the winner is
    better than it by more than two standard errors. --truth decides nothing then: accuracy is the
    last column.

    Example: manyhands compare labels.csv --select

    Example: manyhands compare labels.csv --features features.csv --select --monitor likelihood

    Example: manyhands compare labels.csv --truth truth.csv --methods majority,dawid-skene

    Example: manyhands compare --dataset labelme --data DIR --methods conal,speelfc --runs 10

    Example: manyhands compare ratings.csv --features texts.txt --task regression --truth truth.csv

    Example: manyhands compare tokens.conll --truth test.bio --methods majority,crowd-layer-mw
    """
    names = [name.strip() for name in methods.split(",")] if methods else None
    if (labels is None) == (dataset is None):
        raise SettingError("give a file of labels, or --dataset with --data, one of the two")
    require_targets(out, read=[labels, truth, features])
    notes: tuple[str, ...] = ()
    layout = None if labels is None else tokens_layout(labels, task_options, reading)
    alone = dataset is None and features is None and layout is None
    if select and alone:
        _require_classes("numbers" if kind_asked(task_options, reading) == "numbers" else "classes")
        told = (str(labels), names, truth, duplicates)
        tell_choice(select_aggregator(*told, runs, seed, training.monitor, reading), out, json)
        return
    if alone:
        table = _aggregators(str(labels), names, truth, duplicates, seed, reading, task_options)
        rule = ""
    else:
        if dataset is not None:
            trial = _corpus(dataset, data, feature_set, task_options)
        elif layout is not None:
            trial, notes = _tokens(str(labels), layout, truth, task_options, reading)
            names = names or _named_for_tokens(features)
        else:
            trial = _files(
                str(labels), str(features), text, truth, duplicates, reading, task_options
            )
        if select:
            _require_classes(trial.task)
            tell_choice(select_method(trial, names, runs, seed, jobs, training), out, json)
            return
        table = _by_training(trial, names, runs, seed, jobs, training)
        rule = _rule(trial, names, training)
    for note in notes:
        remark(f"note: {note}")
    if json:
        said = {"ranked_by": table.ranked_by, "methods": table.records()}
        say_json(said | ({"selection": rule} if rule else {}))
    elif out == "-":
        rows = [list(record.values()) for record in table.records()]
        show_table("", list(table.columns), rows)
        remark(f"ranked by {table.ranked_by}" + (f"; {rule}" if rule else ""))
    if out != "-":
        put_table(table.columns, out)


def _by_training(
    trial: "mh.selection.Trial",
    names: list[str] | None,
    runs: int,
    seed: int,
    jobs: int | None,
    training: Training,
) -> "mh.aggregation.Comparison":
    mh.selection.require_methods(names or (), trial.task)  # told before the bar is shown
    settings = training.settings(trial.task)
    with counting("training", mh.selection.n_runs(trial, names, runs)) as done, noting():
        return mh.selection.compare_training(
            trial, names, runs=runs, seed=seed, settings=settings,
            jobs=jobs or os.cpu_count() or 1, done=done,
        )  # fmt: skip


def _rule(trial: "mh.selection.Trial", names: list[str] | None, training: Training) -> str:
    """How the epoch of every run was chosen."""
    if names is not None and mh.METHODS.keys().isdisjoint(names) and trial.task != "classes":
        return ""
    if training.validation_fraction is None:
        return _RULE_OWN
    return _RULE_HELD if training.validation_fraction else _RULE


def _aggregators(
    labels: str,
    names: list[str] | None,
    truth: str | None,
    duplicates: str,
    seed: int,
    reading: Reading,
    task_options: TaskOptions,
) -> "mh.aggregation.Comparison":
    truths = truth_from(truth, reading) if truth is not None else None
    mh.aggregation.require_comparable(names or ())  # told before a long file is read
    with working(f"comparing methods on {labels}"):
        annotations = annotations_from(labels, reading, duplicates, task_options)
        return mh.aggregation.compare(annotations, names, truth=truths, seed=seed)


def _corpus(
    dataset: str, data: str | None, feature_set: str | None, task_options: TaskOptions
) -> "mh.selection.Trial":
    reader = mh.DATASETS[dataset]
    if data is None:
        raise SettingError("give --data, the folder that holds the corpora")
    trial = mh.selection.trial_of_corpus(reader.read(data, feature_set))
    if task_options.task is not None and LEARNS.get(task_options.task) != trial.task:
        raise SettingError(
            f"{dataset} holds {trial.task}, so --task {task_options.task} is not for it"
        )
    return trial


def _files(
    labels: str,
    features: str,
    text: str | None,
    truth: str | None,
    duplicates: str,
    reading: Reading,
    task_options: TaskOptions,
) -> "mh.selection.Trial":
    table = features_from(features, reading, text)
    truths = truth_from(truth, reading) if truth is not None else None
    ann = annotations_from(labels, reading, duplicates, task_options)
    return mh.selection.trial_of_files(table, ann, truths)


def _tokens(
    labels: str, layout: str, truth: str | None, task_options: TaskOptions, reading: Reading
) -> "tuple[mh.selection.Trial, tuple[str, ...]]":
    from manyhands.cli.tokens import tagged_from, tokens_from  # --help does without

    gold = tagged_from(truth, reading) if truth is not None else None
    file = tokens_from(labels, layout, task_options, reading)
    trial = mh.selection.trial_of_tokens(file.labels, gold)
    if gold is None or trial.test_features is None:
        return trial, file.notes
    return trial, (*file.notes, f"scored on the {len(gold)} sentences of {truth}, which are others")


def _named_for_tokens(features: str | None) -> list[str] | None:
    """Aggregators, unless features say that networks are to be trained."""
    if features is not None:
        return None
    aggregators = {name for name, method in mh.AGGREGATORS.items() if method.kind == "classes"}
    return [name for name in mh.AGGREGATORS if name in aggregators and name not in mh.METHODS]


def _require_classes(task: str) -> None:
    if task != "classes":
        raise SettingError(
            f"--select is for classes, and these are {task}; without it and without "
            "--truth, methods are ranked by held-out labels"
        )
