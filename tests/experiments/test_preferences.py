"""The experiment with comparisons: what is held out, its runs, and its page."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import manyhands as mh
from manyhands.datasets import PAIR_SETS, PairCorpus
from manyhands.experiments import EXPERIMENTS, FILE, RecordStore, RunOptions, run_missing
from manyhands.experiments.preferences import PairGrid, PairSource, with_test_items

NAME = "ours/preferences"
TINY = {"n_items": 12, "n_pairs": 30, "n_annotators": 4, "n_features": 3, "n_test": 6}
WORDS = ("pun", "fish", "bank", "time")


def write_humour(home, n_texts=20):
    """Texts of two words each; the one with more puns is funnier."""
    home.mkdir(parents=True)
    texts = [f"{WORDS[t % 4]} {WORDS[t // 4 % 4]} number{t}" for t in range(n_texts)]
    rows = []
    for at, (one, other) in enumerate(combinations(texts, 2)):
        lead = one.count("pun") - other.count("pun")
        answer = "X" if lead == 0 else "A" if lead > 0 else "B"
        rows.append(f"W{at % 3}\t{answer}\t{one}\t{other}")
    (home / "results.tsv").write_text("\n".join(["who\tsaid\tA\tB", *rows]) + "\n")


def short(**settings):
    """The experiment with tiny columns and few epochs."""
    experiment = EXPERIMENTS[NAME]
    training = {**experiment.given["training"], "epochs": 2}
    columns = [
        replace(
            column,
            settings={"training": training},
            source=column.source
            if column.source.dataset == "humour"
            else PairSource("preferences", {**TINY, **settings}),
        )
        for column in experiment.columns
    ]
    given = {**experiment.given, "methods": ["two-stage-majority", "softmax-crowd-layer"]}
    return type("Short", (PairGrid,), {"columns": columns, "given": given})(
        experiment.name, experiment.title, experiment.specification
    )


@pytest.mark.parametrize("seed", range(3))
def test_no_comparison_that_is_learnt_from_has_a_test_item(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.permuted(np.tile(np.arange(30), (200, 1)), axis=1)[:, :2].T
    pairs = mh.Comparisons.from_arrays(
        left, right, np.arange(200) % 5, left, items=range(30), winner_is="item"
    )
    trial = with_test_items(PairCorpus("any", np.ones((30, 2)), pairs), seed)
    learnt = {*trial.comparisons.left.tolist(), *trial.comparisons.right.tolist()}
    tested = {*trial.test.left.tolist(), *trial.test.right.tolist()}
    assert learnt
    assert tested
    assert not learnt & tested
    assert len(tested) <= 6
    other = with_test_items(PairCorpus("any", np.ones((30, 2)), pairs), seed + 1)
    assert {*other.test.left.tolist()} != {*trial.test.left.tolist()}


def test_a_run_scores_items_that_nobody_compared():
    experiment = short()
    run = experiment.runs(RunOptions(n_runs=1))[1]
    assert run.method == "softmax-crowd-layer"
    trial = run.source.load(None, 0)
    assert len(trial.test_features) == len(trial.test) == 6
    ranker = mh.CrowdRanker(
        method=run.method, seed=0, progress=False, **run.settings["training"]
    ).fit(trial.features, trial.comparisons)
    expected = ranker.score(trial.test_features, trial.test)
    assert run.outcome(None)["scores"]["accuracy"] == pytest.approx(expected, abs=1e-6)


def test_the_page_has_stand_ins_and_the_public_comparisons(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    out.mkdir()
    experiment = short()
    without = RunOptions(data=str(data), n_runs=1)
    assert list(experiment.reasons(without)) == ["Humour"]
    assert "results.tsv is not there" in experiment.reasons(without)["Humour"]
    write_humour(data / "humour")
    assert PAIR_SETS["humour"].missing(data) == []
    assert experiment.reasons(without) == {}
    runs = [run for run in experiment.runs(without) if run.source.dataset == "humour"]
    assert len(runs) == 2
    store = RecordStore(out / FILE)
    run_missing(runs, store, str(data))
    [page] = experiment.write(store, without, out).files
    text = Path(page).read_text()
    heads = next(line for line in text.splitlines() if line.startswith("|  | stand-in"))
    assert heads.endswith("| Humour |")
    row = next(line for line in text.splitlines() if line.startswith("| `softmax-crowd-layer`"))
    assert row.split("|")[-2].strip() != "-"
    assert row.split("|")[2].strip() == "-"
    assert "future work" in text
