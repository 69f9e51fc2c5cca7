"""manyhands demo: a consensus, annotators and a trained network on embedded data."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import manyhands as mh
from manyhands.cli.options import OUTPUT, Json, Seed, Task
from manyhands.cli.output import counting, require_folder, say, say_json, show_table

Records = list[dict[str, Any]]
_TAGGER_SETTINGS = {"epochs": 12, "learning_rate": 0.005}


@dataclass(frozen=True)
class _Demo:
    """The results of a demo, and the words around them."""

    intro: str
    aggregators: Records
    aggregators_title: str
    aggregators_columns: tuple[str, ...]
    annotators: Records
    annotators_title: str
    annotators_shown: Records
    networks: Records | None
    networks_intro: str
    networks_title: str
    networks_columns: tuple[str, ...]
    files: list[str]
    next: tuple[str, ...]


def demo(
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Folder to write the data of the demo to.",
                     rich_help_panel=OUTPUT),
    ] = None,
    task: Annotated[
        Task,
        typer.Option(help="Digits (classification), ratings (regression) or sentences with names "
                     "(tagging)."),
    ] = "classification",
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Run the main steps on embedded data.

    The demo computes a consensus, the quality of every annotator, and a network trained from
    the labels of the crowd.

    Example: manyhands demo

    Example: manyhands demo --task tagging --out demo
    """
    demos = {"classification": _digits, "regression": _ratings, "tagging": _sentences}
    result = demos[task](out, seed)
    if json:
        say_json({"methods": result.aggregators, "annotators": result.annotators,
                  "networks": result.networks or [], "files": result.files})  # fmt: skip
        return
    say(result.intro + "\n")
    _show(result.aggregators_title, result.aggregators, result.aggregators_columns)
    say()
    _show(result.annotators_title, result.annotators_shown)
    if result.networks is None:
        say("\nTo train networks from these labels: pip install 'manyhands[learn]'")
    else:
        say(f"\n{result.networks_intro}\n")
        _show(result.networks_title, result.networks, result.networks_columns)
    say("\nTry next:")
    if not out:
        say(f"  manyhands demo --task {task} --out demo")
    for line in result.next:
        say(f"  manyhands {line.format(folder=out or 'demo')}")


def _show(title: str, rows: Records, columns: Sequence[str] | None = None) -> None:
    shown = list(columns or rows[0])
    show_table(title, shown, [[row[name] for name in shown] for row in rows])


def _trained(
    trial: "mh.selection.Trial", methods: Sequence[str], seed: int, **settings: Any
) -> Records:
    with counting("training networks", len(methods)) as done:
        table = mh.selection.compare_training(
            trial, methods, seed=seed, settings=settings, done=done
        )
    return table.records()


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _digits(out: str | None, seed: int) -> _Demo:
    data = mh.datasets.load_demo(seed)
    crowd = data.crowd
    table = mh.aggregation.compare(crowd.annotations, truth=crowd.truth_by_item, seed=seed)
    annotators = _digit_annotators(data)
    files = _write_digits(data, out) if out else []
    networks = None
    if _has_torch():
        n_items = len(data.features)
        order = np.random.default_rng(seed).permutation(n_items)
        seen, test = np.sort(order[: n_items // 3]), order[n_items // 3 :]
        trial = mh.selection.Trial(
            data.features[seen], crowd.annotations[seen], crowd.truth[seen],
            data.features[test], crowd.truth[test],
        )  # fmt: skip
        methods = ("two-stage-majority", "two-stage-dawid-skene", "conal", "truth")
        networks = _trained(trial, methods, seed)
    return _Demo(
        intro="1797 handwritten digits (real images, from scikit-learn), each labelled by 3 of 40\n"
        "annotators. The annotators are simulated: 14 are careful, 16 middling, 5 click at\n"
        "random and 5 always give the same digit. No method knows which is which.",
        aggregators=table.records(),
        aggregators_title="Accuracy of the consensus",
        aggregators_columns=("method", "accuracy", "log_loss", "calibration_error", "seconds"),
        annotators=annotators,
        annotators_title="Quality of annotators by dawid-skene (behaviour: as simulated)",
        annotators_shown=[*annotators[:4], *annotators[-4:]],
        networks=networks,
        networks_intro="Networks trained on a third of the digits with their labels, and tested on "
        "the others.\nThe method truth trains on the true digits.",
        networks_title="Accuracy of networks on new digits",
        networks_columns=("method", "accuracy", "log_loss", "seconds"),
        files=files,
        next=(
            "check {folder}/labels.csv",
            "aggregate {folder}/labels.csv --truth {folder}/truth.csv --out consensus.csv",
            "train {folder}/features.csv {folder}/labels.csv --out model",
        ),
    )


def _digit_annotators(data: "mh.datasets.DigitsDemo") -> Records:
    consensus = mh.aggregate(data.crowd.annotations)
    order = np.argsort(-consensus.annotator_quality, kind="stable")
    accuracy_a = np.einsum("akk->a", data.crowd.confusion) / consensus.annotations.n_classes
    return [
        {
            "annotator": int(a),
            "quality": float(consensus.quality.value[a]),
            "low": float(consensus.quality.low[a]),
            "high": float(consensus.quality.high[a]),
            "true accuracy": float(accuracy_a[a]),
            "labels": int(consensus.annotations.labels_per_annotator[a]),
            "behaviour": str(data.crowd.behaviour[a]),
        }
        for a in order
    ]


def _write_digits(data: "mh.datasets.DigitsDemo", out: str) -> list[str]:
    files = mh.simulation.write_labels_and_truth(data.crowd, out)
    features = str(Path(out) / "features.csv")
    pixels = {f"pixel_{j}": data.features[:, j] for j in range(data.features.shape[1])}
    mh.io.write_table({"item": data.crowd.annotations.items, **pixels}, features)
    return [*files, features]


def _ratings(out: str | None, seed: int) -> _Demo:
    data = mh.datasets.load_ratings_demo(seed)
    ann = data.annotations
    truth = dict(zip(ann.items.tolist(), data.truth.tolist(), strict=True))
    table = mh.aggregation.compare(ann, truth=truth, seed=seed)
    traits = mh.aggregate(ann).annotator_columns()
    annotators = [
        {
            "annotator": a,
            "quality": float(traits["quality"][a]),
            "bias": float(traits["bias"][a]),
            "bias simulated": float(data.bias[a]),
            "behaviour": str(data.behaviour[a]),
        }
        for a in range(len(data.behaviour))
    ]
    files = _write_ratings(data, out) if out else []
    networks = None
    if _has_torch():
        n_seen = len(data.truth) // 3
        trial = mh.selection.Trial(
            data.features[:n_seen], ann[:n_seen], data.truth[:n_seen],
            data.features[n_seen:], data.truth[n_seen:],
        )  # fmt: skip
        methods = ("two-stage-mean", "two-stage-gaussian", "crowd-layer-b", "truth")
        networks = _trained(trial, methods, seed)
    return _Demo(
        intro=f"{ann.n_items} items with a true rating around 0 to 10, each rated by 3 of "
        f"{ann.n_annotators} annotators.\nItems and annotators are simulated: some annotators are "
        "careful, some generous, some\nharsh, some erratic. No method knows which is which.",
        aggregators=table.records(),
        aggregators_title="Error of the consensus (mae: mean absolute error)",
        aggregators_columns=("method", "mae", "rmse", "seconds"),
        annotators=annotators,
        annotators_title="Annotators by gaussian (bias simulated, behaviour: as simulated)",
        annotators_shown=annotators[::4],
        networks=networks,
        networks_intro="Networks trained on a third of the items with their ratings, and tested on "
        "the others.\nThe method truth trains on the true ratings.",
        networks_title="Error of networks on new items",
        networks_columns=("method", "mae", "rmse", "r2", "seconds"),
        files=files,
        next=(
            "aggregate {folder}/labels.csv --truth {folder}/truth.csv --out consensus.csv",
            "train {folder}/features.csv {folder}/labels.csv --out model",
        ),
    )


def _write_ratings(data: "mh.datasets.RatingsDemo", out: str) -> list[str]:
    paths = _paths(out, "labels.csv", "truth.csv", "features.csv")
    items = data.annotations.items
    mh.io.write_annotations(data.annotations, paths[0])
    mh.io.write_table({"item": items, "truth": np.round(data.truth, 3)}, paths[1])
    columns = {f"x{j}": data.features[:, j] for j in range(data.features.shape[1])}
    mh.io.write_table({"item": items, **columns}, paths[2])
    return paths


def _sentences(out: str | None, seed: int) -> _Demo:
    data = mh.datasets.load_sentences_demo(seed)
    ann = data.labels.annotations
    methods = ("majority", "one-coin", "dawid-skene")
    annotators = _sentence_annotators(data)
    files = _write_sentences(data, out) if out else []
    networks = None
    if _has_torch():
        trial = mh.selection.trial_of_tokens(data.labels, data.test)
        trained = ("two-stage-majority", "two-stage-dawid-skene", "crowd-layer-mw")
        networks = _trained(trial, trained, seed, **_TAGGER_SETTINGS)
    return _Demo(
        intro=f"{len(data.labels)} simulated sentences with names of people and places, each "
        f"tagged by 3 of {ann.n_annotators}\nsimulated annotators: some are careful, some hasty, "
        "some confuse people with places, some\ntag only the first word of a name. No method knows "
        "which is which.",
        aggregators=[_entity_scores(data, method) for method in methods],
        aggregators_title="Entities of the consensus, by exact words and type",
        aggregators_columns=("method", "f1", "precision", "recall"),
        annotators=annotators,
        annotators_title="Quality of annotators by dawid-skene (behaviour: as simulated)",
        annotators_shown=annotators,
        networks=networks,
        networks_intro=f"Taggers trained on these tags, and tested on {len(data.test)} new "
        "sentences.",
        networks_title="Entities in new sentences",
        networks_columns=("method", "f1", "precision", "recall", "seconds"),
        files=files,
        next=(
            "aggregate {folder}/tokens.conll --truth {folder}/gold.bio --out consensus.bio",
            "train {folder}/tokens.conll --truth {folder}/test.bio --out model",
        ),
    )


def _entity_scores(data: "mh.datasets.SentencesDemo", method: str) -> dict[str, Any]:
    found = mh.aggregate_tokens(data.labels.sentences, data.labels.annotations, method)
    offsets = data.labels.sentences.offsets
    scores: Mapping[str, Any] = mh.evaluation.score_entities(
        data.truth.tags, found.tags, offsets
    ).as_dict()
    return {"method": method} | {name: scores[name] for name in ("f1", "precision", "recall")}


def _sentence_annotators(data: "mh.datasets.SentencesDemo") -> Records:
    ann = data.labels.annotations
    quality_a = mh.aggregate(ann).annotator_quality
    return [
        {
            "annotator": str(ann.annotators[a]),
            "quality": float(quality_a[a]),
            "labels": int(ann.labels_per_annotator[a]),
            "behaviour": str(data.behaviour[a]),
        }
        for a in np.argsort(-quality_a, kind="stable")
    ]


def _write_sentences(data: "mh.datasets.SentencesDemo", out: str) -> list[str]:
    paths = _paths(out, "tokens.conll", "gold.bio", "test.bio")
    mh.io.write_conll(data.labels, paths[0])
    mh.io.write_bio(data.truth, paths[1])
    mh.io.write_bio(data.test, paths[2])
    return paths


def _paths(out: str, *names: str) -> list[str]:
    home = require_folder(out)
    return [str(home / name) for name in names]
