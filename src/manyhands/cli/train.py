"""manyhands train: features and labels -> a network."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.feature_options import FeatureColumns, FeaturesFile, matched
from manyhands.cli.options import in_output, in_training
from manyhands.cli.pair_options import PairOptions
from manyhands.cli.ranker import train_pairs
from manyhands.core.errors import SettingError
from manyhands.core.settings import require
from manyhands.engine.torchrun import is_first, quiet_torch, started_by_torchrun

_OF_WORDS = {"word_vectors", "freeze_embeddings"}  # settings of networks that read words


@dataclass(frozen=True, kw_only=True)
class Request(options.OptionGroup):
    """What to train on, how, and where the model goes."""

    features: FeaturesFile
    out: Annotated[str, in_output("Folder for the model and its checkpoints.", metavar="DIR")]
    labels: Annotated[
        str | None,
        typer.Argument(metavar="LABELS", help="Table of labels: columns item, annotator, label "
                       "(.csv .tsv .parquet .jsonl .xlsx), a matrix (.txt .npy) or .json; may be "
                       "packed, a folder, or a pattern in quotes. Leave it out for tagging: "
                       "FEATURES then holds the words and a column of tags per annotator."),
    ] = None  # fmt: skip
    method: Annotated[
        str | None,
        in_training(
            "Method, such as conal, speelfc, crowd-layer-mw or em; for numbers crowd-layer-b, "
            "em-regression or two-stage-mean. The documentation lists all of them.",
            autocompletion=options.completed("METHODS"),
            show_default="conal; regression: crowd-layer-b; tagging: speelfc; multilabel: "
            "multilabel-layer; comparisons: crowd-layer-mw",
        ),
    ] = None
    resume: Annotated[
        bool, in_training("Continue from the checkpoint in the folder.", "--resume")
    ] = False
    annotators: options.AnnotatorsFile = None
    truth: options.Truth = None
    seed: options.Seed = 0
    json: options.Json = False
    pairs: PairOptions
    reading: options.LabelOptions
    columns: FeatureColumns
    training: options.TrainOptions

    @property
    def is_first(self) -> bool:
        """Whether this process writes and prints."""
        return is_first(self.training.given.get("nodes", 1))

    @cached_property
    def file(self) -> "mh.io.LabelFile":
        """The file of labels, which for tagged tokens has the features too."""
        return self.reading.file(self.labels or self.features)


@options.takes_groups
def train(request: Request) -> None:
    """Train a network on features and crowd labels.

    No clean labels are needed. The labels are classes, numbers (--task regression), tags of tokens
    (--task tagging) or sets of classes (--kind multilabel); without --task they decide. FEATURES
    are numbers, texts or images. Items of FEATURES without labels are ignored. The model is written
    to the folder --out; manyhands predict reads it. If a run was stopped, --resume continues it,
    and the model is the same as without the stop. --devices and --nodes train with several
    processes, to the same result; leave them out under torchrun. --truth is for scores only, except
    for the method "truth".

    Example: manyhands train features.csv labels.csv --method conal --out model

    LABELS may be comparisons of two items. The network then scores items, such as a reward model.

    Example: manyhands train features.csv pairs.csv --out model

    Example: torchrun --nproc-per-node 2 -m manyhands train X.npy labels.csv --out model

    Example: manyhands train photos/ labels.csv --augment flip,crop --out model

    Example: manyhands train texts.txt ratings.csv --task regression --out model

    Example: manyhands train features.csv topics.csv --kind multilabel --out model

    Example: manyhands train tokens.conll --word-vectors glove.txt --epochs 20 --out model
    """
    quiet_torch()
    _processes(request.training.given)
    if request.method is not None:
        mh.METHODS[request.method]  # an unknown name is an error before files are read
    mh.io.require_folder(request.out)
    read = [request.features, request.labels, request.truth]
    output.require_targets(request.annotators, read=read)
    compared = None if request.labels is None else request.pairs.file(request.file)
    if compared is not None:
        train_pairs(request, compared)
        return
    run = _train_items if request.file.tokens is None else _train_tokens
    with nullcontext() if request.is_first else output.unheard():
        run(request)


def _require_method(method: str, task: str) -> None:
    """Raise a `SettingError` for a training method of another task."""
    tasks = mh.METHODS[method].tasks
    if task in tasks:
        return
    do = f"there are {', '.join(name for name, each in mh.METHODS.items() if task in each.tasks)}"
    if (task, tasks) == ("classification", ("regression",)):
        do = "give --task regression if the labels are numbers"
    raise SettingError(
        f"--method must be for {task}; got {method}, which is for {' and '.join(tasks)}; {do}"
    )


def _train_items(request: Request) -> None:
    reading = request.reading
    if request.labels is None:
        raise SettingError("give FEATURES and LABELS; only tagged tokens are in one file")
    if reading.task is not None and request.method is not None:
        _require_method(request.method, reading.task)
    truth = reading.truth(request.truth)
    several = started_by_torchrun() is not None or request.training.given.get("devices", 1) > 1
    table = request.columns.read(request.features, reading, mmap=several)
    if table.kind != "texts" and request.training.given.keys() & _OF_WORDS:
        raise SettingError(
            f"--word-vectors and --freeze-embeddings are for texts; these features are {table.kind}"
        )
    if table.kind != "images" and "image_size" in request.training.given:
        raise SettingError(f"--image-size is for images; these features are {table.kind}")
    ann = output.told(request.file.read_items())
    table = matched(table, ann, request.features)
    trial = mh.selection.trial_of_files(table, ann, truth)
    model = _new_model(request, trial.task)
    known = truth if mh.METHODS[model.method].needs_truth else None
    with _stoppable(request.out), output.noting():
        # Images have names, and those without labels are left out.
        items = None if table.kind == "images" else table.items
        model.fit(table.X, ann, X_items=items, truth=known, resume=request.resume)
        scores = mh.selection.scores_of(trial, model) if truth is not None else {}
        _save(request, model)
    _tell(request, model, ann, scores)


def _train_tokens(request: Request) -> None:
    file, features, truth = request.file, request.features, request.truth
    model = _new_model(request, "tagging")
    gold = request.reading.true_tags(truth)
    marked = file.read_tokens()
    labels, ann = marked.labels, marked.labels.annotations
    if request.labels not in (None, features):
        words = request.reading.file(features).read_sentences(ann.classes)
        mh.io.require_same_tokens(file.path, labels.sentences, features, words)
    known = gold if mh.METHODS[model.method].needs_truth else None
    if known is not None:
        mh.io.require_same_tokens(file.path, labels.sentences, truth, known.sentences)
    trial = mh.selection.trial_of_tokens(labels, gold)
    with _stoppable(request.out), output.noting():
        model.fit(labels, ann, truth=known, resume=request.resume)
        scores = mh.selection.scores_of(trial, model) if gold is not None else {}
        _save(request, model)
    notes = output.token_notes(marked, request.reading.orphan_tags)
    if gold is not None and trial.test_features is not None:
        notes.append(f"scored on the {len(gold)} sentences of {truth}, not on the labelled ones")
    _tell(request, model, ann, scores, notes)


def _save(request: Request, model: Any) -> None:
    """Write the model, and the annotators where they are asked for; one process does."""
    if request.is_first:
        model.save(request.out)
        if request.annotators is not None:
            output.put_table(model.annotator_columns_, request.annotators)


def _new_model(request: Request, task: str) -> Any:
    """The estimator of a task with the settings that were given."""
    settings = request.training.settings(task)
    settings |= {"seed": request.seed, "checkpoint": Path(request.out) / "checkpoint"}
    settings |= _processes(settings)
    if request.method is not None:
        _require_method(request.method, task)
        settings["method"] = request.method
    model = mh.estimators.ESTIMATORS[task](**settings)
    if mh.METHODS[model.method].needs_truth and request.truth is None:
        raise SettingError(f"the method {model.method!r} trains on the truth: give --truth")
    return model


def _processes(given: Mapping[str, Any]) -> dict[str, int]:
    """The processes of torchrun, if it started this one; an error for others that were given."""
    started = started_by_torchrun()
    told = {} if started is None else {"devices": started.devices, "nodes": started.nodes}
    for name, number in told.items():
        got = given.get(name, number)
        require(got == number, name, f"{number}, as many as torchrun started", got, "leave it out")
    return told


@contextmanager
def _stoppable(out: str) -> Iterator[None]:
    """Say how to continue when training is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        output.remark(
            f"stopped; the same command with --resume continues from the checkpoint in {out}"
        )
        raise


def _tell(
    request: Request,
    model: Any,
    ann: "mh.Annotations",
    scores: Mapping[str, float],
    notes: Sequence[str] = (),
) -> None:
    """Print a summary."""
    last, task = model.history_[-1], model.task
    if request.json:
        summary = {
            "method": model.method, "task": task, "labels": ann.n_annotations,
            "items": ann.n_items, "annotators": ann.n_annotators, "classes": ann.classes.tolist(),
            "epochs": last["epoch"], "kept_epoch": model.epoch_, "loss": last["loss"],
            "searched_epochs": len(model.search_history_), "model": request.out,
        }  # fmt: skip
        source = {"source": output.source_of(ann, request.file)}
        output.say_json(source | summary | {"notes": list(notes), "scores": dict(scores)})
        return
    what, where = ("tokens", "TOKENS") if task == "tagging" else ("items", "FEATURES")
    output.say(
        f"{model.method}: {ann.n_annotations} labels of {ann.n_items} {what} by "
        f"{ann.n_annotators} annotators, {last['epoch']} epochs, loss {last['loss']:.4f}"
        + request.reading.task_note(task)
    )
    for note in notes:
        output.say(f"note: {note}")
    if model.search_history_ or "validation" in last:
        monitor = model.settings_.monitor
        output.say(f"epoch {model.epoch_} is the best by {monitor} on the validation labels")
    for name, score in scores.items():
        output.say(f"{name} {score:.4f}")
    output.say(
        f"model in {request.out}: manyhands predict {request.out} {where} --out predictions.csv"
    )
