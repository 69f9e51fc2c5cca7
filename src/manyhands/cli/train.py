"""manyhands train: features and labels -> a network, straight from the disagreement."""

from pathlib import Path
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import (
    FeaturesFile,
    Json,
    Reading,
    Repeats,
    Seed,
    TaskOptions,
    Training,
    Truth,
    takes,
)
from manyhands.cli.output import noting, require_targets
from manyhands.cli.reading import annotations_from, features_from, truth_from
from manyhands.cli.tasks import LEARNS, require_method, tokens_layout
from manyhands.cli.trained import TrainReport, stoppable, tell_trained
from manyhands.core.errors import SettingError

TextColumn = Annotated[str | None, typer.Option("--text", help="Column of the texts.")]
_DEFAULTS = {"classes": "conal", "numbers": "crowd-layer-b", "tags": "speelfc"}
_ESTIMATORS = {"classes": "CrowdClassifier", "numbers": "CrowdRegressor", "tags": "CrowdTagger"}


@takes(task_options=TaskOptions, training=Training, reading=Reading)
def train(
    features: FeaturesFile,
    out: Annotated[str, typer.Option("--out", help="Folder for the model and its checkpoints.")],
    labels: Annotated[
        str | None,
        typer.Argument(metavar="LABELS", help="Labels of the items; left out for tagged tokens, "
                       "which are one file with their words."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="A method such as conal, speelfc, crowd-layer-mw, em; for "
                          "numbers crowd-layer-b, em-regression, two-stage-mean; the documentation "
                          "lists them all. [default: conal; numbers: crowd-layer-b; sequence: "
                          "speelfc]")
    ] = None,
    text: TextColumn = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint in the folder.")
    ] = False,
    annotators: Annotated[
        str | None, typer.Option(help="Where to write the table of annotators.")
    ] = None,
    truth: Truth = None,
    duplicates: Repeats = "keep",
    seed: Seed = 0,
    json: Json = False,
    task_options: TaskOptions = TaskOptions(),  # noqa: B008 - frozen
    training: Training = Training(),  # noqa: B008 - frozen
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:  # fmt: skip
    """Train a network straight from the labels of many people; no clean labels are needed.

    Labels are classes, numbers (regression) or tags of tokens (sequence). FEATURES are numbers, or
    texts: one per line, or a table with a column text. Items of FEATURES without labels are left
    aside. The model goes to the folder --out, and manyhands predict reads it. A run that was
    stopped, or killed, goes on with --resume and ends with the same model. --truth is for scores
    only, except for the method "truth".

    Example: manyhands train features.csv labels.csv --method conal --out model

    Example: manyhands train texts.txt ratings.csv --task regression --out model

    Example: manyhands train tokens.conll --task sequence --word-vectors glove.txt --out model
    """
    if method is not None:
        mh.METHODS[method]  # an unknown name is told before files are read
    if annotators is not None:
        require_targets(annotators, read=[features, labels, truth])
    layout = tokens_layout(labels or features, task_options, reading)
    told = TrainReport(out, annotators, json, task_options.task is None)
    how = {"seed": seed, "checkpoint": Path(out) / "checkpoint"}
    if layout is not None:
        from manyhands.cli.train_tokens import train_tokens  # --help does without

        method = _chosen(method, "tags", truth)
        model = new_model("tags", method, training, **how)
        train_tokens(model, features, labels, layout, truth, resume, told, task_options, reading)
        return
    if labels is None:
        raise SettingError("give FEATURES and LABELS; only tagged tokens are one file")
    if task_options.task is not None:
        _chosen(method, LEARNS[task_options.task], truth)
    truths = truth_from(truth, reading) if truth is not None else None
    table = features_from(features, reading, text)
    _require_texts(table, training)
    ann = annotations_from(labels, reading, duplicates, task_options)
    method = _chosen(method, ann.kind, truth)
    model = new_model(ann.kind, method, training, **how)
    learnt = truths if mh.METHODS[method].needs_truth else None
    scores = {}
    with stoppable(out), noting():
        model.fit(table.values, ann, X_items=table.items, truth=learnt, resume=resume)
        model.save(out)
        if truths is not None:
            trial = mh.selection.trial_of_files(table, ann, truths)
            scores = mh.selection.scores_of(trial, model)
    tell_trained(model, ann, scores, told)


def new_model(task: str, method: str, training: Training, **how: Any) -> Any:
    """The estimator of what is learnt, with the settings that were given."""
    make = getattr(mh, _ESTIMATORS[task])
    return make(method=method, **how, **training.settings(task))


def _require_texts(table: "mh.io.Features", training: Training) -> None:
    is_text = table.values.ndim == 1
    if is_text or (training.word_vectors is None and not training.freeze_embeddings):
        return
    raise SettingError(
        "--word-vectors and --freeze-embeddings are for texts; these features are numbers"
    )


def _chosen(method: str | None, task: str, truth: str | None) -> str:
    """The method asked for, or the default of what is learnt."""
    name = method or _DEFAULTS[task]
    require_method(name, task)
    if mh.METHODS[name].needs_truth and truth is None:
        raise SettingError(f"the method {name!r} trains on the truth: give --truth")
    return name
