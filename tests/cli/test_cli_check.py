"""The command that looks for faults."""

import json

import pytest

from manyhands.cli import app
from manyhands.simulation import SCENARIOS, CrowdSettings, write_labels_and_truth


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process: exit code, standard output, standard error."""

    def run_command(*words):
        monkeypatch.setattr("sys.argv", ["manyhands", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            app.main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return run_command


@pytest.fixture
def clean(tmp_path):
    crowd = SCENARIOS["symmetric"](CrowdSettings(n_items=400, n_annotators=20, lowest=0.7))
    return write_labels_and_truth(crowd, tmp_path / "clean")[0]


def test_clean_labels_are_called_clean(run, clean):
    code, out, err = run("check", clean, "--strict")
    assert code == 0
    assert "nothing wrong was found" in out
    assert err == ""


def test_findings_say_how_bad_where_and_what_to_do(run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n1,u,cat\n1,v,\n2,u,dog\n2,u,cat\n")
    code, out, _ = run("check", path)
    assert code == 0
    assert "ERROR   blank-label" in out
    assert "where: line 3" in out
    assert "WARNING repeated-pair" in out
    assert out.count("do: ") == out.count("where: ")
    assert run("check", path, "--strict")[0] == 1


def test_words_among_numbers_are_a_finding_not_a_failure(run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n1,u,3\n1,v,unsure\n2,u,4\n")
    code, out, _ = run("check", path, "--json")
    assert code == 0
    found = json.loads(out)["findings"]
    assert found[0]["check"] == "mixed-labels"
    assert found[0]["rows"] == [2]


def test_a_file_that_cannot_be_read_is_a_wrong_request(run, tmp_path):
    code, out, err = run("check", tmp_path / "nothing.csv")
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
