"""manyhands predict: a model and features -> classes, numbers or tags."""

from dataclasses import replace
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.feature_options import FeatureColumns, FeaturesFile, matched
from manyhands.cli.pair_options import score_line
from manyhands.cli.ranker import predict_scores
from manyhands.cli.scoring import Truths, score_lines
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError

_KINDS = {
    "numeric": "numbers", "images": "images",
    "text": "texts", "subwords": "texts", "frozen-subwords": "texts",
}  # of encoders  # fmt: skip


@options.takes_groups
def predict(
    model: Annotated[str, typer.Argument(metavar="DIR", help="Folder that manyhands train wrote.")],
    features: FeaturesFile,
    reading: options.LabelOptions,
    columns: FeatureColumns,
    out: options.OutFile = "-",
    labels: Annotated[
        str | None,
        options.in_labels("Labels of these items, which the prediction then uses too.",
                          metavar="FILE"),
    ] = None,
    truth: options.Truth = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Predict with a model that manyhands train wrote.

    The table has the predicted label of every item: a class with its probabilities, a set with the
    probability of each class, or a number with its spread, the standard deviation of the truth
    around it. With --labels the labels of
    these items count too, weighted by what the model knows of their annotators; the table then
    has the columns agreement and n_annotations as well. For a tagger FEATURES are tokens (one
    per line, a blank line between sentences), and --out may be a .conll or .bio file. With --truth
    the predictions of items are scored, also against shares of labels. A model that was trained on
    comparisons gives a score per item.

    Example: manyhands predict model features.csv --out predictions.csv

    Example: manyhands predict model features.csv --truth soft.csv --out predictions.csv

    Example: manyhands predict model features.csv --labels labels.csv --out predictions.csv

    Example: manyhands predict model new_tokens.conll --out tags.bio
    """
    with output.working(f"reading {model}"):
        trained = mh.estimators.load(model)
    task = trained.task
    if reading.task not in (None, task):
        raise SettingError(
            f"{model}: the model was trained for --task {task}; got --task {reading.task}; leave "
            "it out"
        )
    if task == "ranking":
        output.require_targets(out, read=[features, truth])
        rows, found_scores = predict_scores(
            trained, features, columns, reading, truth, labels=labels
        )
        if out != "-" or not json:
            output.put_table(rows, out)
        if json:
            scored = {} if found_scores is None else found_scores.as_dict()
            listed = {"predictions": output.records(rows)} if out == "-" else {}
            output.say_json({"items": len(rows["item"]), "scores": scored} | listed)
        elif found_scores is not None:
            output.remark(score_line(found_scores))
        return
    tagging = task == "tagging"
    if tagging and truth is not None:
        raise SettingError(f"--truth is for items; {model} tags tokens; compare scores taggers")
    output.require_targets(out, read=[features, labels, truth], tagged=out if tagging else None)
    truths = Truths.read(reading, truth)
    scores: dict[str, dict[str, float]] = {}
    with output.working(f"reading {features}"), output.noting():
        if tagging:
            target = None if json and out == "-" else out
            found, source = _predict_tokens(trained, features, labels, target, reading)
        else:
            found, source = _predict_items(trained, features, labels, columns, reading)
            scores = truths.of_predictions(trained, found) if truth is not None else {}
            if out != "-" or not json:
                output.put_table(found, out)
    n_items, what = len(found["item"]), "tokens" if tagging else "items"
    if json:
        rows = {"predictions": output.records(found)} if out == "-" else {}
        classes = {} if trained.kind == "numbers" else {"classes": trained.classes_.tolist()}
        output.say_json(source | {what: n_items} | classes | scores | rows)
        return
    for line in [f"{n_items} {what}"] * (out != "-") + score_lines(scores):
        output.remark(line)


def _predict_items(
    trained: Any,
    features: str,
    labels: str | None,
    columns: FeatureColumns,
    reading: options.LabelOptions,
) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """The table of the items, and what the labels were taken for if there are some."""
    table = columns.read(features, reading)
    trained_on = _KINDS[trained.encoder_.kind]
    if table.kind != trained_on:
        raise DataError(f"{features}: has {table.kind}, and the model was trained on {trained_on}")
    _match_columns(trained, table, features)
    if labels is None:
        table = table.named(getattr(trained.encoder_, "naming", ""))
        return {"item": table.items} | dict(trained.prediction_columns(table.X)), {}
    if trained.kind == "multilabel":
        reading = replace(reading, kind="multilabel")
    ann = output.told(reading.file(labels).read_items()).as_kind(trained.kind)
    table = matched(table, ann, features)
    found = dict(trained.infer(table.X, ann, X_items=table.items).item_columns())
    return found, {"source": output.source_of(ann)}


def _match_columns(trained: Any, table: "mh.io.Features", path: str) -> None:
    """Refuse columns that are not those of training; say how the others are matched."""
    try:
        order = trained.encoder_.column_order(table.names)
    except DataError as error:
        raise error.at(path) from None
    if order is not None:
        output.remark(f"note: {path}: columns are in another order than in training; put right")
    elif table.kind == "numbers" and (table.names is None) != (trained.encoder_.names is None):
        where = "the model" if trained.encoder_.names is None else path
        output.remark(f"note: {where} has no names of columns; they are matched by their order")


def _predict_tokens(
    trained: Any, features: str, labels: str | None, out: str | None, reading: options.LabelOptions
) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """The table of the tokens, whose tags are also written to `out`, and what was read."""
    notes: list[str] = []
    source: dict[str, Any] = {}
    if labels is None:
        sentences = reading.file(features).read_sentences(trained.classes_)
        columns = trained.prediction_columns(sentences)
    else:
        file = reading.file(labels)
        if file.tokens is None:
            raise DataError(f"{labels}: the model tags tokens; give labels as tagged tokens")
        marked = file.read_tokens()
        sentences, notes = marked.labels.sentences, output.token_notes(marked, reading.orphan_tags)
        if features != labels:
            words = reading.file(features).read_sentences(trained.classes_)
            mh.io.require_same_tokens(labels, sentences, features, words)
        columns = trained.infer(sentences, marked.labels).item_columns()
        source = {"source": output.source_of(marked.labels.annotations, file)}
    columns = output.with_words(sentences, columns)
    if out is not None:
        output.put_tokens(sentences, columns["label"], columns, out)
    for note in notes:
        output.remark(f"note: {note}")
    return columns, source
