"""What a network learns from a consensus, beside what it learns from as many random mistakes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import manyhands as mh
from benchmarks.benchmark import Row, log
from manyhands.core.arrays import AnyArray
from manyhands.experiments import markdown_table

CORPORA = ("labelme", "music")
TAUGHT = {
    "truth": "truth",
    "random": "truth with as many mistakes, drawn at random",
    "kinds": "truth with the mistakes of the consensus, on other items of the same class",
    "consensus": "consensus of `cross-fit`, as classes",
}
SEEDS = 5
TITLE = "## `cross-fit` on LabelMe and music: which items its consensus is wrong about"
TEXT = """The network of `cross-fit` is as good as its consensus allows. Here the same network
learns from four tables of classes. Two have exactly as many mistakes as the consensus: in one they
are drawn at random, in the other the same pairs of true and wrong class are put on other items of
the true class. If the network is better there, it is not the number of mistakes that holds it back,
but where they are.

On LabelMe both matter: the mistakes are of few kinds, which costs four points, and they are on
items that look like the wrong class, which costs another one to two. As many random mistakes cost
one point. On music their number alone costs six points, so that a test accuracy of 74 % needs a
better consensus or more songs.

Test accuracy, mean and standard deviation over five seeds; the same search for the epoch for all,
by held-out labels of the crowd. Targets of `cross-fit` are shares of classes, which is worth half a
point to a point and a half more than classes ([comparison](results/ours-comparison.md))."""


def error_rows(data: Any) -> Iterator[Row]:
    """Test accuracies by corpus, table of classes and seed."""
    for name in CORPORA:
        corpus = mh.DATASETS[name].read(data)
        for seed in range(SEEDS):
            yield from rows_of_seed(name, corpus, seed)


def rows_of_seed(name: str, corpus: Any, seed: int, **settings: Any) -> Iterator[Row]:
    """A row for every table of classes."""
    ann = corpus.annotations
    truth_i = ann.class_vocabulary.codes(corpus.truth.tolist())
    found_i = mh.consensus(corpus.features, ann, seed=seed).probabilities.argmax(axis=1)
    for taught in TAUGHT:
        log(f"{name}, {taught}, seed {seed}")
        code_i = classes_of(taught, truth_i, found_i, ann.n_classes, seed)
        clf = mh.CrowdClassifier(
            method="truth", seed=seed,
            **{"epochs": 100, "validation_fraction": 0.15, "patience": 20, "refit": True,
               "progress": False, **settings},
        )  # fmt: skip
        clf.fit(corpus.features, ann, truth=ann.classes[code_i])
        right = clf.predict(corpus.test.features) == corpus.test.truth
        yield {
            "kind": "errors", "labels": name, "method": taught, "seed": seed,
            "mistakes": float(np.mean(code_i != truth_i)), "accuracy": float(np.mean(right)),
        }  # fmt: skip


def classes_of(
    taught: str, truth_i: AnyArray, found_i: AnyArray, n_classes: int, seed: int
) -> AnyArray:
    """The classes of the items that a network is taught.

    >>> truth, found = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    >>> [int((classes_of(each, truth, found, 2, 0) != truth).sum()) for each in TAUGHT]
    [0, 1, 1, 1]
    """
    wrong_i = np.flatnonzero(found_i != truth_i)
    rng = np.random.default_rng(seed)
    code_i: AnyArray = found_i.copy() if taught == "consensus" else truth_i.copy()
    if taught == "random":
        chosen = rng.choice(len(truth_i), len(wrong_i), replace=False)
        code_i[chosen] = (truth_i[chosen] + rng.integers(1, n_classes, len(chosen))) % n_classes
    elif taught == "kinds":
        for k in range(n_classes):
            of_class, wrong = np.flatnonzero(truth_i == k), wrong_i[truth_i[wrong_i] == k]
            code_i[rng.choice(of_class, len(wrong), replace=False)] = found_i[wrong]
    return code_i


def error_table(rows: list[Row]) -> str:
    """The table in Markdown."""
    body = []
    for taught, shown in TAUGHT.items():
        cells = [shown]
        for name in CORPORA:
            some = [row for row in rows if (row["labels"], row["method"]) == (name, taught)]
            right = [100 * row["accuracy"] for row in some]
            mistakes = 100 * float(np.mean([row["mistakes"] for row in some]))
            cells += [f"{mistakes:.1f}", f"{np.mean(right):.2f} ± {np.std(right, ddof=1):.2f}"]
        body.append(cells)
    heads = [part for name in CORPORA for part in (f"{name}: mistakes %", f"{name}: accuracy %")]
    return markdown_table(["taught", *heads], body, left=1)
