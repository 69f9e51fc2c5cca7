"""manyhands predict: a model and features -> classes, numbers or tags."""

from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import (
    LABELS,
    FeaturesFile,
    Json,
    LabelOptions,
    OutFile,
    TextColumn,
    takes,
)
from manyhands.cli.output import (
    noting,
    put_table,
    records,
    remark,
    require_targets,
    say_json,
    working,
)
from manyhands.cli.tokens import notes_on, put_tokens, with_words
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError


@takes(options=LabelOptions)
def predict(
    model: Annotated[str, typer.Argument(metavar="DIR", help="Folder that manyhands train wrote.")],
    features: FeaturesFile,
    out: OutFile = "-",
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=LABELS,
                     help="Labels of these items, which the prediction then uses too."),
    ] = None,
    text: TextColumn = None,
    json: Json = False,
    options: LabelOptions = LabelOptions(),  # noqa: B008 - frozen
) -> None:  # fmt: skip
    """Predict classes, numbers or tags with a trained model.

    The table has the predicted label of every item: a class with its probabilities, or a number
    with its spread, the standard deviation of the truth around it. With --labels the labels of
    these items count too, weighted by what the model knows of their annotators; the table then
    has the columns agreement and n_annotations as well. For a tagger FEATURES are tokens (one
    per line, a blank line between sentences), and --out may be a .conll or .bio file.

    Example: manyhands predict model features.csv --out predictions.csv

    Example: manyhands predict model features.csv --labels labels.csv --out predictions.csv

    Example: manyhands predict model new_tokens.conll --out tags.bio
    """
    with working(f"reading {model}"):
        trained = mh.load(model)
    task = trained.task
    if options.task not in (None, task):
        raise SettingError(
            f"{model}: the model was trained for --task {task}; got --task {options.task}; leave "
            "it out"
        )
    tagging = task == "tagging"
    require_targets(out, read=[features, labels], tagged=out if tagging else None)
    with working(f"reading {features}"), noting():
        if tagging:
            target = None if json and out == "-" else out
            columns = _predict_tokens(trained, features, labels, target, options)
        else:
            columns = _predict_items(trained, features, labels, text, options)
            if out != "-" or not json:
                put_table(columns, out)
    n_items, what = len(columns["item"]), "tokens" if tagging else "items"
    if json:
        rows = {"predictions": records(columns)} if out == "-" else {}
        classes = {"classes": trained.classes_.tolist()} if trained.kind == "classes" else {}
        say_json({what: n_items} | classes | rows)
    elif out != "-":
        remark(f"{n_items} {what}")


def _predict_items(
    trained: Any, features: str, labels: str | None, text: str | None, options: LabelOptions
) -> dict[str, AnyArray]:
    table = options.features(features, text)
    if table.are_texts != (trained.encoder_.kind == "text"):
        given, trained_on = ("texts", "numbers") if table.are_texts else ("numbers", "texts")
        raise DataError(f"{features}: has {given}, and the model was trained on {trained_on}")
    if labels is None:
        return {"item": table.items} | dict(trained.prediction_columns(table.values))
    ann = options.file(labels).read_items().as_kind(trained.kind)
    return dict(trained.infer(table.values, ann, X_items=table.items).item_columns())


def _predict_tokens(
    trained: Any, features: str, labels: str | None, out: str | None, options: LabelOptions
) -> dict[str, AnyArray]:
    """The table of the tokens; the tags are also written to `out`."""
    notes: list[str] = []
    if labels is None:
        sentences = options.file(features).read_sentences(trained.classes_)
        columns = trained.prediction_columns(sentences)
    else:
        file = options.file(labels)
        if file.tokens is None:
            raise DataError(f"{labels}: the model tags tokens; give labels as tagged tokens")
        marked = file.read_tokens()
        sentences, notes = marked.labels.sentences, notes_on(marked, options.orphan_tags)
        if features != labels:
            words = options.file(features).read_sentences(trained.classes_)
            mh.io.require_same_tokens(labels, sentences, features, words)
        columns = trained.infer(sentences, marked.labels).item_columns()
    columns = with_words(sentences, columns)
    if out is not None:
        put_tokens(sentences, columns["label"], columns, out)
    for note in notes:
        remark(f"note: {note}")
    return columns
