"""manyhands predict: a model and features -> classes, numbers or tags."""

from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import FeaturesFile, Json, OutFile, Reading, TaskOptions, takes
from manyhands.cli.output import (
    noting,
    put_table,
    records,
    remark,
    require_targets,
    say_json,
    working,
)
from manyhands.cli.reading import annotations_from, features_from
from manyhands.cli.train import TextColumn
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError


@takes(task_options=TaskOptions, reading=Reading)
def predict(
    model: Annotated[str, typer.Argument(metavar="DIR", help="Folder that manyhands train made.")],
    features: FeaturesFile,
    out: OutFile = "-",
    labels: Annotated[
        str | None,
        typer.Option(help="Labels of these items: then network and labels decide together."),
    ] = None,
    text: TextColumn = None,
    json: Json = False,
    task_options: TaskOptions = TaskOptions(),  # noqa: B008 - frozen
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Say the class of items with its probability, their number, or the tags of tokens.

    The network alone decides. With --labels, what people said of these items counts too, each by
    their portrait: columns agreement and n_annotations are then there as well. The model knows
    what it learnt. Of numbers, spread is the standard deviation of the truth around them. Of tokens
    (one per line, a blank line between sentences), --out may be a .conll or .bio file.

    Example: manyhands predict model features.csv --out predictions.csv

    Example: manyhands predict model texts.txt --out ratings.csv

    Example: manyhands predict model new_tokens.conll --out tags.bio
    """
    with working(f"reading {model}"):
        trained = mh.load(model)
    _require_task(model, trained, task_options)
    tagger = isinstance(trained, mh.CrowdTagger)
    require_targets(out, read=[features, labels], tagged=out if tagger else None)
    with working(f"reading {features}"), noting():
        if isinstance(trained, mh.CrowdTagger):
            from manyhands.cli.predict_tokens import predict_tokens  # --help does without

            columns = predict_tokens(trained, features, labels, out, json, task_options, reading)
        else:
            columns = _of_items(trained, features, labels, text, task_options, reading)
            if out != "-" or not json:
                put_table(columns, out)
    n_items, what = len(columns["item"]), "tokens" if tagger else "items"
    if json:
        rows = {"predictions": records(columns)} if out == "-" else {}
        classes = {} if trained.task == "numbers" else {"classes": trained.classes_.tolist()}
        say_json({what: n_items} | classes | rows)
    elif out != "-":
        remark(f"{n_items} {what}")


def _require_task(folder: str, trained: Any, task_options: TaskOptions) -> None:
    tasks = {"classes": "classification", "numbers": "regression", "tags": "sequence"}
    if task_options.task not in (None, tasks[trained.task]):
        raise SettingError(
            f"{folder}: the model learnt {trained.task}, which is --task "
            f"{tasks[trained.task]}; got --task {task_options.task}: leave it out"
        )


def _of_items(
    trained: "mh.CrowdClassifier | mh.CrowdRegressor",
    features: str,
    labels: str | None,
    text: str | None,
    task_options: TaskOptions,
    reading: Reading,
) -> dict[str, AnyArray]:
    table = features_from(features, reading, text)
    texts, wanted = table.values.ndim == 1, trained.words_ is not None
    if texts != wanted:
        kinds = ("texts", "numbers") if texts else ("numbers", "texts")
        raise DataError(f"{features}: holds {kinds[0]}, and the model was trained on {kinds[1]}")
    if labels is not None:
        ann = annotations_from(labels, reading, task_options=task_options).as_kind(trained.kind)
        return trained.infer(table.values, ann, X_items=table.items).item_columns()
    if isinstance(trained, mh.CrowdRegressor):
        number, spread = trained.predict(table.values), trained.predict_spread(table.values)
        return {"item": table.items, "label": number, "spread": spread}
    probability_ik = trained.predict_proba(table.values)
    best = probability_ik.argmax(axis=1)
    columns: dict[str, AnyArray] = {
        "item": table.items,
        "label": trained.classes_[best],
        "confidence": probability_ik[range(len(best)), best],
    }
    return columns | {f"p_{name}": probability_ik[:, k] for k, name in enumerate(trained.classes_)}
