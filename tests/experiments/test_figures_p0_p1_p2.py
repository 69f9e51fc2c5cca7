"""Figures of P0 to P2 on tiny corpora of the same formats."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.integrate import trapezoid
from scipy.stats import gaussian_kde
from tiny_corpora import PEOPLE

from manyhands.annotations import Annotations
from manyhands.experiments import EXPERIMENTS, FILE, RecordStore, RunOptions, run_missing
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.drawing import correlation_of
from manyhands.experiments.figure import FigureExperiment
from manyhands.experiments.figures import p2
from manyhands.experiments.figures.confusions import most_active, weights_of
from manyhands.experiments.measures import accuracies_of_annotators, biases_of_annotators
from manyhands.noise import CrowdLayer
from manyhands.selection import Trial

pytestmark = pytest.mark.slow  # every figure is made of runs of its own

HERE = {
    "p0/figure-2": ["cifar10-cats-dogs"],
    "p0/figure-3": ["labelme"],
    "p0/figure-4": ["moviereviews"],
    "p1/figure-4": ["sentiment", "music"],
    "p1/figure-5": ["sentiment"],
    "p1/figure-6": ["music"],
    "p2/figure-2": ["cifar10", "labelme"],
}


@pytest.fixture(scope="module")
def drawn(data, tmp_path_factory):
    """Every figure as it was written: its folder, its rows and what was drawn of each panel."""
    folder = tmp_path_factory.mktemp("figures")
    store, options = RecordStore(folder / FILE), RunOptions(data=data, slow=True, protocol="ours")
    made = {}
    for name in HERE:
        experiment = EXPERIMENTS[name]
        assert isinstance(experiment, FigureExperiment)
        run_missing(experiment.runs(options), store, data)
        written = experiment.write(store, options, folder)
        contents = {run.panel.key: store.get(run.key)["content"] for run in
                    experiment.runs(options)}  # fmt: skip
        figure = experiment.draw(json.loads(json.dumps(contents)))
        made[name] = SimpleNamespace(written=written, contents=contents, figure=figure)
    return made


@pytest.mark.parametrize("name", list(HERE))
def test_every_figure_is_drawn_of_the_panels_there_are(drawn, name):
    written, contents = drawn[name].written, drawn[name].contents
    assert list(contents) == HERE[name]
    verdicts = {row["panel"]: row["verdict"] for row in written.rows}
    assert [panel for panel, verdict in verdicts.items() if verdict == "drawn"] == HERE[name]
    assert len(written.files) == 3
    for path in written.files:
        assert Path(path).read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", f"# {name[:3]}".encode())


def test_panels_without_data_are_left_out_and_named(drawn, data):
    verdicts = {row["panel"]: row["verdict"] for row in drawn["p2/figure-2"].written.rows}
    for name in ("pdis", "gimpel-pos"):
        assert verdicts[name].startswith("missing: ")
        assert verdicts[name].endswith("is not there")
    verdicts = {row["panel"]: row["verdict"] for row in drawn["p0/figure-2"].written.rows}
    assert verdicts["dogs-cats"].startswith("missing: ")
    assert (
        EXPERIMENTS["p1/figure-4"]
        .unavailable(RunOptions(data=None))[0]
        .startswith("sentiment: give")
    )


def test_one_panel_is_enough(drawn):
    for panel, content in drawn["p1/figure-4"].contents.items():
        left, right = EXPERIMENTS["p1/figure-4"].draw({panel: content}).axes
        for axes in (left, right):
            (tick,) = axes.get_xticklabels()
            assert tick.get_text() == f"{panel}\n{PEOPLE} annotators"
    for panel, content in drawn["p2/figure-2"].contents.items():
        assert panel in told(EXPERIMENTS["p2/figure-2"].draw({panel: content}))
    content = drawn["p0/figure-2"].contents["cifar10-cats-dogs"]
    figure = EXPERIMENTS["p0/figure-2"].draw({"cifar10-cats-dogs": content, "dogs-cats": content})
    assert len(figure.axes) == 4


def told(home):
    """All that is written in a figure or in axes."""
    words = [each.get_text() for each in home.findobj(lambda each: hasattr(each, "get_text"))]
    return "\n".join(words)


def test_correlations_printed_are_those_of_the_points(drawn):
    content = drawn["p0/figure-2"].contents["cifar10-cats-dogs"]
    for axes, rate in zip(
        drawn["p0/figure-2"].figure.axes, ("sensitivity", "specificity"), strict=True
    ):
        true, learnt = content[rate]["true"], content[rate]["learnt"]
        dots = [line.get_xydata()[0] for line in axes.lines if line.get_linestyle() == "None"]
        np.testing.assert_allclose(dots, np.column_stack([true, learnt]))
        assert f"r = {np.corrcoef(true, learnt)[0, 1]:.2f}" in told(axes)
    assert content["sensitivity"]["true"] == [0.6, 0.9, 0.5, 0.9, 0.9]
    assert content["specificity"]["true"] == [0.7, 0.8, 0.5, 0.2, 0.9]


def test_the_line_through_points_is_the_least_squares_one(drawn):
    axes = drawn["p0/figure-2"].figure.axes[0]
    pair = drawn["p0/figure-2"].contents["cifar10-cats-dogs"]["sensitivity"]
    (line,) = [line for line in axes.lines if line.get_linestyle() == "-"]
    slope, height = np.polyfit(pair["true"], pair["learnt"], 1)
    ends, heights = line.get_data()
    np.testing.assert_allclose(heights, height + slope * np.asarray(ends))


def test_without_spread_there_is_no_correlation():
    figure = EXPERIMENTS["p0/figure-4"].draw(
        {"moviereviews": {"true": [1.0, 1.0], "learnt": [0.1, 0.2]}}
    )
    assert "r undefined" in told(figure)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("p0/figure-3", ("true", "crowd-layer-mw weights")),
        ("p1/figure-5", ("true", "speelfc learnt", "crowd-layer-mw weights")),
        ("p1/figure-6", ("true", "speelfc learnt")),
    ],
)
def test_the_matrices_drawn_are_those_collected(drawn, name, kinds):
    (content,) = drawn[name].contents.values()
    collected = {"true": content["true"]}
    for what in ("learnt", "weights"):
        collected |= {f"{method} {what}": each for method, each in content[what].items()}
    wanted = [np.array(matrix) for kind in kinds for matrix in collected[kind]]
    shown = [axes.images[0] for axes in drawn[name].figure.axes if axes.images]
    assert len(shown) == 6 * len(kinds)
    for image, matrix_kl in zip(shown, wanted, strict=True):
        np.testing.assert_array_equal(image.get_array(), matrix_kl)


def test_confusions_are_of_those_with_the_most_labels(drawn, data):
    (content,) = drawn["p1/figure-6"].contents.values()
    trial = CorpusSource("music").load(data, 0).trial
    ann = trial.annotations
    said = {name: [] for name in ann.annotators}
    for i, a, label in zip(ann.item, ann.annotator, ann.label, strict=True):
        said[ann.annotators[a]].append((trial.truth[i], label))
    ranked = sorted(said, key=lambda name: -len(said[name]))[:6]
    assert content["annotators"] == [str(name) for name in ranked]
    assert content["n_labels"] == [len(said[name]) for name in ranked]
    for name, true_kl in zip(ranked, content["true"], strict=True):
        for k, row_l in enumerate(true_kl):
            labels = [label for truth, label in said[name] if truth == k]
            expected = np.bincount(labels, minlength=3) / max(len(labels), 1)
            np.testing.assert_allclose(row_l, expected, rtol=1e-4)


def test_the_most_active_come_first():
    ann = Annotations.from_arrays([0, 1, 2, 0, 1, 0], list("bbbcca"), [0, 1, 0, 1, 1, 0])
    assert ann.annotators[most_active(ann, 2)].tolist() == ["b", "c"]
    assert len(most_active(ann, 9)) == 3


def test_weights_have_true_classes_in_rows():
    layer = CrowdLayer(3, 4)
    torch.nn.init.normal_(layer.table.weight, generator=torch.Generator().manual_seed(0))
    weight_akl = weights_of(layer)
    surely_bk = torch.full((4, 4), -1e9).fill_diagonal_(0.0)
    for a in range(3):
        log_label_kl = layer(surely_bk, torch.arange(4), torch.full((4,), a)).detach()
        expected = torch.from_numpy(weight_akl[a]).log_softmax(dim=-1)
        np.testing.assert_allclose(log_label_kl, expected, atol=1e-5)


def test_negative_matrices_are_counted(drawn):
    (content,) = drawn["p1/figure-5"].contents.values()
    for n_negative in (0, 2, 6):
        weight_akl = np.full((6, 2, 2), 0.25)
        weight_akl[:n_negative, 0, 1] = -0.5
        given = {**content, "weights": {"crowd-layer-mw": weight_akl.tolist()}}
        words = told(EXPERIMENTS["p1/figure-5"].draw({"sentiment": given}))
        assert f"{n_negative} of 6 matrices" in words
        assert words.count("-0.50") == n_negative  # every number is printed


def test_the_difference_told_is_that_of_the_matrices(drawn):
    (content,) = drawn["p1/figure-6"].contents.values()
    off = np.abs(np.array(content["true"]) - np.array(content["learnt"]["speelfc"])).mean()
    assert f"SpeeLFC is {off:.2f} off" in told(drawn["p1/figure-6"].figure)


def test_boxes_are_those_of_the_annotators(drawn, data):
    left, right = drawn["p1/figure-4"].figure.axes
    for place, corpus in enumerate(("sentiment", "music"), 1):
        trial = CorpusSource(corpus).load(data, 0).trial
        ann = trial.annotations
        of_each = [ann.annotator == a for a in range(ann.n_annotators)]
        counts = [rows.sum() for rows in of_each]
        rates = [np.mean(trial.truth[ann.item[rows]] == ann.label[rows]) for rows in of_each]
        content = drawn["p1/figure-4"].contents[corpus]
        assert content["n_labels"] == counts
        np.testing.assert_allclose(content["accuracy"], rates, rtol=1e-4)
        for axes, values in ((left, counts), (right, rates)):
            flat = [line.get_ydata() for line in axes.lines if len(line.get_xdata()) == 2
                    and np.mean(line.get_xdata()) == pytest.approx(place)]  # fmt: skip
            middle = np.median(values)
            assert any(np.allclose(line, middle, rtol=1e-4) for line in flat)


def test_accuracies_leave_out_what_is_not_known():
    ann = Annotations.from_arrays([0, 1, 2, 0, 2], list("aaabc"), [0, 1, 1, 1, 1])
    trial = Trial(np.zeros((3, 1)), ann, np.array([0, 0, -1]))
    np.testing.assert_array_equal(accuracies_of_annotators(trial), [0.5, 0.0, np.nan])


def test_biases_are_label_minus_truth():
    ann = Annotations.from_arrays([0, 1, 0, 1], list("aabb"), [0.5, 0.7, 0.1, 0.4], kind="numbers")
    trial = Trial(np.zeros((2, 1)), ann, np.array([0.3, 0.3]))
    np.testing.assert_allclose(biases_of_annotators(trial), [0.3, -0.05])


def test_learnt_biases_are_those_of_the_people(drawn):
    content = drawn["p0/figure-4"].contents["moviereviews"]
    assert len(content["true"]) == len(content["learnt"]) == PEOPLE
    assert np.corrcoef(content["true"], content["learnt"])[0, 1] > 0.9


def test_learnt_biases_against_true_ones():
    rng = np.random.default_rng(0)
    true = rng.normal(size=30)
    learnt = 0.8 * true + 0.3 * rng.normal(size=30)
    content = {"true": true.tolist(), "learnt": learnt.tolist()}
    figure = EXPERIMENTS["p0/figure-4"].draw({"moviereviews": content})
    assert f"r = {np.corrcoef(true, learnt)[0, 1]:.2f}" in told(figure)
    assert "30 annotators" in told(figure)


def test_densities_hold_all_annotators(drawn):
    for content in drawn["p2/figure-2"].contents.values():
        whole = trapezoid(content["labels_density"], content["log_labels"])
        assert whole == pytest.approx(1.0, abs=0.01)
        for density in content["share_density"]:
            assert trapezoid(density, content["shares"]) == pytest.approx(1.0, abs=0.01)
    words = told(drawn["p2/figure-2"].figure)
    assert "labelme: 7 annotators" in words
    assert "highway" in words


def test_a_density_is_the_usual_one():
    values = np.random.default_rng(0).normal(size=50)
    places = np.linspace(-4, 4, 30)
    np.testing.assert_allclose(p2.kernel_density(values, places), gaussian_kde(values)(places))


def test_correlations_in_words():
    assert correlation_of([[1, 2], [3, 5]], [[2, 4], [6, 10]]) == "r = 1.00"
    assert correlation_of([[0.5, 0.5]], [[1, 2]]) == "r undefined"


def test_figures_as_published_are_drawn_beside_ours(data, tmp_path, brief):
    experiment = EXPERIMENTS["p1/figure-6"]
    options = RunOptions(data=data, protocol="published")
    store = RecordStore(tmp_path / FILE)
    [run] = experiment.runs(options)
    assert run.panel.settings["methods"]["speelfc"]["noise"]["diagonal"] == pytest.approx(3.7)
    run_missing([run], store, data)
    rows = experiment.write(store, options, tmp_path).rows
    assert [(row["protocol"], row["verdict"]) for row in rows] == [
        ("as published", "drawn"),
        ("ours", "not run yet"),
    ]
    assert (tmp_path / "p1-figure-6-as-published.png").is_file()
    assert "p1-table-2.md#protocol" in (tmp_path / "p1-figure-6.md").read_text()
