"""manyhands demo: a consensus, annotators and a trained network on embedded data."""

import importlib.util
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

import manyhands as mh
from manyhands.cli.options import Json, Seed, Task, in_output, option
from manyhands.cli.output import counting, records, say, say_json, say_text, show_table
from manyhands.core.arrays import AnyArray

Records = list[dict[str, Any]]
_QUALITY = "Quality of annotators by annotator-types (behaviour: as simulated)"


class _Demo(NamedTuple):
    """The tables of a demo, the networks to train, what it writes, and the words around them."""

    intro: str
    titles: tuple[str, str, str]  # of the tables of aggregators, annotators and networks
    aggregators: Records
    columns: Sequence[str]  # of the table of aggregators
    annotators: Records
    shown: Records  # the annotators in the text
    networks: str  # what they are trained and tested on
    methods: Sequence[str]
    network_columns: Sequence[str]
    trial: "Callable[[], mh.selection.Trial]"
    write: Callable[[str], list[str]]
    report: Callable[[], dict[str, Any]]
    next: Sequence[str]
    settings: dict[str, Any]

    def train(self, seed: int) -> Records:
        with counting("training networks", len(self.methods)) as done:
            table = mh.selection.compare_training(
                self.trial(), self.methods, seed=seed, settings=self.settings, done=done
            )
        return table.records()


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
    """Show every step on data that comes with manyhands.

    The demo computes a consensus, the quality of every annotator, a report to open in a browser,
    and a network trained from the labels of the crowd.

    Example: manyhands demo

    Example: manyhands demo --task tagging --out demo
    """
    demos = {"classification": _digits, "regression": _ratings, "tagging": _sentences}
    found = demos[task](seed)
    files = found.write(out) if out else []
    page = str(Path(out or tempfile.mkdtemp(prefix="manyhands-demo-")) / "report.html")
    mh.report.write_report(found.report(), page)
    networks = found.train(seed) if importlib.util.find_spec("torch") is not None else []
    if json:
        say_json({"methods": found.aggregators, "annotators": found.annotators,
                  "networks": networks, "files": files, "report": page})  # fmt: skip
        return
    of_aggregators, of_annotators, of_networks = found.titles
    say_text(found.intro + "\n")
    show_table(of_aggregators, found.aggregators, found.columns)
    say()
    show_table(of_annotators, found.shown)
    if networks:
        say_text(f"\n{found.networks}\n")
        show_table(of_networks, networks, found.network_columns)
    else:
        say_text("\nTo train networks from these labels: pip install 'manyhands[learn]'")
    say()
    say(f"A report to open in a browser: {page}")
    say_text("\nTry next:")
    if not out:
        say(f"  manyhands demo --task {task} --out demo")
    for line in found.next:
        say(f"  manyhands {line.format(folder=out or 'demo')}")


def _digits(seed: int) -> _Demo:
    data = mh.datasets.load_demo(seed)
    crowd, ann = data.crowd, data.crowd.annotations
    consensus = mh.aggregate(ann)
    quality = consensus.quality
    annotators = _by_quality(
        {
            "annotator": np.arange(ann.n_annotators),
            "quality": quality.value,
            "low": quality.low,
            "high": quality.high,
            "true accuracy": np.einsum("akk->a", crowd.confusion) / ann.n_classes,
            "labels": ann.labels_per_annotator,
            "behaviour": crowd.behaviour,
        }
    )
    order = np.random.default_rng(seed).permutation(len(data.features))
    seen, test = np.sort(order[: len(order) // 3]), order[len(order) // 3 :]

    def write(out: str) -> list[str]:
        mh.io.new_files(out, "labels.csv", "truth.csv", "annotators.csv", "features.csv")
        files = mh.simulation.write_labels_and_truth(crowd, out)
        return [*files, _write_features(ann.items, "pixel_", data.features, out)]

    return _Demo(
        intro="1797 handwritten digits (real images, from scikit-learn), each labelled by 3 of 40\n"
        "annotators. The annotators are simulated: 14 are careful, 16 middling, 5 click at\n"
        "random and 5 always give the same digit. No method knows which is which.",
        titles=("Accuracy of the consensus", _QUALITY, "Accuracy of networks on new digits"),
        aggregators=_compared(ann, crowd.truth, seed),
        columns=("method", "accuracy", "log_loss", "calibration_error", "seconds"),
        annotators=annotators,
        shown=[*annotators[:4], *annotators[-4:]],
        networks="Networks trained on a third of the digits with their labels, and tested on the "
        "others.\nThe method truth trains on the true digits.",
        methods=("two-stage-majority", "two-stage-dawid-skene", "conal", "truth"),
        network_columns=("method", "accuracy", "log_loss", "seconds"),
        trial=lambda: _trial(data.features, ann, crowd.truth, seen, test),
        write=write,
        report=lambda: mh.report.report_content(
            consensus,
            title="Demo: handwritten digits",
            truth=crowd.truth_by_item,
            file="labels.csv",
        ),
        next=(
            "check {folder}/labels.csv",
            "report {folder}/labels.csv --truth {folder}/truth.csv --out report.html",
            "aggregate {folder}/labels.csv --truth {folder}/truth.csv --out consensus.csv",
            "train {folder}/features.csv {folder}/labels.csv --out model",
        ),
        settings={},
    )


def _ratings(seed: int) -> _Demo:
    data = mh.datasets.load_ratings_demo(seed)
    ann, n_seen = data.annotations, len(data.truth) // 3
    consensus = mh.aggregate(ann)
    traits = consensus.annotator_columns()
    annotators = records(
        {
            "annotator": np.arange(ann.n_annotators),
            "quality": traits["quality"],
            "bias": traits["bias"],
            "bias simulated": data.bias,
            "behaviour": data.behaviour,
        }
    )

    def write(out: str) -> list[str]:
        labels, truth = _paths(out, "labels.csv", "truth.csv")
        mh.io.write_annotations(ann, labels)
        mh.io.write_table({"item": ann.items, "truth": np.round(data.truth, 3)}, truth)
        return [labels, truth, _write_features(ann.items, "x", data.features, out)]

    return _Demo(
        intro=f"{ann.n_items} items with a true rating around 0 to 10, each rated by 3 of "
        f"{ann.n_annotators} annotators.\nItems and annotators are simulated: some annotators are "
        "careful, some generous, some\nharsh, some erratic. No method knows which is which.",
        titles=(
            "Error of the consensus (mae: mean absolute error)",
            "Annotators by gaussian (bias simulated, behaviour: as simulated)",
            "Error of networks on new items",
        ),
        aggregators=_compared(ann, data.truth, seed),
        columns=("method", "mae", "rmse", "seconds"),
        annotators=annotators,
        shown=annotators[::4],
        networks="Networks trained on a third of the items with their ratings, and tested on the "
        "others.\nThe method truth trains on the true ratings.",
        methods=("two-stage-mean", "two-stage-gaussian", "crowd-layer-b", "truth"),
        network_columns=("method", "mae", "rmse", "r2", "seconds"),
        trial=lambda: _trial(
            data.features, ann, data.truth, slice(None, n_seen), slice(n_seen, None)
        ),
        write=write,
        report=lambda: mh.report.report_content(
            consensus,
            title="Demo: ratings",
            file="labels.csv",
            truth=dict(zip(ann.items.tolist(), data.truth.tolist(), strict=True)),
        ),
        next=(
            "aggregate {folder}/labels.csv --truth {folder}/truth.csv --out consensus.csv",
            "report {folder}/labels.csv --out report.html",
            "train {folder}/features.csv {folder}/labels.csv --out model",
        ),
        settings={},
    )


def _sentences(seed: int) -> _Demo:
    data = mh.datasets.load_sentences_demo(seed)
    ann, sentences = data.labels.annotations, data.labels.sentences
    columns = ("method", "f1", "precision", "recall")
    aggregators = []
    for method in ("majority", "one-coin", "dawid-skene", "annotator-types"):
        tags = mh.aggregate_tokens(sentences, ann, method).tags
        scores = mh.evaluation.score_entities(data.truth.tags, tags, sentences.offsets).as_dict()
        aggregators.append({"method": method} | {name: scores[name] for name in columns[1:]})
    annotators = _by_quality(
        {
            "annotator": ann.annotators,
            "quality": mh.aggregate(ann).annotator_quality,
            "labels": ann.labels_per_annotator,
            "behaviour": data.behaviour,
        }
    )

    def write(out: str) -> list[str]:
        paths = _paths(out, "tokens.conll", "gold.bio", "test.bio")
        mh.io.write_conll(data.labels, paths[0])
        mh.io.write_bio(data.truth, paths[1])
        mh.io.write_bio(data.test, paths[2])
        return paths

    return _Demo(
        intro=f"{len(data.labels)} simulated sentences with names of people and places, each "
        f"tagged by 3 of {ann.n_annotators}\nsimulated annotators: some are careful, some hasty, "
        "some confuse people with places, some\ntag only the first word of a name. No method knows "
        "which is which.",
        titles=(
            "Entities of the consensus, by exact words and type",
            _QUALITY,
            "Entities in new sentences",
        ),
        aggregators=aggregators,
        columns=columns,
        annotators=annotators,
        shown=annotators,
        networks=f"Taggers trained on these tags, and tested on {len(data.test)} new sentences.",
        methods=("two-stage-majority", "two-stage-dawid-skene", "crowd-layer-mw"),
        network_columns=(*columns, "seconds"),
        trial=lambda: mh.selection.trial_of_tokens(data.labels, data.test),
        write=write,
        report=lambda: mh.report.report_content(
            (found := mh.aggregate_tokens(sentences, ann)).tokens,
            title="Demo: names in sentences",
            agreement=mh.agreement.summarize_tokens(data.labels),
            spans=mh.report.SpanView(labels=data.labels, consensus=found),
            file="tokens.conll",
        ),
        next=(
            "aggregate {folder}/tokens.conll --truth {folder}/gold.bio --out consensus.bio",
            "report {folder}/tokens.conll --out report.html",
            "train {folder}/tokens.conll --truth {folder}/test.bio --out model",
        ),
        settings={"epochs": 12, "learning_rate": 0.005},
    )


def _compared(ann: "mh.Annotations", truth: AnyArray, seed: int) -> Records:
    truth_by_item = dict(zip(ann.items.tolist(), truth.tolist(), strict=True))
    return mh.aggregation.compare(ann, truth=truth_by_item, seed=seed).records()


def _trial(
    features: AnyArray, ann: "mh.Annotations", truth: AnyArray, seen: Any, test: Any
) -> "mh.selection.Trial":
    return mh.selection.Trial(features[seen], ann[seen], truth[seen], features[test], truth[test])


def _by_quality(columns: dict[str, AnyArray]) -> Records:
    order = np.argsort(-columns["quality"], kind="stable")
    return records({name: column[order] for name, column in columns.items()})


def _write_features(items: AnyArray, prefix: str, features: AnyArray, out: str) -> str:
    path = str(Path(out) / "features.csv")
    columns = {f"{prefix}{j}": column for j, column in enumerate(features.T)}
    mh.io.write_table({"item": items, **columns}, path)
    return path


def _paths(out: str, *names: str) -> list[str]:
    return [str(path) for path in mh.io.new_files(out, *names)]
