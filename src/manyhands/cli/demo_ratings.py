"""manyhands demo --task regression: ratings of simulated items by simulated people."""

import importlib.util
from typing import Any

import numpy as np

import manyhands as mh
from manyhands.cli.output import counting, require_folder, say, say_json, show_table
from manyhands.datasets import RatingsDemo, load_ratings_demo

_TRAINED = ("two-stage-mean", "two-stage-gaussian", "crowd-layer-b", "truth")


def demo(out: str | None, seed: int, json: bool) -> None:
    """The consensus of ratings, who is generous, harsh or erratic, and a network for new items."""
    data = load_ratings_demo(seed)
    truth = dict(zip(data.annotations.items.tolist(), data.truth.tolist(), strict=True))
    table = mh.aggregation.compare(data.annotations, truth=truth, seed=seed)
    people = _portraits(data)
    files = _files(data, out) if out else []
    networks = _networks(data, seed)
    trained = [] if networks is None else networks.records()
    if json:
        say_json({"methods": table.records(), "annotators": people, "networks": trained,
                  "files": files})  # fmt: skip
        return
    n_items, n_people = data.annotations.n_items, data.annotations.n_annotators
    say(f"{n_items} items with a true rating around 0 to 10, each rated by 3 of {n_people} people.")
    say("All of it is simulated: some people are careful, some generous, some harsh, some erratic.")
    say("No method is told who is who.\n")
    shown: tuple[str, ...] = ("method", "mae", "rmse", "seconds")
    rows = [[record[name] for name in shown] for record in table.records()]
    show_table("How far from the true rating (mean absolute error)", shown, rows)
    say()
    show_table("Who is how, as gaussian sees it (simulated: what was put in)", list(people[0]),
               [list(row.values()) for row in people[::4]])  # fmt: skip
    if networks is None:
        say("\nTo train networks from these ratings: pip install 'manyhands[learn]'")
    else:
        say("\nA network that learns from a third of the items with their ratings, and is tried on")
        say("the others. truth is told the true ratings.\n")
        shown = ("method", "mae", "rmse", "r2", "seconds")
        rows = [[record[name] for name in shown] for record in trained]
        show_table("How far from the true rating of new items", shown, rows)
    folder = out or "demo"
    say("\nTry next:")
    if not out:
        say(f"  manyhands demo --task regression --out {folder}")
    say(f"  manyhands aggregate {folder}/labels.csv --truth {folder}/truth.csv --out found.csv")
    say(f"  manyhands train {folder}/features.csv {folder}/labels.csv --out model")


def _networks(data: RatingsDemo, seed: int) -> "mh.aggregation.Comparison | None":
    if importlib.util.find_spec("torch") is None:
        return None
    n_seen = len(data.truth) // 3
    trial = mh.selection.Trial(
        data.features[:n_seen], data.annotations[:n_seen], data.truth[:n_seen],
        data.features[n_seen:], data.truth[n_seen:],
    )  # fmt: skip
    with counting("training networks", len(_TRAINED)) as done:
        return mh.selection.compare_training(trial, _TRAINED, seed=seed, done=done)


def _portraits(data: RatingsDemo) -> list[dict[str, Any]]:
    traits = mh.aggregate(data.annotations).annotator_columns()
    return [
        {
            "annotator": a,
            "quality": float(traits["quality"][a]),
            "bias": float(traits["bias"][a]),
            "bias simulated": float(data.bias[a]),
            "behaviour": str(data.behaviour[a]),
        }
        for a in range(len(data.behaviour))
    ]


def _files(data: RatingsDemo, out: str) -> list[str]:
    home = require_folder(out)
    paths = [str(home / name) for name in ("labels.csv", "truth.csv", "features.csv")]
    items = data.annotations.items
    mh.io.write_annotations(data.annotations, paths[0])
    mh.io.write_table({"item": items, "truth": np.round(data.truth, 3)}, paths[1])
    columns = {f"x{j}": data.features[:, j] for j in range(data.features.shape[1])}
    mh.io.write_table({"item": items, **columns}, paths[2])
    return paths
