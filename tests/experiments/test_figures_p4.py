"""Figures of the mixture paper on a tiny corpus of the same format and tiny simulated crowds."""

from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest
import torch

from manyhands.annotations import Annotations
from manyhands.evaluation import js_divergence, normalize_counts
from manyhands.experiments import EXPERIMENTS, FILE, RecordStore, RunOptions, run_missing
from manyhands.experiments.data import CorpusSource, ExperimentData, ScenarioSource
from manyhands.experiments.figure import Panel
from manyhands.experiments.figures import p4, p4_costs
from manyhands.experiments.figures.p4_costs import (
    MISSING,
    DenseCrowdLayer,
    masked_loss,
    train_dense,
)
from manyhands.experiments.measures import true_counts
from manyhands.experiments.runs import fit_method, peak_mib
from manyhands.methods import METHODS
from manyhands.noise import AnnotationBatch, CrowdLayer, annotation_loss

pytestmark = pytest.mark.slow  # every figure is made of runs of its own

K = 3


@pytest.fixture(scope="module")
def trial(data):
    return CorpusSource("labelme").load(data, 0).trial


class AtOnce:
    """Stands in for a pool of processes: works here and now."""

    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def submit(self, function, *given):
        outcome = Future()
        outcome.set_result(function(*given))
        return outcome


def drawn(experiment, data, folder):
    """Collect, record, read back and draw; what is recorded."""
    options = RunOptions(data=data, protocol="ours")
    run_missing(experiment.runs(options), RecordStore(folder / FILE), data)
    store = RecordStore(folder / FILE)
    written = experiment.write(store, options, folder)
    ours = [row for row in written.rows if row.get("protocol") != "as published"]
    assert {row["verdict"] for row in ours} == {"drawn"}
    png, svg = (folder / f"{experiment.file_name}.{kind}" for kind in ("png", "svg"))
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in svg.read_text(encoding="utf-8")
    return [store.get(run.key)["content"] for run in experiment.runs(options)]


def test_groups_from_files_to_a_picture(data, tmp_path):
    (content,) = drawn(EXPERIMENTS["p4/figure-1"], data, tmp_path)
    group_mkl = np.asarray(content["confusion"])
    assert group_mkl.shape == (3, K, K)
    assert np.asarray(content["prevalence"]).sum() == pytest.approx(1, abs=1e-3)
    assert (np.diff(content["prevalence"]) <= 0).all()
    rows = -(group_mkl * np.log(np.maximum(group_mkl, 1e-12))).sum(axis=-1)
    assert content["entropy"] == pytest.approx(rows.mean(axis=-1), abs=1e-3)
    right = [js_divergence(matrix, np.eye(K)).mean() for matrix in group_mkl]
    assert content["identity_similarity"] == pytest.approx(1 - np.array(right), abs=1e-3)
    assert content["method"] in METHODS


def test_examples_from_files_to_a_picture(data, tmp_path):
    experiment = EXPERIMENTS["p4/figure-2"]
    (content,) = drawn(experiment, data, tmp_path)
    assert content["least"] == 20
    assert len(content["true"]) == len(content["annotators"]) + 1
    assert min(content["n_labels"]) >= 20
    good, bad = np.split(np.asarray(content["divergence"][:-1]), 2)
    assert good.max() <= bad.min()


def test_examples_are_what_is_really_said_and_estimated(trial):
    method = EXPERIMENTS["p4/figure-2"].panels[0].settings["method"]
    settings = {"method": method, "least": 1}
    content = p4.collect_examples(ExperimentData(trial), 0, settings)
    model = fit_method(trial, method, 0, {})
    counts = true_counts(trial)
    code = trial.annotations.annotators.astype(str).tolist().index(content["annotators"][0])
    assert content["estimated"][0] == pytest.approx(model.confusion_[code])
    assert content["true"][0] == pytest.approx(normalize_counts(counts[code]))
    assert content["true"][-1] == pytest.approx(normalize_counts(counts.sum(axis=0)))
    weight = counts.sum(axis=(1, 2))
    pooled = sum(w * matrix for w, matrix in zip(weight, model.confusion_, strict=True))
    assert content["estimated"][-1] == pytest.approx(pooled / weight.sum())


def test_classes_never_labelled_do_not_count():
    counts = np.array([[[4.0, 0.0], [0.0, 0.0]]])
    found = np.array([[[1.0, 0.0], [0.1, 0.9]]])
    assert p4.annotator_divergence(found, counts).tolist() == [0.0]


def test_nobody_is_both_good_and_bad():
    far = np.array([0.5, 0.1, 0.9, 0.3, 0.0])
    assert p4.extremes(far, np.array([0, 1, 2, 3])).tolist() == [1, 3, 0, 2]
    assert p4.extremes(far, np.array([2])).tolist() == []


def tiny_sizes(epochs=2):
    made = EXPERIMENTS["p4/figure-3"]
    settings = {**made.panels[0].settings, "epochs": epochs}
    panels = tuple(
        Panel(str(n), ScenarioSource("perturbed-networks",
                                     {"n_annotators": n, "n_items": 80, "n_test": 0}), settings)
        for n in (40, 10)
    )  # fmt: skip
    return replace(made, panels=panels)


def test_costs_of_all_designs_are_collected_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(p4_costs, "ProcessPoolExecutor", AtOnce)
    experiment = tiny_sizes()
    threads = torch.get_num_threads()
    try:
        contents = drawn(experiment, None, tmp_path)
    finally:
        torch.set_num_threads(threads)
    assert [content["n_annotators"] for content in contents] == [40, 10]
    for content in contents:
        assert {p4_costs.DENSE, "crowd-layer-mw"} < set(content["seconds"])
        assert all(seconds > 0 for seconds in content["seconds"].values())
        assert all(mib >= 0 for mib in content["mib"].values())
    figure = experiment.draw({"b": contents[0], "a": contents[1]})
    line = figure.axes[0].get_lines()[0]
    assert line.get_xdata().tolist() == [10, 40]
    assert line.get_ydata()[1] == contents[0]["seconds"][p4_costs.DENSE]


@pytest.mark.slow
def test_a_process_of_its_own_counts_its_own_memory():
    panel = tiny_sizes().panels[0]
    settings = {"designs": {p4_costs.DENSE: {"batch_size": 16}}, "epochs": 1}
    large = np.ones(40_000_000)  # of this process, and no matter of the other
    content = p4_costs.collect_cost(panel.source.load(None, 0), 0, settings)
    assert len(large) > 0
    assert content["seconds"][p4_costs.DENSE] > 0
    assert 0 <= content["mib"][p4_costs.DENSE] < 200


def test_the_peak_never_falls():
    before = peak_mib()
    held = np.ones(2_000_000)
    assert peak_mib() >= before > 1
    assert len(held) > 0


def test_dense_and_sparse_crowd_layers_have_the_same_loss_and_gradient():
    generator = torch.Generator().manual_seed(0)
    dense_ba = torch.tensor([[0, MISSING, 2], [MISSING, 1, MISSING], [2, 2, MISSING]])
    logits = torch.randn(3, 3, generator=generator)
    dense, sparse = DenseCrowdLayer(3, 3), CrowdLayer(3, 3)
    with torch.no_grad():
        dense.weight += torch.randn(3, 3, 3, generator=generator)
        sparse.table.weight.copy_(dense.weight.flatten(1))
    row, annotator = (dense_ba != MISSING).nonzero(as_tuple=True)
    batch = AnnotationBatch(row, annotator, dense_ba[row, annotator])
    loss = masked_loss(dense(logits.softmax(dim=-1)), dense_ba)
    same = annotation_loss(sparse, logits, batch)
    assert loss.item() == pytest.approx(same.item(), rel=1e-5)
    loss.backward()
    same.backward()
    assert torch.allclose(dense.weight.grad.flatten(1), sparse.table.weight.grad, atol=1e-6)


def test_the_dense_design_learns():
    rng = np.random.default_rng(1)
    truth = np.arange(200) % 2
    features = (4 * np.eye(2)[truth] + rng.normal(size=(200, 2))).astype(np.float32)
    said = np.stack([truth, truth, np.where(rng.random(200) < 0.5, truth, 1 - truth)], axis=1)
    said[:50, 2] = MISSING
    ann = Annotations.from_dense(said)
    layer = train_dense(features, ann, epochs=60, batch_size=20, seed=0)
    again = train_dense(features, ann, epochs=60, batch_size=20, seed=0)
    confusion_akl = layer.weight.detach().transpose(1, 2).softmax(dim=-1).numpy()
    assert confusion_akl[0].diagonal().min() > confusion_akl[2].diagonal().max()
    assert torch.equal(layer.weight, again.weight)  # the same seed, the same bits
