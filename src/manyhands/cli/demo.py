"""manyhands demo: the main job on embedded data."""

from typing import Annotated

import numpy as np
import typer

import manyhands as mh
from manyhands.cli.options import Json, Seed
from manyhands.cli.output import say, say_json, show_table


def demo(
    out: Annotated[
        str | None, typer.Option("--out", help="Folder for the demo's files, to play with.")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run the main job on embedded data: a consensus, and who of the crowd can be trusted."""
    data = mh.datasets.load_demo(seed)
    table = mh.aggregation.compare(
        data.crowd.annotations, truth=data.crowd.truth_by_item, seed=seed
    )
    consensus = mh.aggregate(data.crowd.annotations)
    files = mh.simulation.write_labels_and_truth(data.crowd, out) if out else []
    if json:
        portraits = _portraits(data, consensus)
        say_json({"methods": table.records(), "annotators": portraits, "files": files})
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
    say("\nTry next:")
    folder = out or "demo"
    if not out:
        say(f"  manyhands demo --out {folder}                 write these labels to a folder")
    say(f"  manyhands check {folder}/labels.csv            what is risky in this crowd")
    say(f"  manyhands aggregate {folder}/labels.csv --truth {folder}/truth.csv --out consensus.csv")
    say("  manyhands aggregate --help                your own labels")


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
