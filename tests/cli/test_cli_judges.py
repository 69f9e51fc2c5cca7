"""The command that examines panels of judges."""

import io
import json

import pandas as pd
import pytest
from command_line import SMALL, assert_refused, call

import manyhands as mh
from manyhands.simulation import SCENARIOS, JudgePanelSettings, write_labels_and_truth


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    """Labels, and a gold of the first 60 items."""
    made = SCENARIOS["judge-panel"](JudgePanelSettings(n_items=150, seed=4))
    labels, truth, _ = write_labels_and_truth(made, tmp_path_factory.mktemp("panel"))
    gold = str(labels).replace("labels.csv", "gold.csv")
    pd.read_csv(truth).head(60).to_csv(gold, index=False)
    return labels, gold


def test_the_tables_are_those_of_the_library(panel, tmp_path):
    labels, gold = panel
    wanted = mh.selection.judge_panel(mh.read(labels), mh.read_truth(gold))
    for by in ("items", "pairs"):
        out = tmp_path / f"{by}.csv"
        outcome = call("judges", labels, "--gold", gold, "--by", by, "--out", out)
        assert outcome.code == 0, outcome.err
        found = pd.read_csv(out, keep_default_na=False)
        assert found.columns.tolist() == list(getattr(wanted, by))
        assert len(found) == len(wanted.to_frame(by))
    for text in (*wanted.words, "Judges", "Pairs, by the correlation", "Fewer judges"):
        assert text in outcome.out


def test_json_has_the_facts_and_the_tables(panel):
    labels, gold = panel
    outcome = call("judges", labels, "--gold", gold, "--json", "--by", "subsets")
    found = json.loads(outcome.out)
    wanted = mh.selection.judge_panel(mh.read(labels), mh.read_truth(gold))
    assert found["effective_judges"]["value"] == pytest.approx(wanted.effective_judges.value)
    assert found["certificate"]["target"] == 0.9
    assert [group["judges"] for group in found["groups"]] == [[0, 1, 2], [3, 4, 5]]
    assert len(found["judges"]) == 6
    assert "items" not in found


def test_without_gold_it_warns(panel):
    labels, _ = panel
    outcome = call("judges", labels, "--max-accuracy", 0.7)
    assert outcome.code == 0
    assert "warning: " in outcome.out
    assert "never certainty" in outcome.out
    assert "70.0% that you say" in outcome.out
    outcome = call("judges", labels, "--out", "-")
    assert pd.read_csv(io.StringIO(outcome.out))["item"].tolist() == list(range(150))
    assert "never certainty" in outcome.err


def test_samples_abstentions_and_costs(tmp_path):
    labels, gold, costs = (tmp_path / f"{name}.csv" for name in ("labels", "gold", "costs"))
    rows = [
        (item, judge, "unsure" if item == 3 and judge == "n" else "yes" if item % 2 else "no")
        for item in range(8)
        for judge in ("m#1", "m#2", "n")
    ]
    pd.DataFrame(rows, columns=["item", "annotator", "label"]).to_csv(labels, index=False)
    gold.write_text("item,truth\n" + "".join(f"{i},{'yes' if i % 2 else 'no'}\n" for i in range(8)))
    costs.write_text("annotator,cost\nm,4\n")
    words = ("--gold", gold, "--samples", "#", "--abstain", "unsure", "--costs", costs, "--json")
    found = json.loads(call("judges", labels, *words).out)
    assert [(row["judge"], row["n_items"], row["abstained"], row["cost"])
            for row in found["judges"]] == [("m", 8, 0, 4.0), ("n", 7, 1, 1.0)]  # fmt: skip
    assert found["chosen"] == ["n"] or found["subsets"][0]["judges"] == "n"


def test_wrong_requests_are_one_line(panel, tmp_path):
    _, gold = panel
    small = tmp_path / "small.csv"
    small.write_text(SMALL)
    for words in (
        ("--by", "pairs"), ("--gold", "nowhere.csv"), ("--target", 1), ("--abstain", "unsure"),
        ("--gold", gold), ("--gold", gold, "--same", 0), ("--out", "-", "--json"),
        ("--costs", small), ("--max-accuracy", 2), ("--samples", ""),
    ):  # fmt: skip
        assert_refused(call("judges", small, *words))
