"""manyhands aggregate and compare: the tables they print and write."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from command_line import HEADER, SMALL, call, plain_json, without_reading

import manyhands as mh

CONSENSUS = ["item", "label", "confidence", "agreement", "n_annotations"]
PEOPLE = ["annotator", "quality", "quality_low", "quality_high", "n_annotations"]


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(SMALL)
    return path


@pytest.fixture(params=["majority", "dawid-skene", "one-coin", "glad", "worker-clustering"])
def method(request):
    return request.param


def test_standard_output_is_a_table_and_nothing_else(labels, method):
    for words in ([], ["--out", "-"]):
        outcome = call("aggregate", labels, "--method", method, *words)
        assert outcome.code == 0
        table = pd.read_csv(io.StringIO(outcome.out))
        columns = list(table.columns)
        assert columns[:5] == CONSENSUS
        assert columns[5:7] == ["p_x", "p_y"]
        assert columns[7] == "tied"
        assert table["item"].tolist() == ["a", "b", "c"]
        assert table["n_annotations"].tolist() == [2, 3, 1]
        assert table["label"].tolist() == ["x" if p >= 0.5 else "y" for p in table["p_x"]]
        assert np.allclose(table[["p_x", "p_y"]].sum(axis=1), 1)
        assert table["tied"].dtype == bool
        assert method in outcome.err


def test_tables_on_disk_are_those_of_the_library(labels, tmp_path, method):
    for suffix, read in [
        ("csv", pd.read_csv),
        ("tsv", lambda path: pd.read_csv(path, sep="\t")),
        ("parquet", pd.read_parquet),
        ("jsonl", lambda path: pd.read_json(path, lines=True)),
    ]:
        out, people = tmp_path / f"out.{suffix}", tmp_path / f"people.{suffix}"
        words = ["--method", method, "--out", out, "--annotators", people]
        assert call("aggregate", labels, *words).code == 0
        wanted = mh.aggregate(mh.read_annotations(labels), method)
        pd.testing.assert_frame_equal(read(out), wanted.to_frame(), check_dtype=False)
        found = read(people)
        assert list(found.columns[:5]) == PEOPLE
        assert found["annotator"].tolist() == ["u", "v", "w"]
        pd.testing.assert_frame_equal(found, wanted.annotators_frame(), check_dtype=False)


@pytest.mark.parametrize("method", ["gaussian", "mean", "median"])
def test_numbers_have_a_table_without_classes(method, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(HEADER + "a,u,1.5\na,v,2.5\nb,u,0.5\nb,v,0.75\n")
    table = pd.read_csv(io.StringIO(call("aggregate", path, "--method", method).out))
    assert list(table.columns[:5]) == CONSENSUS
    assert not [name for name in table.columns if name.startswith("p_")]
    assert table["label"].between(0.5, 2.5).all()


def test_the_method_follows_from_the_labels(labels, tmp_path):
    told = call("aggregate", labels).err.splitlines()
    assert told[0] == "items: item, annotators: annotator, labels: label; 6 labels of 3 items"
    assert told[1].startswith("annotator-types: ")
    numbers = tmp_path / "numbers.csv"
    numbers.write_text(HEADER + "a,u,1.5\na,v,2.5\n")
    assert without_reading(call("aggregate", numbers).err).startswith("gaussian: ")


@pytest.mark.parametrize("written", ["1\n2\n", "1.0\n2.0\n"])
def test_whole_numbers_may_be_asked_for_a_mean(written, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(HEADER + "".join(f"a,{u},{one}\n" for u, one in enumerate(written.split())))
    table = pd.read_csv(io.StringIO(call("aggregate", path, "--method", "mean").out))
    assert table["label"].tolist() == [1.5]


def test_names_are_written_as_they_were_read(tmp_path):
    names = ["007", "a,b", 'q"q', "new\nline", "🙂", " lead"]
    path, out = tmp_path / "labels.jsonl", tmp_path / "out.csv"
    rows = [{"item": name, "annotator": f"{name}!", "label": f"{name}?"} for name in names]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    assert call("aggregate", path, "--out", out, "--annotators", tmp_path / "p.csv").code == 0
    table = pd.read_csv(out, dtype=str)
    assert sorted(table["item"]) == sorted(names)
    assert dict(zip(table["item"], table["label"], strict=True)) == {n: f"{n}?" for n in names}
    people = pd.read_csv(tmp_path / "p.csv", dtype={"annotator": str})
    assert sorted(people["annotator"]) == sorted(f"{name}!" for name in names)


def test_one_class_only_is_no_error_and_is_said(tmp_path):
    path = tmp_path / "labels.csv"
    for label in ("x", "1"):
        path.write_text(HEADER + f"a,u,{label}\nb,v,{label}\n")
        for name, method in mh.AGGREGATORS.items():
            if method.kind == "classes":
                outcome = call("aggregate", path, "--method", name)
                assert outcome.code == 0
                assert f"only one class, '{label}'" in outcome.err
                assert pd.read_csv(io.StringIO(outcome.out))["confidence"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEADER + "a,u,x\na,v,\nb,u,y\n", ["--missing", ""]),
        (HEADER + "a,u,x\na,v,NaN\nb,u,y\n", ["--missing", ""]),
        (HEADER + "a,u,x\na,v,NA\nb,u,y\n", ["--missing", "NA"]),
        (HEADER + "a,u,x\na,v,-\nb,u,y\nb,v,\n", ["--missing", "-", "--missing", ""]),
        ("task;who;what\n", None),
    ],
)
def test_labels_that_mean_nothing_are_dropped_when_told(content, words, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(content)
    if words is None:
        assert call("aggregate", path).code == 2
        return
    outcome = call("aggregate", path, *words, "--json")
    assert plain_json(outcome.out)["summary"]["labels"] == 2


def test_a_code_for_nothing_among_numbers_leaves_numbers(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(HEADER + "a,u,1\na,v,NA\nb,u,2\n")
    outcome = call("aggregate", path, "--missing", "NA", "--json")
    assert plain_json(outcome.out)["summary"]["classes"] == [1, 2]


def test_another_encoding_goes_for_the_truth_too(tmp_path):
    path, truth = tmp_path / "labels.csv", tmp_path / "truth.csv"
    path.write_bytes((HEADER + "é,u,ça\né,v,ça\nb,u,là\n").encode("latin-1"))
    truth.write_bytes("item,truth\né,ça\nb,là\n".encode("latin-1"))
    outcome = call("aggregate", path, "--encoding", "latin-1", "--truth", truth, "--json")
    assert plain_json(outcome.out)["scores"]["accuracy"] == 1.0


def test_columns_are_given_by_name(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("a,b,c\nx,i,u\nx,i,v\ny,j,u\n")
    outcome = call("aggregate", path, "--item", "b", "--annotator", "c", "--label", "a")
    assert pd.read_csv(io.StringIO(outcome.out))["item"].tolist() == ["i", "j"]


@pytest.mark.parametrize(
    ("policy", "labels"), [("keep", 3), ("first", 2), ("last", 2), ("refuse", None)]
)
def test_repeats_follow_the_policy(policy, labels, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(HEADER + "a,u,x\na,u,y\nb,u,x\n")
    outcome = call("aggregate", path, "--duplicates", policy, "--method", "majority", "--json")
    if labels is None:
        assert outcome.code == 2
        assert "annotator 'u' labelled item 'a' more than once" in outcome.err
        return
    assert plain_json(outcome.out)["summary"]["labels"] == labels


def test_truth_may_cover_part_of_the_items_and_only_scores(labels, tmp_path):
    truth = tmp_path / "truth.csv"
    truth.write_text("item,truth\nb,y\nzz,x\n")
    scored = plain_json(call("aggregate", labels, "--truth", truth, "--json").out)
    assert scored["scores"]["n_items"] == 1
    assert scored["scores"]["accuracy"] == 1.0
    assert scored["consensus"] == plain_json(call("aggregate", labels, "--json").out)["consensus"]
    assert "accuracy 1" in call("aggregate", labels, "--truth", truth).err


def test_whole_numbers_written_with_a_point_meet_the_truth_written_without(tmp_path):
    path, truth = tmp_path / "labels.csv", tmp_path / "truth.csv"
    for point, other in ((".0", ""), ("", ".0"), (".0", ".0")):
        path.write_text(HEADER + f"a,u,1{point}\na,v,1{point}\nb,u,2{point}\nb,v,\n")
        truth.write_text(f"item,truth\na,1{other}\nb,2{other}\n")
        outcome = call("aggregate", path, "--missing", "", "--truth", truth, "--json")
        assert plain_json(outcome.out)["scores"]["accuracy"] == 1.0


def test_known_truths_are_held_for_certain(labels, tmp_path):
    known = tmp_path / "known.csv"
    known.write_text("item,truth\nb,x\n")
    outcome = call("aggregate", labels, "--known", known)
    table = pd.read_csv(io.StringIO(outcome.out)).set_index("item")
    assert table.loc["b", "label"] == "x"
    assert table.loc["b", "p_x"] == 1.0


def test_classes_that_nobody_said_have_a_column(labels):
    table = pd.read_csv(io.StringIO(call("aggregate", labels, "--classes", "z, y,x").out))
    assert list(table.columns[5:8]) == ["p_z", "p_y", "p_x"]


def test_other_layouts_are_read(tmp_path):
    (tmp_path / "m.txt").write_text("0 0 -1\n1 1 1\n")
    (tmp_path / "w.csv").write_text("name,u,v,w\ni,0,0,\nj,1,1,1\n")
    (tmp_path / "d.json").write_text('{"i": {"u": 0, "v": 0}, "j": {"u": 1, "v": 1, "w": 1}}')
    for words in (["m.txt"], ["w.csv", "--layout", "wide"], ["d.json"]):
        outcome = call("aggregate", tmp_path / words[0], *words[1:], "--method", "majority")
        table = pd.read_csv(io.StringIO(outcome.out))
        assert table["label"].tolist() == [0, 1]
        assert table["n_annotations"].tolist() == [2, 3]


def test_json_is_one_object_without_nan(tmp_path, labels):
    unlabelled = tmp_path / "d.json"
    unlabelled.write_text('{"i": {"u": "x", "v": "x"}, "nobody": {}, "j": {"u": "y"}}')
    content = plain_json(call("aggregate", unlabelled, "--json").out)
    assert [row["item"] for row in content["consensus"]] == ["i", "nobody", "j"]
    assert content["consensus"][1]["agreement"] is None
    outcome = call("aggregate", labels, "--json", "--out", tmp_path / "out.csv")
    assert set(plain_json(outcome.out)) == {"source", "summary", "scores"}
    assert (tmp_path / "out.csv").exists()
    numbers = tmp_path / "n.csv"
    numbers.write_text(HEADER + "a,u,1.5\nb,u,2.5\n")
    (tmp_path / "t.csv").write_text("item,truth\na,1e999\n")
    outcome = call("aggregate", numbers, "--truth", tmp_path / "t.csv", "--json")
    assert outcome.code == 2 or plain_json(outcome.out)["scores"]["mae"] is None


def test_an_item_with_ten_thousand_labels(tmp_path):
    path = tmp_path / "labels.csv"
    rng = np.random.default_rng(0)
    said = np.where(rng.random(10_000) < 0.7, "x", "y")
    rows = [f"popular,w{n},{one}" for n, one in enumerate(said)]
    path.write_text(HEADER + "\n".join([*rows, "other,w1,y", "other,w2,y"]) + "\n")
    table = pd.read_csv(io.StringIO(call("aggregate", path).out)).set_index("item")
    assert table.loc["popular", "n_annotations"] == 10_000
    assert table.loc["popular", "label"] == "x"


# -- compare


def test_methods_are_ranked_by_truth_or_by_held_out_labels(tmp_path):
    call("simulate", "spammers", "--out", tmp_path, "--items", 200, "--annotators", 20)
    words = [tmp_path / "labels.csv", "--methods", "majority, dawid-skene,one-coin"]
    scored = plain_json(call("compare", *words, "--truth", tmp_path / "truth.csv", "--json").out)
    accuracy = [row["accuracy"] for row in scored["methods"]]
    assert accuracy == sorted(accuracy, reverse=True)
    assert scored["ranked_by"].startswith("accuracy")
    blind = plain_json(call("compare", *words, "--json").out)
    held_out = [row["validation"] for row in blind["methods"]]
    assert held_out == sorted(held_out, reverse=True)
    assert {row["method"] for row in blind["methods"]} == {"majority", "dawid-skene", "one-coin"}


def test_a_comparison_can_be_written_and_shown(tmp_path):
    (tmp_path / "labels.csv").write_text(SMALL)
    out = tmp_path / "out.csv"
    assert call("compare", tmp_path / "labels.csv", "--out", out).code == 0
    methods = {name for name, method in mh.AGGREGATORS.items() if method.kind == "classes"}
    assert set(pd.read_csv(out)["method"]) == methods
    shown = call("compare", tmp_path / "labels.csv").out
    assert all(name in shown for name in methods)


def test_a_comparison_where_no_label_can_be_spared_has_no_nan(tmp_path):
    (tmp_path / "labels.csv").write_text(HEADER + "a,u,x\nb,u,y\n")
    rows = plain_json(call("compare", tmp_path / "labels.csv", "--json").out)["methods"]
    assert {row["validation"] for row in rows} == {None}


def test_truths_that_meet_nothing_are_told(labels, tmp_path):
    truth = tmp_path / "truth.csv"
    truth.write_text("item,truth\na,x\nb,z\nq,x\n")
    outcome = call("aggregate", labels, "--truth", truth, "--out", tmp_path / "out.csv")
    assert "note: 1 of 3 items of the truth table have no labels and are not scored" in outcome.out
    assert "the truth of 1 of 2 items is a class that nobody said (z)" in outcome.out
    words = ["--truth", truth, "--out", tmp_path / "out.csv", "--json"]
    assert len(plain_json(call("aggregate", labels, *words).out)["score_notes"]) == 2
    truth.write_text("item,truth\na,x\nb,y\n")
    assert "score_notes" not in plain_json(call("aggregate", labels, *words).out)


def test_truths_may_be_one_per_line_of_a_matrix(tmp_path):
    matrix, truth = tmp_path / "answers.txt", tmp_path / "truth.txt"
    matrix.write_text("1 1 -1\n0 0 1\n1 -1 0\n")
    truth.write_text("1\n0\n0\n")
    words = ["aggregate", matrix, "--out", tmp_path / "out.csv", "--json", "--truth"]
    assert plain_json(call(*words, truth).out)["scores"]["n_items"] == 3
    truth.write_text("1\n0\n")
    outcome = call(*words, truth)
    assert outcome.code == 2
    assert "truth.txt: 2 truths in a list, and there are 3 items" in outcome.err
