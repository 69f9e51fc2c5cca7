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
    Training,
    Truth,
    takes,
)
from manyhands.cli.output import (
    counting,
    put_table,
    remark,
    require_targets,
    say_json,
    show_table,
    working,
)
from manyhands.cli.reading import annotations_from, features_from, truth_from
from manyhands.cli.selection import select_aggregator, select_method, tell_choice
from manyhands.core.errors import SettingError

_RULE = "last epoch of every run; nothing was chosen with clean labels"
_RULE_HELD = "epoch chosen by held-out labels of the crowd; nothing was chosen with clean labels"


@takes(training=Training, reading=Reading)
def compare(
    labels: Annotated[
        str | None, typer.Argument(metavar="LABELS", help="Labels; not with --dataset.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names separated by commas. [default: all that fit]")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Features of the items: then networks are trained.")
    ] = None,
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
            help="Choose without truth: name a winner by labels kept aside, as --judge says "
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
    training: Training = Training(),  # noqa: B008 - frozen
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Compare methods on the same labels: one table, best first.

    Without features, aggregators: with --truth the rank is by accuracy (classes) or mean absolute
    error (numbers), without it by how well a method foretells labels that were held out. With
    --features or --dataset, networks are trained, --runs times each: accuracy is of the network
    alone on items without labels (the corpus's test items), `inferred` of network and labels
    together on the labelled items; the deviation is over seeds.

    With --select the winner is named without any truth. Labels are kept aside before fitting, and
    methods are ranked by five criteria on them: likelihood (log-probability of the labels),
    majority (the class found is what most of them say), confidence (the same, sure majorities
    count more), log-odds (the same, what the model is sure of counts more), annotator (the label
    predicted of this person is the one given). Majority voting is enough unless the winner is
    better than it by more than two standard errors. --truth decides nothing then: accuracy is the
    last column.

    Example: manyhands compare labels.csv --select

    Example: manyhands compare labels.csv --features features.csv --select --judge likelihood

    Example: manyhands compare labels.csv --truth truth.csv --methods majority,dawid-skene

    Example: manyhands compare --dataset labelme --data DIR --methods conal,speelfc --runs 10
    """
    names = [name.strip() for name in methods.split(",")] if methods else None
    if (labels is None) == (dataset is None):
        raise SettingError("give a file of labels, or --dataset with --data, one of the two")
    require_targets(out, read=[labels, truth, features])
    if select and dataset is None and features is None:
        told = (str(labels), names, truth, duplicates)
        tell_choice(select_aggregator(*told, runs, seed, training.judge, reading), out, json)
        return
    if dataset is None and features is None:
        table = _aggregators(str(labels), names, truth, duplicates, seed, reading)
        rule = ""
    else:
        trial = (
            _corpus(dataset, data, feature_set)
            if dataset is not None
            else _files(str(labels), str(features), truth, duplicates, reading)
        )
        if select:
            tell_choice(select_method(trial, names, runs, seed, jobs, training), out, json)
            return
        with counting("training", mh.estimators.n_runs(trial, names, runs)) as done:
            table = mh.estimators.compare_training(
                trial, names, runs=runs, seed=seed, settings=training.settings(),
                jobs=jobs or os.cpu_count() or 1, done=done,
            )  # fmt: skip
        rule = _RULE_HELD if training.hold_out else _RULE
    if json:
        said = {"ranked_by": table.ranked_by, "methods": table.records()}
        say_json(said | ({"selection": rule} if rule else {}))
    elif out == "-":
        rows = [list(record.values()) for record in table.records()]
        show_table("", list(table.columns), rows)
        remark(f"ranked by {table.ranked_by}" + (f"; {rule}" if rule else ""))
    if out != "-":
        put_table(table.columns, out)


def _aggregators(
    labels: str,
    names: list[str] | None,
    truth: str | None,
    duplicates: str,
    seed: int,
    reading: Reading,
) -> "mh.aggregation.Comparison":
    truths = truth_from(truth, reading) if truth is not None else None
    mh.aggregation.require_comparable(names or ())  # told before a long file is read
    with working(f"comparing methods on {labels}"):
        annotations = annotations_from(labels, reading, duplicates)
        return mh.aggregation.compare(annotations, names, truth=truths, seed=seed)


def _corpus(dataset: str, data: str | None, feature_set: str | None) -> "mh.estimators.Trial":
    reader = mh.DATASETS[dataset]
    if data is None:
        raise SettingError("give --data, the folder that holds the corpora")
    return mh.estimators.trial_of_corpus(reader.read(data, feature_set))


def _files(
    labels: str, features: str, truth: str | None, duplicates: str, reading: Reading
) -> "mh.estimators.Trial":
    table = features_from(features, reading)
    truths = truth_from(truth, reading) if truth is not None else None
    ann = annotations_from(labels, reading, duplicates)
    return mh.estimators.trial_of_files(table, ann, truths)
