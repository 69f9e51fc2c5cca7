"""Figures of CoNAL's paper on tiny corpora of the same formats and tiny simulated crowds."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import entropy

from manyhands.annotations import Annotations
from manyhands.experiments import EXPERIMENTS, FILE, RecordStore, RunOptions, run_missing
from manyhands.experiments.data import ExperimentData, ScenarioSource
from manyhands.experiments.figure import Panel
from manyhands.experiments.figures import confusions, p3
from manyhands.experiments.figures.p3_theorem_1 import best_estimate, softened, theorem_1
from manyhands.experiments.records import json_content
from manyhands.experiments.runs import fit_method
from manyhands.selection import Trial

pytestmark = pytest.mark.slow  # every figure is made of runs of its own

QUICK = {
    "run": {
        "noise": {"prior_precision": 0.0},
        "training": {"init": "own", "epochs": 3, "validation_fraction": 0},
    }
}
TINY_CROWD = {"n_items": 80, "n_annotators": 6, "n_classes": 4, "n_test": 20}
CORPORA = ["p3/figure-1", "p3/figure-8", "p3/figure-9", "p3/figure-10"]


@pytest.fixture
def crowd_data():
    """A crowd with an item that nobody labelled and an annotator who made no mistake."""
    truth = np.array([0, 0, 1, 1, 2, 2, 0])
    item = [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4]
    annotator = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    label = [0, 0, 1, 1, 2, 2, 1, 1, 1, 0, 2]
    ann = Annotations.from_arrays(item, annotator, label, items=range(7), classes=range(3))
    features = np.eye(3, dtype=np.float32)[truth]
    return ExperimentData(Trial(features, ann, truth))


def tiny(name, settings=QUICK, **crowd):
    """A figure of simulated crowds with two tiny panels."""
    panels = tuple(
        Panel(pattern, ScenarioSource("common-noise", {**TINY_CROWD, "pattern": pattern, **crowd}),
              settings)
        for pattern in ("asymmetric", "symmetric")
    )  # fmt: skip
    return replace(EXPERIMENTS[name], panels=panels)


def drawn(experiment, data, folder):
    """Collect, record, read back and draw; the files and what is recorded."""
    options = RunOptions(data=data, slow=True, protocol="ours")
    store = RecordStore(folder / FILE)
    run_missing(experiment.runs(options), store, data)
    again = RecordStore(folder / FILE)
    written = experiment.write(again, options, folder)
    ours = [row for row in written.rows if row.get("protocol") != "as published"]
    assert {row["verdict"] for row in ours} == {"drawn"}
    assert {"png", "svg"} <= {path.rsplit(".")[-1] for path in written.files}
    png, svg = (folder / f"{experiment.file_name}.{kind}" for kind in ("png", "svg"))
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in svg.read_text(encoding="utf-8")
    return [again.get(run.key)["content"] for run in experiment.runs(options)]


@pytest.mark.parametrize("name", CORPORA)
def test_figures_of_corpora_from_files_to_pictures(name, data, tmp_path):
    quick = [
        replace(panel, settings={**panel.settings, **QUICK}) for panel in EXPERIMENTS[name].panels
    ]
    contents = drawn(replace(EXPERIMENTS[name], panels=tuple(quick)), data, tmp_path)
    assert len(contents) == len(quick)


def test_figure_5_from_images_to_a_picture(data, tmp_path):
    experiment = EXPERIMENTS["p3/figure-5"]
    assert len(experiment.panels) == 4
    panels = [replace(panel, settings={**panel.settings, **QUICK}) for panel in experiment.panels]
    asymmetric, symmetric = drawn(replace(experiment, panels=tuple(panels[:2])), data, tmp_path)
    assert symmetric["classes"][0] == "airplane"
    airplane, bird = (symmetric["classes"].index(name) for name in ("airplane", "bird"))
    assert symmetric["true"][0][airplane][bird] == symmetric["true"][0][bird][airplane] == 0.7
    assert np.asarray(asymmetric["learnt"]).shape == (4, 10, 10)


@pytest.mark.parametrize("name", ["p3/figure-5", "p3/figure-7"])
def test_simulated_panels_show_what_was_drawn_and_what_was_learnt(name, tmp_path):
    experiment = tiny(name)
    for panel, content in zip(experiment.panels, drawn(experiment, None, tmp_path), strict=True):
        loaded = panel.source.load(None, 0)
        crowd = loaded.crowd
        true = np.concatenate([crowd.common_kl[None], crowd.individual_akl[:3]])
        assert np.asarray(content["true"]) == pytest.approx(true, rel=1e-4)
        noise = fit_method(loaded.trial, "conal", 0, QUICK["run"]).noise_
        common = noise.common.detach().double().numpy().T
        wanted = np.exp(common) / np.exp(common).sum(axis=1, keepdims=True)
        assert np.asarray(content["learnt"])[0] == pytest.approx(wanted, rel=1e-3)
        assert np.asarray(content["learnt"]).sum(axis=-1) == pytest.approx(1, abs=1e-3)


def test_own_confusions_are_the_rows_of_w():
    noise = confusions.CoNAL(4, 3, n_features=2)
    with torch.no_grad():
        noise.own.weight.normal_(generator=torch.Generator().manual_seed(0))
    common, own = confusions.learnt_confusions(noise)
    weight_lk = noise.own(torch.tensor([2]))[0].detach()
    assert own.shape == (4, 3, 3)
    assert own[2] == pytest.approx(weight_lk.T.softmax(dim=-1).numpy(), rel=1e-5)
    assert common == pytest.approx((2 * torch.eye(3)).softmax(dim=-1).numpy())


def test_shared_mistakes_count_all_annotators_once(crowd_data):
    content = p3.collect_shared_mistakes(crowd_data, 0, {})
    percent = content["percent"]
    assert np.isnan(np.diag(percent)).all()
    # Annotator 1 took class 0 for 1, twice, and class 1 for 0; annotator 0 made no mistake.
    wanted = np.zeros((3, 3))
    wanted[0, 1] = wanted[1, 0] = 50
    off = ~np.eye(3, dtype=bool)
    assert (percent[off] == wanted[off]).all()
    assert content["n_annotators"] == 2


def test_mistakes_named_in_the_paper_are_framed_and_compared():
    names = [str(code) for code in range(8)]
    percent = np.full((8, 8), 10.0)
    percent[3, 1] = 61.02  # street as inside city
    content = json_content({"classes": names, "n_annotators": 59, "percent": percent})
    figure = p3.draw_shared_mistakes({"labelme": json.loads(json.dumps(content))})
    title = figure.axes[0].get_title()
    assert "street as inside city: 61.0 %, published 61.0 %" in title
    assert len(figure.axes[0].patches) == 2


def test_learnt_confusions_are_of_the_most_active(crowd_data):
    content = confusions.collect_learnt(crowd_data, 0, QUICK)
    assert content["annotators"].tolist() == ["0", "1"]
    assert content["n_labels"].tolist() == [6, 5]
    assert content["accuracy"] == pytest.approx([1.0, 2 / 5])


def test_halves_by_omega_hold_all_labelled_items(crowd_data):
    content = p3.collect_omega_ranks(crowd_data, 0, QUICK)
    together = 3 * content["highest"] + 3 * content["lowest"]
    assert together == pytest.approx([2, 2, 2])  # the seventh item has no label
    assert content["omega"][0] >= content["omega"][1]
    pooled = [[2, 2], [1, 3], [1]]
    assert content["entropy"] == pytest.approx([entropy(counts) for counts in pooled])


def test_mean_omega_is_over_those_who_labelled_the_item(crowd_data):
    trial = crowd_data.trial
    model = fit_method(trial, "conal", 0, QUICK["run"])
    omega_i = p3.mean_omega(trial, model)
    gate = model.noise_.gate
    seen = model.encoder_.transform(trial.features).rows(torch.arange(7))
    with torch.no_grad():
        for item, people in ((0, [0, 1]), (5, [0])):
            rows = torch.full((len(people),), item)
            wanted = gate(rows, torch.tensor(people), seen).sigmoid().mean().item()
            assert omega_i[item] == pytest.approx(wanted, rel=1e-5)
    assert omega_i[6] == 0


def test_the_bound_is_drawn_below_the_error(tmp_path):
    settings = {"random": [0.0, 0.6, 0.8, 1.0], "items": [1, 10, 100, 10**6]}
    crowd = {"n_items": 300, "n_test": 0, "pattern": "asymmetric"}
    source = ScenarioSource("common-noise", {**TINY_CROWD, **crowd})
    experiment = replace(EXPERIMENTS["p3/theorem-1"], panels=(Panel("tiny", source, settings),))
    (content,) = drawn(experiment, None, tmp_path)
    assert content["items"] == [1, 10, 100]
    assert content["item_by_item"][0] is None  # confusions with zeros: the bound is empty
    noise, label_n = softened(source.load(None, 0).crowd, 0.8, 0)
    assert content["theorem"][2][1] == pytest.approx(theorem_1(noise.first(10)), rel=1e-4)
    error = (best_estimate(noise, label_n) != source.load(None, 0).crowd.truth).mean()
    assert content["error"][2] == pytest.approx(error, rel=1e-4)
    for place in (1, 2, 3):
        assert max(content["theorem"][place]) < content["error"][place]


def test_softened_labels_follow_the_softened_confusions():
    given = {**TINY_CROWD, "n_items": 20_000, "n_test": 0}
    crowd = ScenarioSource("common-noise", given).load(None, 0).crowd
    noise, label_n = softened(crowd, 0.5, 0)
    truth_n = crowd.truth[noise.item_n]
    counts = np.zeros((4, 4))
    np.add.at(counts, (truth_n, label_n), 1)
    wanted = np.array([
        noise.mixed()[truth_n == k, k].mean(axis=0) for k in range(4)
    ])  # fmt: skip
    assert counts / counts.sum(axis=1, keepdims=True) == pytest.approx(wanted, abs=0.02)
