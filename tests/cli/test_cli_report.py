"""manyhands report writes one page, and says in words what is on it."""

import json
import re
import shlex

import numpy as np
import pytest
from command_line import SMALL, assert_refused, call

import manyhands as mh
from manyhands.report import page as pages
from manyhands.simulation import SCENARIOS, PlantedSettings, write_crowd


@pytest.fixture(scope="module", autouse=True)
def _small_library():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "chart_library", lambda: "window.drawChart = async () => {};")
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    settings = PlantedSettings(n_annotators=40, n_items=600, share=0.4, seed=5)
    home = tmp_path_factory.mktemp("crowd")
    write_crowd(SCENARIOS["planted"](settings), home, "planted", settings)
    return home


def test_a_report_of_a_table(folder, tmp_path):
    out = tmp_path / "report.html"
    words = ["report", folder / "labels.csv", "--truth", folder / "truth.csv", "--out", out]
    outcome = call(*words)
    assert outcome.code == 0, outcome
    assert "Whom to trust:" in outcome.out
    assert f"report in {out}" in outcome.out
    text = out.read_text()
    assert "<h1>Report on labels.csv</h1>" in text
    assert "Against the truth" in text


def test_json_tells_what_the_page_does(folder, tmp_path):
    out = tmp_path / "report.html"
    found = json.loads(call("report", folder / "labels.csv", "--out", out, "--json").out)
    assert found["bytes"] == out.stat().st_size
    assert found["annotators"] == 40
    assert found["flags"]["4"] == ["constant"]
    assert found["summary"]["next"][0].startswith("Remove")


def test_standard_output_gets_the_page(folder):
    outcome = call("report", folder / "labels.csv", "--out", "-")
    assert outcome.out.startswith("<!doctype html>")
    assert "Whom to trust:" in outcome.err


def test_the_command_that_it_suggests_reads_the_labels_in_the_same_way(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [f"{i},{a},{rng.integers(3) or '?'}" for i in range(60) for a in range(4)]
    (tmp_path / "my labels.csv").write_text("photo,who,said\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    given = ["--item", "photo", "--annotator", "who", "--label", "said", "--missing", "?"]
    shown = call("report", "my labels.csv", *given, "--kind", "classes").out
    command = re.search("To write the whole list to relabel.csv: manyhands (.*)", shown)[1]
    words = ["my labels.csv", *given[:6], "--kind", "classes", *given[6:]]
    out = ["--out", "consensus.csv", "--relabel", "relabel.csv"]
    assert shlex.split(command) == ["aggregate", *words, *out]
    assert call(*shlex.split(command)).code == 0
    assert (tmp_path / "relabel.csv").exists()


def test_anonymous_names_neither_people_nor_files(tmp_path):
    (tmp_path / "secret.csv").write_text(
        "item,annotator,label\n" + "".join(f"secret-{n % 9},secret-{n % 4},x{n % 2}\n"
                                           for n in range(36))
    )  # fmt: skip
    out = tmp_path / "report.html"
    assert call("report", tmp_path / "secret.csv", "--anonymous", "--out", out).code == 0
    assert "secret" not in out.read_text()


def test_tokens_and_numbers(tmp_path):
    data = mh.datasets.load_sentences_demo(0)
    mh.io.write_conll(data.labels, tmp_path / "tokens.conll")
    mh.io.write_bio(data.truth, tmp_path / "gold.bio")
    out = tmp_path / "report.html"
    outcome = call(
        "report", tmp_path / "tokens.conll", "--truth", tmp_path / "gold.bio", "--out", out
    )
    assert outcome.code == 0, outcome
    assert "Span F1" in out.read_text()
    rows = "".join(f"{n // 3},{n % 3},{n % 7}.5\n" for n in range(30))
    (tmp_path / "ratings.csv").write_text("item,annotator,label\n" + rows)
    outcome = call("report", tmp_path / "ratings.csv", "--out", out)
    assert "labels are numbers" in outcome.out


def test_a_tool_export_in_one_command(tmp_path):
    tasks = [
        {"id": n, "data": {"text": f"sentence <b>{n}</b>"},
         "annotations": [
             {"id": 10 * n + who, "completed_by": who,
              "result": [{"type": "choices", "from_name": "mood", "to_name": "text",
                          "value": {"choices": ["good" if (n + who) % 3 else "bad"]}}]}
             for who in (1, 2, 3)]}
        for n in range(1, 13)
    ]  # fmt: skip
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    out = tmp_path / "report.html"
    outcome = call("report", tmp_path / "export.json", "--out", out)
    assert outcome.code == 0, outcome
    assert re.search("sentence &lt;b&gt;\\d+&lt;/b&gt;", out.read_text())


@pytest.mark.slow
def test_a_network_beside_the_consensus(folder, tmp_path):
    rng = np.random.default_rng(0)
    columns = {"item": np.arange(600), "x": rng.normal(size=600), "y": rng.normal(size=600)}
    mh.io.write_table(columns, tmp_path / "features.csv")
    out = tmp_path / "report.html"
    outcome = call(
        "report", folder / "labels.csv", "--features", tmp_path / "features.csv", "--out", out
    )
    assert outcome.code == 0, outcome
    assert "s view</h2>" in out.read_text()


def test_wrong_requests_are_refused(folder, tmp_path):
    labels = folder / "labels.csv"
    assert_refused(call("report", labels, "--out", tmp_path / "report.pdf"))
    assert_refused(call("report", labels, "--out", tmp_path / "none" / "report.html"))
    assert_refused(call("report", labels, "--method", "no-such"))
    (tmp_path / "same.html").write_text(SMALL)
    assert_refused(call("report", tmp_path / "same.html", "--format", "csv", "--out",
                        tmp_path / "same.html"))  # fmt: skip
