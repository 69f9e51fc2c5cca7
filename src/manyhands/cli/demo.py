"""manyhands demo: a consensus, annotators and a trained network on embedded data."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

import manyhands as mh
from manyhands.cli.options import Json, Seed, Task, in_output, option
from manyhands.cli.output import counting, records, say, say_json, show_table

Records = list[dict[str, Any]]


class _Results(NamedTuple):
    """A table of results: its title, its rows, and the columns and rows that are shown."""

    title: str
    rows: Records
    columns: Sequence[str] | None = None
    shown: Records | None = None

    def show(self) -> None:
        rows = self.shown or self.rows
        columns = list(self.columns or rows[0])
        show_table(self.title, columns, [[row[name] for name in columns] for row in rows])


class _Networks(NamedTuple):
    """Networks to train: on what, by which methods, and the words around their results."""

    trial: "Callable[[], mh.selection.Trial]"
    methods: Sequence[str]
    intro: str
    title: str
    columns: Sequence[str]
    settings: dict[str, Any]

    def train(self, seed: int) -> _Results:
        with counting("training networks", len(self.methods)) as done:
            table = mh.selection.compare_training(
                self.trial(), self.methods, seed=seed, settings=self.settings, done=done
            )
        return _Results(self.title, table.records(), self.columns)


class _Demo(NamedTuple):
    """The results of a demo, the networks to train, and the words around them."""

    intro: str
    aggregators: _Results
    annotators: _Results
    networks: _Networks
    write: Callable[[str], list[str]]
    next: Sequence[str]


def demo(
    out: Annotated[
        str | None, in_output("Folder to write the data of the demo to.", metavar="DIR")
    ] = None,
    task: Annotated[
        Task,
        option("Digits (classification), ratings (regression) or sentences with names (tagging).",
               metavar="TASK"),
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
    found = demos[task](seed)
    files = found.write(out) if out else []
    has_torch = importlib.util.find_spec("torch") is not None
    networks = found.networks.train(seed) if has_torch else None
    if json:
        say_json({"methods": found.aggregators.rows, "annotators": found.annotators.rows,
                  "networks": networks.rows if networks else [], "files": files})  # fmt: skip
        return
    say(found.intro + "\n")
    found.aggregators.show()
    say()
    found.annotators.show()
    if networks is None:
        say("\nTo train networks from these labels: pip install 'manyhands[learn]'")
    else:
        say(f"\n{found.networks.intro}\n")
        networks.show()
    say("\nTry next:")
    if not out:
        say(f"  manyhands demo --task {task} --out demo")
    for line in found.next:
        say(f"  manyhands {line.format(folder=out or 'demo')}")


def _digits(seed: int) -> _Demo:
    data = mh.datasets.load_demo(seed)
    crowd = data.crowd
    table = mh.aggregation.compare(crowd.annotations, truth=crowd.truth_by_item, seed=seed)
    annotators = _digit_annotators(data)
    order = np.random.default_rng(seed).permutation(len(data.features))
    seen, test = np.sort(order[: len(order) // 3]), order[len(order) // 3 :]
    networks = _Networks(
        trial=lambda: mh.selection.Trial(
            data.features[seen], crowd.annotations[seen], crowd.truth[seen],
            data.features[test], crowd.truth[test],
        ),
        methods=("two-stage-majority", "two-stage-dawid-skene", "conal", "truth"),
        intro="Networks trained on a third of the digits with their labels, and tested on the "
        "others.\nThe method truth trains on the true digits.",
        title="Accuracy of networks on new digits",
        columns=("method", "accuracy", "log_loss", "seconds"),
        settings={},
    )  # fmt: skip
    return _Demo(
        intro="1797 handwritten digits (real images, from scikit-learn), each labelled by 3 of 40\n"
        "annotators. The annotators are simulated: 14 are careful, 16 middling, 5 click at\n"
        "random and 5 always give the same digit. No method knows which is which.",
        aggregators=_Results(
            "Accuracy of the consensus",
            table.records(),
            ("method", "accuracy", "log_loss", "calibration_error", "seconds"),
        ),
        annotators=_Results(
            "Quality of annotators by dawid-skene (behaviour: as simulated)",
            annotators,
            shown=[*annotators[:4], *annotators[-4:]],
        ),
        networks=networks,
        write=lambda out: _write_digits(data, out),
        next=(
            "check {folder}/labels.csv",
            "aggregate {folder}/labels.csv --truth {folder}/truth.csv --out consensus.csv",
            "train {folder}/features.csv {folder}/labels.csv --out model",
        ),
    )


def _digit_annotators(data: "mh.datasets.DigitsDemo") -> Records:
    consensus = mh.aggregate(data.crowd.annotations)
    quality, ann = consensus.quality, consensus.annotations
    columns = {
        "annotator": np.arange(ann.n_annotators),
        "quality": quality.value,
        "low": quality.low,
        "high": quality.high,
        "true accuracy": np.einsum("akk->a", data.crowd.confusion) / ann.n_classes,
        "labels": ann.labels_per_annotator,
        "behaviour": data.crowd.behaviour,
    }
    order = np.argsort(-quality.value, kind="stable")
    return records({name: column[order] for name, column in columns.items()})


def _write_digits(data: "mh.datasets.DigitsDemo", out: str) -> list[str]:
    files = mh.simulation.write_labels_and_truth(data.crowd, out)
    features = str(Path(out) / "features.csv")
    pixels = {f"pixel_{j}": data.features[:, j] for j in range(data.features.shape[1])}
    mh.io.write_table({"item": data.crowd.annotations.items, **pixels}, features)
    return [*files, features]


def _ratings(seed: int) -> _Demo:
    data = mh.datasets.load_ratings_demo(seed)
    ann, n_seen = data.annotations, len(data.truth) // 3
    truth = dict(zip(ann.items.tolist(), data.truth.tolist(), strict=True))
    table = mh.aggregation.compare(ann, truth=truth, seed=seed)
    traits = mh.aggregate(ann).annotator_columns()
    annotators = records(
        {
            "annotator": np.arange(ann.n_annotators),
            "quality": traits["quality"],
            "bias": traits["bias"],
            "bias simulated": data.bias,
            "behaviour": data.behaviour,
        }
    )
    networks = _Networks(
        trial=lambda: mh.selection.Trial(
            data.features[:n_seen], ann[:n_seen], data.truth[:n_seen],
            data.features[n_seen:], data.truth[n_seen:],
        ),
        methods=("two-stage-mean", "two-stage-gaussian", "crowd-layer-b", "truth"),
        intro="Networks trained on a third of the items with their ratings, and tested on the "
        "others.\nThe method truth trains on the true ratings.",
        title="Error of networks on new items",
        columns=("method", "mae", "rmse", "r2", "seconds"),
        settings={},
    )  # fmt: skip
    return _Demo(
        intro=f"{ann.n_items} items with a true rating around 0 to 10, each rated by 3 of "
        f"{ann.n_annotators} annotators.\nItems and annotators are simulated: some annotators are "
        "careful, some generous, some\nharsh, some erratic. No method knows which is which.",
        aggregators=_Results(
            "Error of the consensus (mae: mean absolute error)",
            table.records(),
            ("method", "mae", "rmse", "seconds"),
        ),
        annotators=_Results(
            "Annotators by gaussian (bias simulated, behaviour: as simulated)",
            annotators,
            shown=annotators[::4],
        ),
        networks=networks,
        write=lambda out: _write_ratings(data, out),
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


def _sentences(seed: int) -> _Demo:
    data = mh.datasets.load_sentences_demo(seed)
    ann = data.labels.annotations
    scores = ("f1", "precision", "recall")
    networks = _Networks(
        trial=lambda: mh.selection.trial_of_tokens(data.labels, data.test),
        methods=("two-stage-majority", "two-stage-dawid-skene", "crowd-layer-mw"),
        intro=f"Taggers trained on these tags, and tested on {len(data.test)} new sentences.",
        title="Entities in new sentences",
        columns=("method", *scores, "seconds"),
        settings={"epochs": 12, "learning_rate": 0.005},
    )
    aggregators = []
    for method in ("majority", "one-coin", "dawid-skene"):
        sentences = data.labels.sentences
        tags = mh.aggregate_tokens(sentences, ann, method).tags
        found = mh.evaluation.score_entities(data.truth.tags, tags, sentences.offsets).as_dict()
        aggregators.append({"method": method} | {name: found[name] for name in scores})
    return _Demo(
        intro=f"{len(data.labels)} simulated sentences with names of people and places, each "
        f"tagged by 3 of {ann.n_annotators}\nsimulated annotators: some are careful, some hasty, "
        "some confuse people with places, some\ntag only the first word of a name. No method knows "
        "which is which.",
        aggregators=_Results("Entities of the consensus, by exact words and type", aggregators),
        annotators=_Results(
            "Quality of annotators by dawid-skene (behaviour: as simulated)",
            _sentence_annotators(data),
        ),
        networks=networks,
        write=lambda out: _write_sentences(data, out),
        next=(
            "aggregate {folder}/tokens.conll --truth {folder}/gold.bio --out consensus.bio",
            "train {folder}/tokens.conll --truth {folder}/test.bio --out model",
        ),
    )


def _sentence_annotators(data: "mh.datasets.SentencesDemo") -> Records:
    ann = data.labels.annotations
    columns = {
        "annotator": ann.annotators,
        "quality": mh.aggregate(ann).annotator_quality,
        "labels": ann.labels_per_annotator,
        "behaviour": data.behaviour,
    }
    order = np.argsort(-columns["quality"], kind="stable")
    return records({name: column[order] for name, column in columns.items()})


def _write_sentences(data: "mh.datasets.SentencesDemo", out: str) -> list[str]:
    paths = _paths(out, "tokens.conll", "gold.bio", "test.bio")
    mh.io.write_conll(data.labels, paths[0])
    mh.io.write_bio(data.truth, paths[1])
    mh.io.write_bio(data.test, paths[2])
    return paths


def _paths(out: str, *names: str) -> list[str]:
    from manyhands.io.bundle import make_folder

    home = make_folder(out)
    return [str(home / name) for name in names]
