"""--exclude: labels without those of some annotators, in every command that uses labels."""

import io
import json
import shlex

import pandas as pd
import pytest
from command_line import SMALL, call

import manyhands as mh
from manyhands.cli import options
from manyhands.cli.report import typed
from manyhands.report import report_content
from manyhands.simulation import SCENARIOS, PlantedSettings

COMPARED = "left,right,annotator,winner\na,b,u,a\nb,c,v,b\nc,a,w,c\na,b,w,b\n"


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(SMALL)
    return path


def test_the_consensus_is_that_of_the_labels_that_are_left(labels, tmp_path):
    wanted = mh.aggregate(mh.read(labels).without_annotators(["v", "w"])).to_frame()
    names = tmp_path / "names.txt"
    names.write_text(" v \n\nw\n")
    for words in (["--exclude", "v", "--exclude", "w"], ["--exclude-from", names],
                  ["--exclude", "w", "--exclude-from", names]):  # fmt: skip
        outcome = call("aggregate", labels, *words)
        assert outcome.code == 0
        pd.testing.assert_frame_equal(
            pd.read_csv(io.StringIO(outcome.out)), wanted, check_dtype=False
        )
        assert "2 annotators excluded" in outcome.err


def test_items_without_a_label_stay(labels):
    ann = mh.read(labels).without_annotators("u")
    assert ann.items.tolist() == ["a", "b", "c"]
    assert ann.annotators.tolist() == ["v", "w"]
    everyone = mh.read(labels)
    kept = everyone.annotators[everyone.annotator] != "u"
    assert ann.to_frame().equals(everyone.only(kept).to_frame())


@pytest.mark.parametrize("command", ["aggregate", "agree", "report", "compare"])
def test_an_unknown_name_is_one_line_with_the_nearest(labels, command):
    outcome = call(command, labels, "--exclude", "U1")
    assert outcome.code == 2
    assert f"{labels}: no annotator 'U1'; nearest: u" in outcome.err


def test_nothing_is_left(labels):
    outcome = call("aggregate", labels, *(w for each in "uvw" for w in ("--exclude", each)))
    assert outcome.code == 2
    assert "no label is left without the excluded annotators" in outcome.err


def test_agreement_and_conversion_leave_them_out(labels, tmp_path):
    outcome = call("agree", labels, "--exclude", "w", "--json")
    wanted = mh.agreement.alpha(mh.read(labels, exclude=["w"]))
    found = json.loads(outcome.out)["coefficients"][0]
    assert found["n_labels"] == wanted.n_labels
    assert call("convert", labels, tmp_path / "rest.csv", "--exclude", "w").code == 0
    assert set(pd.read_csv(tmp_path / "rest.csv")["annotator"]) == {"u", "v"}


def test_comparisons_and_tokens_leave_them_out(tmp_path):
    pairs, tokens = tmp_path / "pairs.csv", tmp_path / "tokens.conll"
    pairs.write_text(COMPARED)
    tokens.write_text("Anna B-PER O\nsang O O\n\nyes O O\n")
    assert mh.read(pairs, exclude="w").winners.tolist() == ["a", "b"]
    first = mh.read(tokens).annotations.annotators.tolist()[0]
    found = mh.read(tokens, exclude=[first])
    assert found.annotations.n_annotators == 1
    assert found.annotations.n_annotations == 3


def test_parts_on_disk_need_all_annotators(labels, tmp_path):
    out = tmp_path / "out.csv"
    outcome = call("aggregate", labels, "--engine", "stream", "--exclude", "w", "--out", out)
    assert outcome.code == 2
    assert "--exclude needs all labels in memory" in outcome.err


def test_excluded_names_are_in_the_words_of_a_command():
    given = options.LabelOptions(exclude=["Ann", "-b c"], exclude_from="names.txt")
    assert typed(given) == [
        "--exclude", "Ann", "--exclude", "-b c", "--exclude-from", "names.txt",
    ]  # fmt: skip


def test_the_command_of_a_report_gives_its_items_to_relabel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = PlantedSettings(n_annotators=40, n_items=400, labels_per_item=5, share=0.3, seed=7)
    mh.io.write_annotations(SCENARIOS["planted"](settings).annotations, "labels.csv")
    content = report_content(mh.aggregate(mh.read("labels.csv")), file="labels.csv")
    command = content["removal"]["commands"]["aggregate"]
    assert any(step.endswith(command) for step in content["summary"]["next"])
    outcome = call(*shlex.split(command)[1:])
    assert outcome.code == 0, outcome.err
    rows = content["items"]["relabel"]["rows"]
    assert {row["item"] for row in rows} == set(pd.read_csv("relabel.csv", dtype=str)["item"])
    found = pd.read_csv("consensus.csv", dtype={"item": str, "label": str}).set_index("item")
    assert all(found.loc[row["item"], "label"] == row["consensus"] for row in rows)
