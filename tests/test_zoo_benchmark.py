"""The benchmark of many simulated crowds: what is drawn, what is measured, and the page."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks import zoo, zoo_page
from benchmarks.benchmark import ZOO
from benchmarks.zoo_crowds import KINDS, draw_confusions, draw_crowd
from benchmarks.zoo_jobs import class_aggregators, measure

import manyhands as mh

DOCS = Path(__file__).parent.parent / "docs"
SCORES = ("accuracy", "log_loss", "calibration_error", "seconds")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def crowds():
    return [draw_crowd(seed) for seed in range(60)]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """The rows of a run of the command on a few small crowds."""
    docs = tmp_path_factory.mktemp("docs")
    words = ["--crowds", "2", "--first", "7", "--jobs", "1", "--docs", str(docs)]
    assert zoo.main(words) == 0
    kept = ZOO.read(docs)
    assert (docs / zoo.PAGE).read_text() == zoo_page.make_page(kept)
    return kept


def labels_of(crowd, kind):
    """Annotator, true class and label of every label by annotators of a kind."""
    ann = crowd.annotations
    of_kind = crowd.kind_a[ann.annotator] == KINDS.index(kind)
    return ann.annotator[of_kind], crowd.truth[ann.item][of_kind], ann.label[of_kind]


def test_a_crowd_is_that_of_its_seed(crowds):
    again = draw_crowd(3)
    for name in ("item", "annotator", "label"):
        assert np.array_equal(
            getattr(again.annotations, name), getattr(crowds[3].annotations, name)
        )
    assert np.array_equal(again.truth, crowds[3].truth)
    assert again.about == crowds[3].about
    assert draw_crowd(4).about != again.about


def test_crowds_are_within_the_stated_bounds(crowds):
    about = {name: [crowd.about[name] for crowd in crowds] for name in crowds[0].about}
    assert (min(about["n_classes"]), max(about["n_classes"])) == (2, 10)
    assert (min(about["labels_per_item"]), max(about["labels_per_item"])) == (2, 8)
    assert min(about["n_items"]) >= 150
    assert max(about["n_items"]) <= 2000
    assert max(about["n_items"]) > 4 * min(about["n_items"])
    # 30 % of the items have a random number of labels, so that the mean is not exact.
    assert 3.7 < min(about["labels_per_annotator"]) < 6
    assert 70 < max(about["labels_per_annotator"]) < 105
    assert 0.2 < np.mean(np.array(about["hard"]) == 0) < 0.5
    assert all(sum(shares) == pytest.approx(1, abs=0.03) for shares in about["shares"])
    for crowd in crowds:
        ann = crowd.annotations
        assert ann.n_items == len(crowd.truth) == crowd.about["n_items"]
        assert ann.labels_per_item.min() >= 1
        assert np.median(ann.labels_per_item) == crowd.about["labels_per_item"]
        pairs = ann.item.astype(np.int64) * ann.n_annotators + ann.annotator
        assert len(np.unique(pairs)) == ann.n_annotations


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_confusions_are_those_of_the_kinds(n_classes):
    chance = 1 / n_classes
    means = {kind: [] for kind in KINDS}
    for seed in range(20):
        kind_a = np.repeat(np.arange(len(KINDS)), 100)
        confusion_akl = draw_confusions(kind_a, n_classes, np.random.default_rng(seed))
        assert np.allclose(confusion_akl.sum(axis=2), 1)
        right_ak = np.diagonal(confusion_akl, axis1=1, axis2=2)
        for place, kind in enumerate(KINDS):
            means[kind].append(right_ak[kind_a == place].mean())
        random_akl, constant_akl, adversarial_ak = (
            confusion_akl[kind_a == 2],
            confusion_akl[kind_a == 3],
            right_ak[kind_a == 4],
        )
        assert np.all(random_akl == random_akl[:, :1])  # whatever the true class
        assert np.all(constant_akl == constant_akl[:, :1])
        assert np.all(constant_akl.max(axis=2) >= 0.98)
        assert np.all((adversarial_ak > 0.1 - 1e-9) & (adversarial_ak < 0.5 + 1e-9))
    assert 0.78 < min(means["expert"]) < max(means["expert"]) < 0.96
    low = max(0.38, chance - 0.02)
    assert low < min(means["average"]) < max(means["average"]) < 0.78
    for kind in ("random", "constant"):
        assert np.mean(means[kind]) == pytest.approx(chance, abs=0.02)
    assert np.mean(means["adversarial"]) == pytest.approx(0.3, abs=0.02)


def test_labels_follow_the_kinds_of_their_annotators(crowds):
    easy = [crowd for crowd in crowds if crowd.about["hard"] == 0]
    right = {
        kind: np.concatenate([truth == said for _, truth, said in every])
        for kind in KINDS
        for every in [[labels_of(crowd, kind) for crowd in easy]]
    }
    assert 0.8 < right["expert"].mean() < 0.95
    assert 0.4 < right["average"].mean() < 0.75
    assert 0.1 < right["adversarial"].mean() < 0.5
    modal, total = 0, 0
    for crowd in crowds:
        annotator, _, said = labels_of(crowd, "constant")
        counts_al = np.zeros((crowd.annotations.n_annotators, crowd.about["n_classes"]))
        np.add.at(counts_al, (annotator, said), 1)
        modal, total = modal + counts_al.max(axis=1).sum(), total + len(said)
    assert modal / total > 0.97


def test_hard_items_are_labelled_wrong_more_often(crowds):
    def share(hard):
        every = [labels_of(crowd, "expert") for crowd in crowds if crowd.about["hard"] in hard]
        return np.concatenate([truth == said for _, truth, said in every]).mean()

    # A quarter of the items is hard: a label is lured away in 20 to 60 % of them.
    assert 0.03 < share({0.0}) - share({0.23, 0.24, 0.25, 0.26, 0.27}) < 0.2


def test_every_aggregator_of_classes_is_measured(rows):
    crowds = [row for row in rows if row["kind"] == "crowd"]
    assert [row["seed"] for row in crowds] == [7, 8]
    assert {"majority", "dawid-skene", "annotator-types"} <= set(class_aggregators())
    for row in crowds:
        for score in SCORES:
            assert set(row[score]) == set(class_aggregators())
            values = np.array(list(row[score].values()))
            assert np.all(np.isfinite(values))
            assert np.all(values >= 0)
            assert score in ("log_loss", "seconds") or np.all(values <= 1)
        assert np.isfinite(row["fleiss_kappa"])


def test_measuring_again_gives_the_same_and_keeps_the_threads(rows, monkeypatch):
    monkeypatch.setenv("MANYHANDS_THREADS", "2")
    again = measure(7)
    [row] = [row for row in rows if row.get("seed") == 7]
    assert {name: row[name] for name in again if name != "seconds"} == {
        name: value for name, value in again.items() if name != "seconds"
    }
    crowd = draw_crowd(7)
    right = mh.aggregate(crowd.annotations, "dawid-skene").labels == crowd.truth
    assert again["accuracy"]["dawid-skene"] == pytest.approx(right.mean(), abs=1e-5)
    assert os.environ["MANYHANDS_THREADS"] == "2"


def crowd_row(seed, base, ours, seconds=0.001):
    about = {"n_classes": 2, "n_items": 200, "labels_per_item": 3, "labels_per_annotator": 9.5}
    about |= {"shares": [0.2] * 5, "hard": 0.1, "silent": 0.0, "fleiss_kappa": seed / 10}
    row = {"kind": "crowd", "seed": seed, **about}
    accuracy = {"majority": base, "dawid-skene": base, "annotator-types": ours}
    same = {name: dict.fromkeys(accuracy, 0.25) for name in ("calibration_error", "log_loss")}
    return row | same | {"accuracy": accuracy, "seconds": dict.fromkeys(accuracy, seconds)}


def test_the_page_has_the_numbers_of_the_rows():
    rows = [
        {"kind": "run", "command": "python -m benchmarks.zoo --crowds 4"},
        {"kind": "machine", "processor": "a processor"},
        crowd_row(1, 0.5, 0.6),
        crowd_row(2, 0.6, 0.48),
        crowd_row(3, 0.7, 0.68),
        crowd_row(4, 0.8, 0.9),
    ]
    text = zoo_page.make_page(rows)
    assert "on 4 simulated crowds (seeds\n1 to 4)" in text
    assert "python -m benchmarks.zoo --crowds 4\n" in text
    table = re.findall(r"^\| `(\S+)` \| (.*) \|$", text, re.MULTILINE)
    cells = {name: line.split(" | ") for name, line in table}
    # +10, -12, -2 and +10 points: the mean is 1.5, the deviation 10.63.
    assert cells["annotator-types"] == [
        "0.6650", "+1.50 ± 5.32", "3.50", "50.0 %", "25.0 %", "-12.0", "0.250", "0.250", "1.00",
    ]  # fmt: skip
    assert cells["majority"][:4] == ["0.6500", "-", "5.00", "0.0 %"]
    assert table[0][0] == "annotator-types"
    assert text.index("| 2 | 2 | 200 |") < text.index("| 3 | 2 | 200 |")
    assert "draw_crowd(2)" in text
    assert "| 0.500 to 0.500 | 1 | 0.10 | 0.500 | 0.500 | 0.600 | +0.00 | +10.00 |" in text


def test_five_groups_hold_all_crowds():
    first = [{"kind": "run", "command": "c"}, {"kind": "machine", "processor": "p"}]
    crowds = [crowd_row(seed, 0.3 + seed / 50, 0.5) for seed in range(17)]
    text = zoo_page.make_page([*first, *crowds]).split("## Easy and difficult crowds")[1]
    sizes = [int(n) for n in re.findall(r"^\| 0\.\d+ to 0\.\d+ \| (\d+) \|", text, re.MULTILINE)]
    assert sizes == [4, 4, 3, 3, 3]


def test_the_committed_page_is_that_of_the_records():
    rows = ZOO.read(DOCS)
    text = (DOCS / zoo.PAGE).read_text()
    assert text == zoo_page.make_page(rows), "python docs/write_pages.py writes it again"
    measured = {name for row in rows if row["kind"] == "crowd" for name in row["accuracy"]}
    assert (
        set(zoo_page.SHOWN) <= measured <= set(class_aggregators())
    )  # a new one is measured later
    assert ZOO.path(DOCS).stat().st_size < 2_000_000


def test_the_example_of_the_page_runs(capsys):
    [example] = PYTHON.findall((DOCS / zoo.PAGE).read_text())
    exec(compile(example, zoo.PAGE, "exec"), {})
    assert "labels of" in capsys.readouterr().out
