"""The command that looks for faults."""

import json

import pytest

from manyhands.cli import app
from manyhands.simulation import (
    SCENARIOS,
    CrowdSettings,
    SharedMistakeSettings,
    write_labels_and_truth,
)


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


@pytest.fixture
def shared(tmp_path):
    """Labels of a crowd that shares mistakes on three of ten items, and the features."""
    settings = SharedMistakeSettings(n_items=400, n_annotators=20, share=0.3, following=0.7, seed=1)
    crowd = SCENARIOS["shared-mistakes"](settings)
    labels = write_labels_and_truth(crowd, tmp_path / "shared")[0]
    rows = [",".join(map(str, [i, *row])) for i, row in enumerate(crowd.features.tolist())]
    head = ",".join(["item", *(f"x{j}" for j in range(crowd.features.shape[1]))])
    features = tmp_path / "features.csv"
    features.write_text("\n".join([head, *rows]) + "\n")
    return labels, features


def test_features_show_the_mistakes_that_annotators_share(run, shared):
    labels, features = shared
    assert "shared-mistakes" not in run("check", labels)[1]
    code, out, _ = run("check", labels, "--features", features)
    assert code == 0
    assert "WARNING shared-mistakes" in out
    assert "find the truth of" in out
    assert run("check", labels, "--features", features, "--strict")[0] == 1
    found = json.loads(run("check", labels, "--features", features, "--json")[1])
    assert [each["check"] for each in found["findings"]] == ["shared-mistakes"]


def test_features_are_for_classes_of_items(run, tmp_path, shared):
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("item,annotator,label\n0,u,3.5\n1,v,2.25\n1,u,4.5\n")
    code, _, err = run("check", numbers, "--features", shared[1])
    assert code == 2
    assert "single classes" in err
    tagged = tmp_path / "tags.conll"
    tagged.write_text("Anna B-PER O\nsings O O\n\n")
    code, _, err = run("check", tagged, "--features", shared[1])
    assert code == 2
    assert "--features is for classes of items" in err
