"""What train and predict do with a network that scores items."""

from pathlib import Path
from typing import Any

import manyhands as mh
from manyhands.cli import output
from manyhands.cli.pair_options import pair_lines, pair_source, refuse_options, score_line
from manyhands.core.errors import DataError, SettingError


def train_pairs(request: Any, file: "mh.io.PairFile") -> None:
    """Train a ranker on features and comparisons; `request` is that of the command train."""
    several = request.training.given.keys() & {"devices", "nodes"}
    if several:
        raise SettingError(
            f"--{min(several)} is not for comparisons of two items; train in one process"
        )
    truth = request.reading.truth(request.truth)
    table = request.columns.read(request.features, request.reading)
    _require_numbers(table, request.features)
    pairs = file.read()
    for line in pair_lines(pairs):
        output.remark(line)
    settings = request.training.settings("classification")
    settings |= {"seed": request.seed, "checkpoint": Path(request.out) / "checkpoint"}
    if request.method is not None:
        settings["method"] = request.method
    model = mh.CrowdRanker(**settings)
    with output.noting():
        model.fit(table.X, pairs, X_items=table.items, resume=request.resume)
    model.save(request.out)
    if request.annotators is not None:
        output.put_table(model.annotator_columns_, request.annotators)
    found = None if truth is None else model.scorecard(table.X, truth, X_items=table.items)
    last = model.history_[-1]
    if request.json:
        output.say_json(
            {
                "source": pair_source(pairs), "method": model.method, "task": "ranking",
                "labels": len(pairs), "items": pairs.n_items, "annotators": pairs.n_annotators,
                "epochs": last["epoch"], "kept_epoch": model.epoch_, "loss": last["loss"],
                "model": request.out, "scores": {} if found is None else found.as_dict(),
            }
        )  # fmt: skip
        return
    output.say(
        f"{model.method}: {len(pairs)} comparisons of {pairs.n_items} items by "
        f"{pairs.n_annotators} annotators, {last['epoch']} epochs, loss {last['loss']:.4f}"
    )
    if found is not None:
        output.say(score_line(found))
    output.say(f"model in {request.out}: manyhands predict {request.out} FEATURES --out scores.csv")


def predict_scores(
    trained: Any, features: str, columns: Any, reading: Any, truth: str | None, **given: Any
) -> tuple[dict[str, Any], "mh.evaluation.RankingScorecard | None"]:
    """The table of scores of the items of a file, and how well they rank if there is a truth."""
    refuse_options("a model that scores items", **given)
    known = reading.truth(truth)
    table = columns.read(features, reading)
    _require_numbers(table, features)
    found = {"item": table.items} | trained.prediction_columns(table.X)
    if known is None:
        return found, None
    return found, trained.scorecard(table.X, known, X_items=table.items)


def _require_numbers(table: "mh.io.Features", path: str) -> None:
    if table.kind != "numbers":
        raise DataError(
            f"{path}: has {table.kind}; a network that scores items takes numbers: encode them "
            "first"
        )
