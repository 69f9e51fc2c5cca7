"""The benchmarks of method costs on tiny crowds: their numbers, and the page made from them."""

from importlib.metadata import PackageNotFoundError
from math import exp, log
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import cost_page, epoch_costs, fit_times, raykar
from benchmarks.benchmark import EPOCH_COSTS, RAYKAR
from benchmarks.machine import machine_facts

import manyhands as mh
from manyhands.experiments.runs import classification_methods
from manyhands.methods.linear.base import LinearWeights
from manyhands.methods.linear.raykar import fit_raykar

HOME = Path(__file__).parent.parent
PAGE = HOME / "docs/method-costs.md"
TINY = epoch_costs.Plan(
    n_items=64,
    n_features=4,
    n_classes=3,
    n_annotators=6,
    labels_each=(1, 2, 3),
    epochs=3,
    rounds=1,
    steps=2,
    solved_rounds=1,
    methods=("truth", "speelfc", "raykar", "ma-slda-c"),
)


@pytest.fixture(scope="module")
def rows():
    return list(epoch_costs.measure_all(TINY, "python -m benchmarks.epoch_costs"))


def test_the_objective_is_that_of_its_definition():
    ann = mh.Annotations.from_arrays([0, 0, 1], [0, 1, 1], [0, 1, 1])
    features = np.array([[1.0], [-2.0]])
    weights = LinearWeights(np.array([[0.5, -0.5]]), np.array([0.2, -0.1]))
    confusion = np.array([[[0.7, 0.3], [0.2, 0.8]], [[0.6, 0.4], [0.1, 0.9]]])
    wanted = -0.5 * (0.5**2 + 0.5**2)
    said = {0: [(0, 0), (1, 1)], 1: [(1, 1)]}
    for item, labels in said.items():
        score = [features[item, 0] * w + b for w, b in zip([0.5, -0.5], [0.2, -0.1], strict=True)]
        whole = sum(exp(each) for each in score)
        chance = 0.0
        for k in range(2):
            told = np.prod([confusion[a, k, label] for a, label in labels])
            chance += exp(score[k]) / whole * told
        wanted += log(chance)
    found = raykar.objective(raykar.Solution(weights, confusion), features, ann)
    assert found == pytest.approx(wanted, abs=1e-12)


def test_the_objective_is_the_one_that_ours_climbs():
    features, ann = raykar.draw(raykar.Case(80, 6, 3, 4, 3))
    found = fit_raykar(features, ann, tol=1e-12)
    solution = raykar.Solution(found.weights, found.confusion_akl)
    value = raykar.objective(solution, features, ann)
    assert value == pytest.approx(found.objective[-1], abs=1e-6)
    moved = LinearWeights(found.weights.coefficient_jk + 3.0, found.weights.intercept_k)
    same = raykar.Solution(moved, found.confusion_akl)
    assert raykar.objective(same, features, ann) == pytest.approx(value, abs=1e-8)
    worse = LinearWeights(1.5 * found.weights.coefficient_jk, found.weights.intercept_k)
    assert raykar.objective(raykar.Solution(worse, found.confusion_akl), features, ann) < value


def test_a_dense_crowd_is_dense():
    _, ann = raykar.draw(raykar.Case(20, 5, None, 2, 2))
    assert ann.n_annotations == 100


class Careless(raykar.Solution):
    """What a peer finds that stops early."""


def careless(features, labels, n_classes):
    """A fit of one step."""
    item, annotator = np.nonzero(labels >= 0)
    ann = mh.Annotations.from_arrays(item, annotator, labels[item, annotator])
    found = fit_raykar(features, ann, max_iter=1)
    return Careless(found.weights, found.confusion_akl)


def test_a_race_ends_at_the_peers_objective_or_says_that_it_does_not(monkeypatch):
    monkeypatch.setattr(raykar, "theirs", careless)
    case = raykar.Case(60, 8, 3, 4, 3)
    row = raykar.race(case, raykar.QUICK)
    assert row["reached"]
    assert row["equal"]["objective"] >= row["peer"]["objective"]
    assert row["equal"]["tol"] == 1e-8
    assert row["n_labels"] == 180
    monkeypatch.setattr(raykar, "objective", lambda one, *_: float(isinstance(one, Careless)))
    other = raykar.race(case, raykar.QUICK)
    assert not other["reached"]
    assert "equal" not in other
    run = {"kind": "run", "command": "x", "n_features": 4, "n_classes": 3}
    run |= {"peer_version": "1", "repeats": 1, "once_s": 1.0, **machine_facts()}
    cases = [each | {"kind": "case"} for each in (row, other)]
    text = cost_page.make_page([], [run, *cases], [])
    assert "| `fit_raykar`, no lower | 1e-08 |" in text
    assert "| `fit_raykar`, 1.00 lower maximum |" in text
    assert cost_page.BROKEN in cost_page.make_page([], [run, *cases[::-1]], [])


def test_without_the_peer_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(raykar, "version", missing)
    assert raykar.main(["--docs", str(tmp_path)]) == 1
    assert "pip install" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_line_is_found_and_judged():
    labels = [1000, 2000, 4000, 8000]
    straight = [1.5 + 1e-3 * n for n in labels]
    row = {"method": "speelfc", "labels": labels, "ratios": straight, "plain_s": 0.01}
    assert cost_page.line(row) == pytest.approx((1.5, 10.0, 0.0), abs=1e-9)
    assert cost_page.verdict(row) == "holds"
    dear = row | {"ratios": [each + 1 for each in straight]}
    assert cost_page.verdict(dear) == "**does not hold**"
    assert cost_page.verdict(dear | {"method": "semi-lfc"}).startswith("exception")
    bent = row | {"ratios": [1e-6 * n**2 for n in labels]}
    assert cost_page.verdict(bent) == "**does not hold**"


def test_rows_say_what_was_measured(rows):
    run, *others = rows
    assert run["command"] == "python -m benchmarks.epoch_costs"
    others = [row for row in others if row["kind"] != "wide"]
    kinds = {row["method"]: row["kind"] for row in others}
    assert kinds == {
        "truth": "epoch",
        "speelfc": "epoch",
        "raykar": "solved",
        "ma-slda-c": "solved",
    }
    for row in others:
        assert row["cost"] == mh.METHODS[row["method"]].about.cost
        assert min(row.get("ratios", row.get("seconds"))) > 0
    assert all(row["labels"] == [64, 128, 192] for row in others if row["kind"] == "epoch")


def test_the_page_has_the_rows_of_both_benchmarks(tmp_path, rows):
    kept = EPOCH_COSTS.keep(rows, tmp_path)
    text = cost_page.make_page(kept, RAYKAR.read(tmp_path), [])
    plain = [row for row in rows if row["kind"] != "wide"]
    assert "a hidden layer of 1,024" not in cost_page.make_page(plain, [], [])
    again = cost_page.make_page([*rows, rows[1] | {"kind": "wide"}], [], [])
    assert "a hidden layer of 1,024" in again
    assert all(f"| `{name}` |" in text for name in TINY.methods)
    assert str(HOME) not in text


def test_every_number_of_labels_is_drawn_as_asked():
    for each in TINY.labels_each:
        data = epoch_costs.workload(TINY, each)
        assert set(data.annotations.labels_per_item) == {each}
    counts = epoch_costs.workload(TINY, 1, counts=True).features
    assert (counts == counts.round()).all()
    assert counts.min() == 0


def test_every_classification_method_is_on_the_page():
    text = PAGE.read_text()
    assert all(f"| `{name}` |" in text for name in classification_methods())
    for row in EPOCH_COSTS.read():
        if "method" in row:
            assert row["cost"] == mh.METHODS[row["method"]].about.cost


def test_whole_fits_are_compared_in_turn_by_processor_time(monkeypatch):
    seconds = {name: 1.0 + place for place, name in enumerate(fit_times.METHODS)}
    asked = []

    def fit_seconds(features, annotations, method, seed):
        asked.append((method, seed))
        return seconds[method] * (100 if seed == 0 else 1)  # the first round is not counted

    monkeypatch.setattr(fit_times, "fit_seconds", fit_seconds)
    corpora = {"labelme": SimpleNamespace(features=None, annotations=None)}
    rows = list(fit_times.measure_all(corpora, "command"))
    assert asked == [(name, seed) for seed in range(5) for name in fit_times.METHODS]
    found = {row["method"]: row["ratio"] for row in rows[1:]}
    assert found == {name: seconds[name] / seconds["em"] for name in seconds}
    text = cost_page.make_page([], [], rows)
    assert "| labelme | `cross-fit` | 5.00 | 2.50 |" in text


def test_a_fit_takes_time():
    features = np.random.default_rng(0).normal(size=(20, 3))
    ann = mh.Annotations.from_arrays(np.repeat(np.arange(20), 2), [0, 1] * 20, [0, 0, 1, 1] * 10)
    assert fit_times.fit_seconds(features, ann, "two-stage-majority", 0) > 0
