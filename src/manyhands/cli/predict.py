"""manyhands predict: a model and features -> classes with their probabilities."""

from typing import Annotated

import numpy as np
import typer

import manyhands as mh
from manyhands.cli.options import Json, OutFile, Reading, takes_reading
from manyhands.cli.output import put_table, records, remark, require_targets, say_json, working
from manyhands.cli.reading import annotations_from, features_from
from manyhands.cli.train import FeaturesFile
from manyhands.core.arrays import AnyArray


@takes_reading
def predict(
    model: Annotated[str, typer.Argument(metavar="DIR", help="Folder that manyhands train made.")],
    features: FeaturesFile,
    out: OutFile = "-",
    labels: Annotated[
        str | None,
        typer.Option(help="Labels of these items: then network and labels decide together."),
    ] = None,
    json: Json = False,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Say the class of items, with its probability, by a trained model.

    The network alone decides. With --labels, what people said of these items counts too, each by
    their portrait: columns agreement and n_annotations are then there as well.

    Example: manyhands predict model features.csv --out predictions.csv
    """
    require_targets(out, read=[features, labels])
    with working(f"reading {model} and {features}"):
        trained = mh.load(model)
        table = features_from(features, reading)
        if labels is None:
            columns = _alone(trained, table)
        else:
            ann = annotations_from(labels, reading)
            columns = trained.infer(table.values, ann, X_items=table.items).item_columns()
    if out != "-" or not json:
        put_table(columns, out)
    if json:
        rows = {"predictions": records(columns)} if out == "-" else {}
        say_json({"items": len(table), "classes": trained.classes_.tolist()} | rows)
    elif out != "-":
        remark(f"{len(table)} items")


def _alone(trained: "mh.CrowdClassifier", table: "mh.io.Features") -> dict[str, AnyArray]:
    probabilities = trained.predict_proba(table.values)
    best = probabilities.argmax(axis=1)
    columns: dict[str, AnyArray] = {
        "item": table.items,
        "label": trained.classes_[best],
        "confidence": np.take_along_axis(probabilities, best[:, None], 1)[:, 0],
    }
    return columns | {f"p_{name}": probabilities[:, k] for k, name in enumerate(trained.classes_)}
