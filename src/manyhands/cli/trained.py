"""What manyhands train says of a model once it is trained."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import manyhands as mh
from manyhands.cli.output import put_table, remark, say, say_json


@dataclass(frozen=True)
class TrainReport:
    """Where the model is, where annotators go, and how to say what came out."""

    out: str
    annotators: str | None
    json: bool
    guessed: bool


@contextmanager
def stoppable(out: str) -> Iterator[None]:
    """Training that may be stopped; how to go on is said then."""
    try:
        yield
    except KeyboardInterrupt:
        remark(f"stopped; the same command with --resume goes on from the checkpoint in {out}")
        raise


def tell_trained(
    model: Any,
    ann: "mh.Annotations",
    scores: Mapping[str, float],
    told: TrainReport,
    notes: Sequence[str] = (),
) -> None:
    """The annotators to their file, and what came out, for a person or as JSON."""
    if told.annotators is not None:
        put_table(model.annotator_columns_, told.annotators)
    last, what = model.history_[-1], "tokens" if model.task == "tags" else "items"
    if told.json:
        say_json(_summary(model, ann, told) | {"notes": list(notes)} | {"scores": dict(scores)})
        return
    say(
        f"{model.method}: {ann.n_annotations} labels of {ann.n_items} {what} by "
        f"{ann.n_annotators} annotators, {last['epoch']} epochs, loss {last['loss']:.4f}"
        + _guess(model, told.guessed)
    )
    for note in notes:
        say(f"note: {note}")
    if model.search_history_ or "held_out" in last:
        say(f"epoch {model.epoch_} is the one {_why(model)}")
    for name, score in scores.items():
        say(f"{name} {score:.4f}")
    features = "TOKENS" if model.task == "tags" else "FEATURES"
    say(f"model in {told.out}: manyhands predict {told.out} {features} --out predictions.csv")


def _summary(model: Any, ann: "mh.Annotations", told: TrainReport) -> dict[str, object]:
    last = model.history_[-1]
    return {
        "method": model.method,
        "task": model.task,
        "labels": ann.n_annotations,
        "items": ann.n_items,
        "annotators": ann.n_annotators,
        "classes": ann.classes.tolist(),
        "epochs": last["epoch"],
        "kept_epoch": model.epoch_,
        "loss": last["loss"],
        "searched_epochs": len(model.search_history_),
        "model": told.out,
    }


def _guess(model: Any, guessed: bool) -> str:
    looks = {
        "numbers": " (labels are numbers: --task regression)",
        "tags": " (tagged tokens: --task sequence)",
    }
    return looks.get(model.task, "") if guessed else ""


def _why(model: Any) -> str:
    monitor = model.settings_.monitor
    if monitor == "likelihood":
        return "under which labels kept aside are most probable"
    return f"that {monitor} on labels kept aside finds best"
