"""manyhands demo: the main job on embedded data."""

import importlib.util
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import manyhands as mh
from manyhands.cli.options import Json, Seed
from manyhands.cli.output import counting, say, say_json, show_table
from manyhands.cli.tasks import TASKS
from manyhands.core.settings import require_choice

_TRAINED = ("two-stage-majority", "two-stage-dawid-skene", "conal", "truth")


def demo(
    out: Annotated[
        str | None, typer.Option("--out", help="Folder for the demo's files, to play with.")
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            help="classification (digits), regression (ratings) or sequence (names in sentences)."
        ),
    ] = "classification",
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run the main job on embedded data: a consensus, who can be trusted, a trained network.

    Example: manyhands demo

    Example: manyhands demo --task sequence --out demo
    """
    require_choice("--task", task, TASKS)
    if task != "classification":
        from manyhands.cli import demo_ratings, demo_sentences  # --help does without

        run = demo_ratings.demo if task == "regression" else demo_sentences.demo
        run(out, seed, json)
        return
    data = mh.datasets.load_demo(seed)
    table = mh.aggregation.compare(
        data.crowd.annotations, truth=data.crowd.truth_by_item, seed=seed
    )
    consensus = mh.aggregate(data.crowd.annotations)
    files = _files(data, out) if out else []
    networks = _networks(data, seed)
    if json:
        portraits = _portraits(data, consensus)
        trained = [] if networks is None else networks.records()
        say_json(
            {
                "methods": table.records(),
                "annotators": portraits,
                "networks": trained,
                "files": files,
            }
        )
        return
    say("1797 handwritten digits (real images, from scikit-learn), each labelled by 3 of 40")
    say("annotators. The annotators are simulated: 14 careful, 16 middling, 5 who click at")
    say("random and 5 who always say the same digit. No method is told who is who.\n")
    shown = ("method", "accuracy", "log_loss", "calibration_error", "seconds")
    rows = [[record[name] for name in shown] for record in table.records()]
    show_table("How well the true digit is found", shown, rows)
    say()
    portraits = _portraits(data, consensus)
    show_table(
        "Who is how good, as dawid-skene sees it (behaviour is what was simulated)",
        list(portraits[0]),
        [list(row.values()) for row in [*portraits[:4], *portraits[-4:]]],
    )
    _tell_networks(networks)
    say("\nTry next:")
    folder = out or "demo"
    if not out:
        say(f"  manyhands demo --out {folder}                 write these labels to a folder")
    say(f"  manyhands check {folder}/labels.csv            what is risky in this crowd")
    say(f"  manyhands aggregate {folder}/labels.csv --truth {folder}/truth.csv --out consensus.csv")
    say(f"  manyhands train {folder}/features.csv {folder}/labels.csv --out model")
    say("  manyhands aggregate --help                your own labels")


def _networks(data: "mh.datasets.DigitsDemo", seed: int) -> "mh.aggregation.Comparison | None":
    """Networks trained on a third of the digits and tried on the others; None without torch."""
    if importlib.util.find_spec("torch") is None:
        return None
    n_items = len(data.features)
    order = np.random.default_rng(seed).permutation(n_items)
    seen, test = np.sort(order[: n_items // 3]), order[n_items // 3 :]
    trial = mh.selection.Trial(
        data.features[seen], data.crowd.annotations[seen], data.crowd.truth[seen],
        data.features[test], data.crowd.truth[test],
    )  # fmt: skip
    with counting("training networks", len(_TRAINED)) as done:
        return mh.selection.compare_training(trial, _TRAINED, seed=seed, done=done)


def _tell_networks(networks: "mh.aggregation.Comparison | None") -> None:
    if networks is None:
        say("\nTo train networks from these labels: pip install 'manyhands[learn]'")
        return
    say("\nA network can learn straight from the disagreement. Here a third of the digits is")
    say("trained on with its labels, the others are new to it. truth is told the true digits.\n")
    shown = ("method", "accuracy", "log_loss", "seconds")
    rows = [[record[name] for name in shown] for record in networks.records()]
    show_table("How well a network finds new digits", shown, rows)


def _files(data: "mh.datasets.DigitsDemo", out: str) -> list[str]:
    """The demo's tables in a folder: labels, truth, annotators, and the pixels as features."""
    files = mh.simulation.write_labels_and_truth(data.crowd, out)
    features = str(Path(out) / "features.csv")
    pixels = {f"pixel_{j}": data.features[:, j] for j in range(data.features.shape[1])}
    mh.io.write_table({"item": data.crowd.annotations.items, **pixels}, features)
    return [*files, features]


def _portraits(
    data: "mh.datasets.DigitsDemo", consensus: "mh.Consensus"
) -> list[dict[str, object]]:
    order = np.argsort(-consensus.annotator_quality, kind="stable")
    right_a = np.einsum("akk->a", data.crowd.confusion) / consensus.annotations.n_classes
    return [
        {
            "annotator": int(a),
            "quality": float(consensus.quality.value[a]),
            "low": float(consensus.quality.low[a]),
            "high": float(consensus.quality.high[a]),
            "true accuracy": float(right_a[a]),
            "labels": int(consensus.annotations.labels_per_annotator[a]),
            "behaviour": str(data.crowd.behaviour[a]),
        }
        for a in order
    ]
