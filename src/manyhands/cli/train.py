"""manyhands train: features and labels -> a network, straight from the disagreement."""

from pathlib import Path
from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import Json, LabelsFile, Reading, Repeats, Seed, Training, Truth, takes
from manyhands.cli.output import put_table, remark, require_targets, say, say_json
from manyhands.cli.reading import annotations_from, features_from, truth_from
from manyhands.core.errors import SettingError

FeaturesFile = Annotated[
    str, typer.Argument(metavar="FEATURES", help="Table with a column of items and numbers in the "
                        "others (.csv .tsv .parquet .jsonl), or an array (.npy .npz).")
]  # fmt: skip


@takes(training=Training, reading=Reading)
def train(
    features: FeaturesFile,
    labels: LabelsFile,
    out: Annotated[str, typer.Option("--out", help="Folder for the model and its checkpoints.")],
    method: Annotated[
        str, typer.Option(help="A method such as conal, speelfc, crowd-layer-mw, mixture-e2e, "
                          "two-stage-dawid-skene; the documentation lists them all.")
    ] = "conal",
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
    training: Training = Training(),  # noqa: B008 - frozen
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:  # fmt: skip
    """Train a network straight from the labels of many people; no clean labels are needed.

    Items of FEATURES without labels are left aside. The model goes to the folder --out, and
    manyhands predict reads it. A run that was stopped, or killed, goes on with --resume and ends
    with the same model. --truth is for scores only, except for the method "truth".

    Example: manyhands train features.csv labels.csv --method conal --out model
    """
    needs_truth = mh.METHODS[method].needs_truth  # an unknown name is told before files are read
    if needs_truth and truth is None:
        raise SettingError(f"the method {method!r} trains on the truth: give --truth")
    if annotators is not None:
        require_targets(annotators, read=[features, labels, truth])
    truths = truth_from(truth, reading) if truth is not None else None
    table = features_from(features, reading)
    ann = annotations_from(labels, reading, duplicates)
    model = mh.CrowdClassifier(
        method=method, seed=seed, checkpoint=Path(out) / "checkpoint", **training.settings()
    )
    try:
        model.fit(
            table.values,
            ann,
            X_items=table.items,
            truth=truths if needs_truth else None,
            resume=resume,
        )
    except KeyboardInterrupt:
        remark(f"stopped; the same command with --resume goes on from the checkpoint in {out}")
        raise
    model.save(out)
    if annotators is not None:
        put_table(model.annotator_columns_, annotators)
    _tell(model, ann, table, method, out, truths, json)


def _tell(
    model: "mh.CrowdClassifier",
    ann: "mh.Annotations",
    table: "mh.io.Features",
    method: str,
    out: str,
    truths: dict[object, object] | None,
    json: bool,
) -> None:
    last = model.history_[-1]
    summary: dict[str, object] = {
        "method": method,
        "labels": ann.n_annotations,
        "items": ann.n_items,
        "annotators": ann.n_annotators,
        "classes": ann.classes.tolist(),
        "epochs": last["epoch"],
        "kept_epoch": model.epoch_,
        "loss": last["loss"],
        "searched_epochs": len(model.search_history_),
        "model": out,
    }
    scores = {}
    if truths is not None:
        trial = mh.estimators.trial_of_files(table, ann, truths)
        scores = mh.estimators.scores_of(trial, model)
    if json:
        say_json(summary | {"scores": scores})
        return
    say(
        f"{method}: {ann.n_annotations} labels of {ann.n_items} items by {ann.n_annotators} "
        f"annotators, {last['epoch']} epochs, loss {last['loss']:.4f}"
    )
    if model.search_history_ or "held_out" in last:
        judge = model.settings_.judge
        why = (
            "under which labels kept aside are most probable"
            if judge == "likelihood"
            else (f"that {judge} on labels kept aside finds best")
        )
        say(f"epoch {model.epoch_} is the one {why}")
    for name, score in scores.items():
        say(f"{name} {score:.4f}")
    say(f"model in {out}: manyhands predict {out} FEATURES --out predictions.csv")
