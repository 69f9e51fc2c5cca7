"""manyhands train: features and labels -> a network."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import (
    OUTPUT,
    TRAINING,
    AnnotatorsFile,
    FeaturesFile,
    Json,
    LabelOptions,
    Seed,
    TextColumn,
    TrainOptions,
    Truth,
    method_names,
    takes,
)
from manyhands.cli.output import noting, put_table, remark, require_targets, say, say_json
from manyhands.cli.tasks import require_method
from manyhands.cli.tokens import notes_on, read_true_tags
from manyhands.core.errors import SettingError


@dataclass(frozen=True)
class _Request:
    """What to train on, how, and where the model goes."""

    features: str
    labels: str | None
    file: "mh.io.LabelFile"
    options: LabelOptions
    training: TrainOptions
    text: str | None
    truth: str | None
    method: str | None
    seed: int
    resume: bool
    out: str
    annotators: str | None
    json: bool


@takes(options=LabelOptions, training=TrainOptions)
def train(
    features: FeaturesFile,
    out: Annotated[
        str,
        typer.Option("--out", metavar="DIR", rich_help_panel=OUTPUT,
                     help="Folder for the model and its checkpoints."),
    ],
    labels: Annotated[
        str | None,
        typer.Argument(metavar="LABELS", help="Labels of the items. Leave it out for tagged "
                       "tokens: one file has the words and the tags."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Method, such as conal, speelfc, crowd-layer-mw or em; for numbers crowd-layer-b, "
            "em-regression or two-stage-mean. The documentation lists all of them.",
            autocompletion=method_names,
            rich_help_panel=TRAINING,
            show_default="conal; regression: crowd-layer-b; tagging: speelfc",
        ),
    ] = None,
    text: TextColumn = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", rich_help_panel=TRAINING,
                     help="Continue from the checkpoint in the folder."),
    ] = False,
    annotators: AnnotatorsFile = None,
    truth: Truth = None,
    seed: Seed = 0,
    json: Json = False,
    options: LabelOptions = LabelOptions(),  # noqa: B008 - frozen
    training: TrainOptions = TrainOptions(),  # noqa: B008 - never changed
) -> None:  # fmt: skip
    """Train a network from the labels of many annotators.

    No clean labels are needed. The labels are classes, numbers (--task regression) or tags of
    tokens (--task tagging). FEATURES are numbers, or texts: one per line, or a table with a
    column text. Items without labels are not used. The model is written to the folder --out;
    manyhands predict reads it. If a run was stopped, --resume continues it, and the model is
    the same as without the stop. --truth is for scores only, except for the method "truth".

    Example: manyhands train features.csv labels.csv --method conal --out model

    Example: manyhands train texts.txt ratings.csv --task regression --out model

    Example: manyhands train tokens.conll --word-vectors glove.txt --epochs 20 --out model
    """
    if method is not None:
        mh.METHODS[method]  # an unknown name is an error before files are read
    if annotators is not None:
        require_targets(annotators, read=[features, labels, truth])
    file = options.file(labels or features)
    request = _Request(features, labels, file, options, training, text, truth, method, seed, resume,
                       out, annotators, json)  # fmt: skip
    run = _train_items if file.tokens is None else _train_tokens
    run(request)


def _train_items(request: _Request) -> None:
    options = request.options
    if request.labels is None:
        raise SettingError("give FEATURES and LABELS; only tagged tokens are in one file")
    if options.task is not None and request.method is not None:
        require_method(request.method, options.task)
    truth = options.truth(request.truth)
    table = options.features(request.features, request.text)
    if not table.are_texts and request.training.given.keys() & {
        "word_vectors",
        "freeze_embeddings",
    }:
        raise SettingError(
            "--word-vectors and --freeze-embeddings are for texts; these features are numbers"
        )
    ann = request.file.read_items()
    model = _new_model(request, "regression" if ann.kind == "numbers" else "classification")
    known = truth if mh.METHODS[model.method].needs_truth else None
    scores = {}
    with _stoppable(request.out), noting():
        model.fit(table.values, ann, X_items=table.items, truth=known, resume=request.resume)
        model.save(request.out)
        if truth is not None:
            scores = mh.selection.scores_of(mh.selection.trial_of_files(table, ann, truth), model)
    _tell(request, model, ann, scores)


def _train_tokens(request: _Request) -> None:
    file, features, truth = request.file, request.features, request.truth
    model = _new_model(request, "tagging")
    gold = read_true_tags(truth, request.options)
    marked = file.read_tokens()
    labels, ann = marked.labels, marked.labels.annotations
    if request.labels not in (None, features):
        words = request.options.file(features).read_sentences(ann.classes)
        mh.io.require_same_tokens(file.path, labels.sentences, features, words)
    known = gold if mh.METHODS[model.method].needs_truth else None
    if known is not None:
        mh.io.require_same_tokens(file.path, labels.sentences, truth, known.sentences)
    trial = mh.selection.trial_of_tokens(labels, gold)
    with _stoppable(request.out), noting():
        model.fit(labels, ann, truth=known, resume=request.resume)
    model.save(request.out)
    scores = mh.selection.scores_of(trial, model) if gold is not None else {}
    notes = notes_on(marked, request.options.orphan_tags)
    if gold is not None and trial.test_features is not None:
        notes.append(f"scored on the {len(gold)} sentences of {truth}, not on the labelled ones")
    _tell(request, model, ann, scores, notes)


def _new_model(request: _Request, task: str) -> Any:
    """The estimator of a task with the settings that were given."""
    settings = request.training.settings(task)
    settings |= {"seed": request.seed, "checkpoint": Path(request.out) / "checkpoint"}
    if request.method is not None:
        require_method(request.method, task)
        settings["method"] = request.method
    model = mh.estimators.ESTIMATORS[task](**settings)
    if mh.METHODS[model.method].needs_truth and request.truth is None:
        raise SettingError(f"the method {model.method!r} trains on the truth: give --truth")
    return model


@contextmanager
def _stoppable(out: str) -> Iterator[None]:
    """Say how to continue when training is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        remark(f"stopped; the same command with --resume continues from the checkpoint in {out}")
        raise


def _tell(
    request: _Request,
    model: Any,
    ann: "mh.Annotations",
    scores: Mapping[str, float],
    notes: Sequence[str] = (),
) -> None:
    """Write the annotators, and print a summary."""
    if request.annotators is not None:
        put_table(model.annotator_columns_, request.annotators)
    last, task = model.history_[-1], model.task
    if request.json:
        summary = {
            "method": model.method, "task": task, "labels": ann.n_annotations,
            "items": ann.n_items, "annotators": ann.n_annotators, "classes": ann.classes.tolist(),
            "epochs": last["epoch"], "kept_epoch": model.epoch_, "loss": last["loss"],
            "searched_epochs": len(model.search_history_), "model": request.out,
        }  # fmt: skip
        say_json(summary | {"notes": list(notes), "scores": dict(scores)})
        return
    what, where = ("tokens", "TOKENS") if task == "tagging" else ("items", "FEATURES")
    say(
        f"{model.method}: {ann.n_annotations} labels of {ann.n_items} {what} by "
        f"{ann.n_annotators} annotators, {last['epoch']} epochs, loss {last['loss']:.4f}"
        + _task_note(task)
        * (request.options.task is None)
    )
    for note in notes:
        say(f"note: {note}")
    if model.search_history_ or "validation" in last:
        monitor = model.settings_.monitor
        say(f"epoch {model.epoch_} is the best by {monitor} on the validation labels")
    for name, score in scores.items():
        say(f"{name} {score:.4f}")
    say(f"model in {request.out}: manyhands predict {request.out} {where} --out predictions.csv")


def _task_note(task: str) -> str:
    """How the task was decided, where the labels decided it."""
    notes = {"regression": "labels are numbers", "tagging": "tagged tokens"}
    return f" ({notes[task]}: --task {task})" if task in notes else ""
