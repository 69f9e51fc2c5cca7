"""The content of a report: plain values that say what is in the labels."""

import json

import numpy as np
import pytest
from hostile_names import LONG, hostile_labels

import manyhands as mh
from manyhands.report import NetworkView, profile_annotators, report_content
from manyhands.report.charts import charts
from manyhands.simulation import SCENARIOS, PlantedSettings


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["planted"](PlantedSettings(n_annotators=40, n_items=600, share=0.4, seed=5))


@pytest.fixture(scope="module")
def consensus(crowd):
    return mh.aggregate(crowd.annotations)


@pytest.fixture(scope="module")
def content(crowd, consensus):
    return report_content(consensus, truth=crowd.truth_by_item, file="labels.csv")


def test_content_is_plain_json(content):
    assert json.loads(json.dumps(content, allow_nan=False)) == content


def test_the_summary_names_whom_to_leave_out_and_what_to_relabel(crowd, content):
    left_out = " ".join(line for line in content["summary"]["next"] if "Remove" in line)
    acted = {row["names"][0]: row for row in content["actions"]["annotators"]["rows"]}
    for a in np.flatnonzero(np.isin(crowd.behaviour, ["random", "constant", "adversary"])):
        assert str(a) in left_out.replace(",", " ").replace(".", " ").split()
        assert acted[str(a)]["action"] == "remove"
        assert acted[str(a)]["evidence"]
    relabel = content["items"]["relabel"]
    assert any(f"Relabel {relabel['n']} items" in line for line in content["summary"]["next"])
    assert "600 items by 40 annotators" in content["summary"]["have"][0]
    assert content["summary"]["agree"][0].startswith("Krippendorff's alpha")


def test_counts_of_the_page_are_those_of_the_labels(crowd, content):
    ann = crowd.annotations
    assert sum(row["labels"] for row in content["classes"]) == ann.n_annotations
    assert sum(row["labels"] for row in content["annotators"]["rows"]) == ann.n_annotations
    assert np.sum(content["confusions"]["crowd"]) == ann.n_annotations
    own = content["confusions"]["annotators"]
    assert sum(sum(cells[1::2]) for cells in own.values()) == ann.n_annotations
    assert max(max(cells[::2]) for cells in own.values()) < ann.n_classes**2
    assert sum(row["items"] for row in content["confidence"]) == ann.n_items
    assert sum(row["items"] for row in content["scores"]["calibration"]) == ann.n_items


def test_agreement_by_class_is_that_of_the_table(crowd, consensus, content):
    frame = mh.agreement.by_annotator_and_class(crowd.annotations)
    own = content["confusions"]["agreement"]
    for a, rows in frame.groupby("annotator"):
        found = np.reshape(own[str(a)], (-1, 3))
        np.testing.assert_array_equal(found[:, 1], rows["n_shared"])
        np.testing.assert_allclose(found[:, 2], rows["agreement"], atol=5.1e-4)
    profiles = profile_annotators(consensus).columns()
    enough = frame[frame["n_shared"] >= 5].groupby("annotator")["agreement"]
    several = enough.size()[enough.size() > 1].index
    np.testing.assert_allclose(profiles["lowest_agreement"][several], enough.min()[several])
    shown = {row["code"]: row["lowest"] for row in content["annotators"]["rows"]}
    assert all((shown[a] is not None) == (a in several) for a in range(40))


def test_an_annotator_who_does_not_know_a_class_is_told_by_this_class():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 300)
    label = np.where(rng.random((300, 5)) < 0.95, truth[:, None], rng.integers(0, 3, (300, 5)))
    said = np.array(["cat", "dog", "fox"], dtype=object)[label]
    fooled = (truth == 2) & (rng.random(300) < 0.5)
    said[fooled, 0] = "dog"
    frame = profile_annotators(mh.aggregate(mh.Annotations.from_dense(said))).to_frame()
    assert frame["lowest_class"][0] == "dog"
    assert frame["lowest_agreement"][0] < 0.75 < frame["lowest_agreement"][1:].min()


def test_a_class_without_an_interval_has_no_bar():
    """All agree about the class "b": there is nothing to draw, and the tip says none."""
    rows = [["a", "a"], ["a", "c"], ["b", "b"], ["b", "b"], ["c", "a"]]
    chart = charts(report_content(mh.aggregate(rows, "majority")))["agreement"]
    told = {row["class"]: (row["low"], row["interval"]) for row in chart["data"]["values"]}
    assert told["b"] == (None, "none")
    assert told["a"][1] == f"{told['a'][0]:.1%} to 100.0%"
    assert chart["layer"][0]["transform"] == [{"filter": "isValid(datum.low)"}]


def test_items_to_relabel_are_the_least_confident_without_those_to_leave_out(consensus, content):
    rows = content["items"]["relabel"]["rows"]
    confidence = [row["confidence"] for row in rows]
    assert confidence == sorted(confidence)
    profiles = profile_annotators(consensus)
    gone = consensus.annotations.annotators[profiles.left_out]
    rest = mh.aggregate(consensus.annotations.without_annotators(gone))
    assert content["items"]["relabel"]["n"] == int((rest.confidence < 0.7).sum())
    assert rows[0]["confidence"] == pytest.approx(rest.confidence.min(), abs=1e-3)
    assert sum(len(each["annotators"]) for each in rows[0]["labels"]) == rows[0]["n_labels"]


def test_the_first_items_to_relabel_have_their_reasons():
    """Two agree and one always says the same; item 0 has the labels of that one and another."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 120)
    label = np.stack([truth, truth, truth, np.zeros(120, int)], axis=1)
    label[0], label[1] = [1, -1, -1, 0], [-1, -1, -1, 0]
    found = report_content(mh.aggregate(mh.Annotations.from_dense(label)))
    why = {row["item"]: row["why"] for row in found["actions"]["items"]}
    assert set(why) <= {"0", "1"}
    assert why["1"] == "no label is left; not counted: one label of an annotator to remove"
    told = " ".join(found["summary"]["next"])
    assert f"Begin with {next(iter(why))}" in told
    assert "; the reasons are under “Which items to relabel first”." in told


def test_hard_items_do_not_count_those_who_cannot_be_trusted():
    """All who can be trusted agree about item 0, so that only others contest it."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    label = np.tile(truth[:, None], (1, 6))
    label[:, 4:] = rng.integers(0, 3, (200, 2))  # two annotators at random
    label[1, :2] = (truth[1] + 1) % 3
    found = report_content(mh.aggregate(mh.Annotations.from_dense(label)))
    assert [row["item"] for row in found["items"]["hard"]["rows"]] == ["1"]
    assert found["items"]["contested"]["n"] > 50


def test_profiles_tell_the_typical_mistake_and_the_bias():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 300)
    names = np.array(["cat", "dog", "cow"])
    label = np.tile(truth[:, None], (1, 4))
    label[:, 0] = np.where((truth == 0) & (rng.random(300) < 0.5), 1, truth)  # dog for cat
    consensus = mh.aggregate(mh.Annotations.from_dense(names[label]))
    profiles = profile_annotators(consensus)
    assert profiles.mistakes[0].startswith("“dog” for “cat”, ")
    assert profiles.mistakes[1:] == ["", "", ""]
    assert profiles.biases[0].startswith("says “dog”")
    frame = profiles.to_frame()
    assert frame["annotator"].tolist() == [0, 1, 2, 3]
    assert list(frame)[:5] == [
        "annotator", "quality", "quality_low", "quality_high", "n_annotations",
    ]  # fmt: skip
    assert frame["flags"].tolist() == [""] * 4


def test_anonymous_content_has_no_name_of_the_data():
    ann = mh.Annotations.from_arrays(
        [f"secret-item-{i}" for i in range(40) for _ in range(3)],
        ["secret-ann", "secret-bob", "secret-cy"] * 40,
        ["cat", "dog", "cat"] * 20 + ["dog", "dog", "cat"] * 20,
    )
    text = json.dumps(report_content(mh.aggregate(ann), anonymous=True, file="secret.csv"))
    assert "secret" not in text
    assert "annotator 2" in text
    assert "item 7" in text
    assert "cat" in text


def test_content_of_numbers():
    rng = np.random.default_rng(0)
    truth = rng.normal(5, 2, 150)
    ann = mh.Annotations.from_dense(truth[:, None] + rng.normal(0, 0.5, (150, 5)))
    found = report_content(mh.aggregate(ann), truth=dict(enumerate(truth.tolist())))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert sum(row["labels"] for row in found["histogram"]) == 750
    assert found["confusions"] is None
    assert found["scores"]["scores"]["rmse"] < 0.5
    assert set(charts(found)) == {"labels", "annotators", "confidence", "errors"}


def test_names_are_short_wherever_they_stand():
    text = json.dumps(report_content(mh.aggregate(hostile_labels())), ensure_ascii=False)
    assert LONG[:500] not in text
    assert "\u202e" not in text
    assert len(text) < 400_000


def test_a_network_is_shown_where_it_differs(consensus):
    labels = consensus.labels.astype(object)
    labels[3] = (labels[3] + 1) % 4
    labels[7] = None  # not seen
    view = NetworkView(method="conal", labels=labels, confidence=np.full(len(labels), 0.9))
    found = report_content(consensus, network=view)["network"]
    assert (found["differ"], found["method"]) == (1, "conal")
    assert [row["item"] for row in found["rows"]] == ["3"]
    assert found["rows"][0]["network"] == str(labels[3])


@pytest.mark.parametrize("labels", [[["a"]], [["a", "b"]], [["a", "a"], ["a", "a"]]])
def test_tiny_tables_have_a_report(labels):
    found = report_content(mh.aggregate(mh.Annotations.from_dense(labels)))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_charts_are_of_the_content_alone(content):
    made = charts(content)
    assert set(made) == {"labels", "agreement", "annotators", "confidence", "calibration"}
    for spec in made.values():
        assert spec["description"]
        assert "url" not in json.dumps(spec["data"])


def test_labels_that_nobody_confirms_are_not_called_enough():
    rows = {"item": list("abcd"), "annotator": list("uuvv"), "label": list("xyxy")}
    told = report_content(mh.aggregate(mh.Annotations.from_arrays(*rows.values())))["summary"]
    assert told["next"][0].startswith("Let two annotators or more label the same items: 4 items")
    assert told["agree"][0] == "Krippendorff's alpha (nominal): undefined."
    assert told["agree"][1].startswith("No item has labels of two annotators")
    assert told["trust"] == ["2 annotators gave too few labels to say."]
    assert not any(".." in line for part in told.values() for line in part)
