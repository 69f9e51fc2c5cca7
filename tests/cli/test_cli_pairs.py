"""Commands rank comparisons, check them, and refuse them where they cannot be used."""

import json

import pandas as pd
import pytest
from command_line import call

import manyhands as mh


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("pairs")
    done = call("simulate", "preferences", "--out", str(home / "crowd"), "--items", "15",
                "--annotators", "6", "--set", "n_pairs=150")  # fmt: skip
    assert done.code == 0, done.err
    return home / "crowd"


def test_aggregate_writes_the_ranking_and_annotators(folder, tmp_path):
    out, people = tmp_path / "ranking.csv", tmp_path / "people.csv"
    done = call("aggregate", str(folder / "pairs.csv"), "--out", str(out), "--annotators",
                str(people), "--truth", str(folder / "truth.csv"))  # fmt: skip
    assert done.code == 0, done.err
    assert "crowd-bt: 450 comparisons of 15 items by 6 annotators" in done.out
    assert "rank correlation" in done.out
    table = pd.read_csv(out)
    assert table.columns.tolist()[:7] == [
        "item", "rank", "rank_low", "rank_high", "score", "score_low", "score_high",
    ]  # fmt: skip
    assert table["rank"].is_monotonic_increasing
    expected = mh.aggregate(mh.read(folder / "pairs.csv")).to_frame()
    assert table["item"].tolist() == expected["item"].tolist()
    assert pd.read_csv(people).columns.tolist()[:4] == [
        "annotator", "quality", "quality_low", "quality_high",
    ]  # fmt: skip


def test_settings_and_json(folder):
    done = call("aggregate", str(folder / "pairs.csv"), "--method", "bradley-terry", "--set",
                "ties=half", "--set", "prior_scale=inf", "--json")  # fmt: skip
    assert done.code == 0, done.err
    content = json.loads(done.out)
    assert content["summary"]["method"] == "bradley-terry"
    assert content["source"]["layout"] == "pairs"
    assert len(content["ranking"]) == 15


def test_columns_and_words_are_options(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("one_joke,joke,who,said\na,b,u,0\nb,c,v,1\nb,a,v,X\n")
    done = call("aggregate", str(path), "--kind", "pairs", "--left", "one_joke", "--right", "joke",
                "--annotator", "who", "--winner", "said", "--outcome", "0=left", "--outcome",
                "1=right", "--outcome", "X=tie")  # fmt: skip
    assert done.code == 0, done.err
    assert "3 comparisons of 3 items, 1 tie" in done.err


def test_agree_check_compare_and_report(folder, tmp_path):
    pairs = str(folder / "pairs.csv")
    done = call("agree", pairs)
    assert done.code == 0, done.err
    assert "Krippendorff's alpha (pairs)" in done.out
    done = call("check", pairs)
    assert done.code == 0, done.err
    assert "450 rows, 15 items, 6 annotators" in done.out
    done = call("compare", pairs, "--json")
    assert done.code == 0, done.err
    assert {row["method"] for row in json.loads(done.out)["methods"]} == set(mh.PAIR_AGGREGATORS)
    done = call("compare", pairs, "--truth", str(folder / "truth.csv"))
    assert "ranked by rank correlation" in done.err
    done = call("report", pairs, "--out", str(tmp_path / "page.html"), "--anonymous")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text()
    assert "<h1>" in page
    assert "<script" not in page
    assert "item 1" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["aggregate", "--method", "dawid-skene"], "no aggregator of comparisons 'dawid-skene'"),
        (["aggregate", "--known", "{truth}"], "--known is not for comparisons of two items"),
        (["aggregate", "--engine", "stream"], "--engine stream is for labels of items"),
        (["agree", "--level", "ordinal"], "--level is not for comparisons of two items"),
        (["compare", "--select"], "--select is not for comparisons of two items"),
        (["aggregate", "--outcome", "left"], "--outcome must be WORD=SIDE"),
        (["aggregate", "--set", "tie=half"], "no setting 'tie'; did you mean ties"),
        (["next", "--features", "f.csv"], "--features is not for comparisons of two items"),
        (["next", "--method", "probing"], "--method must be one of information, random"),
    ],
)
def test_what_comparisons_cannot_do_is_one_line(folder, words, message):
    command, *options = words
    options = [each.format(truth=folder / "truth.csv") for each in options]
    done = call(command, str(folder / "pairs.csv"), *options)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_labels_of_items_are_no_comparisons(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\na,u,x\na,v,y\n")
    done = call("aggregate", str(path), "--method", "crowd-bt")
    assert done.code == 2
    assert "--method crowd-bt ranks comparisons of two items" in done.err
    done = call("aggregate", str(path), "--left", "a")
    assert "--left is for comparisons of two items" in done.err
    done = call("aggregate", str(path), "--kind", "pairs")
    assert "no columns look like the two items" in done.err


def test_train_and_predict(folder, tmp_path):
    features, model = str(folder / "features.csv"), str(tmp_path / "model")
    truth, people = str(folder / "truth.csv"), str(tmp_path / "a.csv")
    done = call("train", features, str(folder / "pairs.csv"), "--out", model, "--epochs", "8",
                "--truth", truth, "--annotators", people)  # fmt: skip
    assert done.code == 0, done.err
    assert "crowd-layer-mw: 450 comparisons of 15 items by 6 annotators" in done.out
    assert "p_left" in pd.read_csv(tmp_path / "a.csv").columns
    out = tmp_path / "scores.csv"
    done = call("predict", model, str(folder / "test_features.csv"), "--out", str(out), "--truth",
                str(folder / "test_truth.csv"))  # fmt: skip
    assert done.code == 0, done.err
    assert "rank correlation" in done.err
    table = pd.read_csv(out)
    assert table.columns.tolist() == ["item", "score"]
    assert len(table) == 100
    done = call("predict", model, features, "--labels", str(folder / "pairs.csv"))
    assert done.code == 2
    assert "--labels is not for a model that scores items" in done.err
