"""Experiments with networks on images: their specifications, run on a few tiny images."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from manyhands.annotations import Items
from manyhands.experiments import EXPERIMENTS, FILE, RecordStore, RunOptions, run_missing
from manyhands.experiments import network_annotators as annotators
from manyhands.experiments.runs import execute
from manyhands.networks import NETWORKS

TINY = {
    "vgg16": {"width": 2},
    "cnn": {"channels": [2, 3], "convolutions": 2, "batch_norm": True, "block_dropout": 0.25},
    "dogs-cats-cnn": {"channels": [2, 2, 2, 2]},
}
P3_METHODS = {
    "two-stage-majority", "crowd-layer-mw", "weighted-doctor-net", "trace-reg", "max-mig",
    "two-stage-glad", "two-stage-worker-clustering", "em", "conal",
}  # fmt: skip


def shrunk(training):
    """The same training of a narrow network, for one epoch."""
    if not training:
        return {}
    quick = {"network_settings": TINY[training["network"]], "epochs": 1, "precision": "32"}
    return {**training, **quick}


def tiny(name, n_columns, **settings):
    """An experiment with its first columns on images, narrow networks and one epoch."""
    whole = EXPERIMENTS[name]
    columns = [
        replace(column, training=shrunk(column.training), annotators=shrunk(column.annotators),
                settings={**column.settings, **settings})
        for column in whole.table.columns
        if column.items and column.items.startswith("cifar10")
    ][:n_columns]  # fmt: skip
    return type(whole)(replace(whole.table, columns=tuple(columns)))


def recorded(experiment, data, folder, protocol="both"):
    """Run it once per cell, and what is written of it."""
    options = RunOptions(data=data, n_runs=1, slow=True, protocol=protocol)
    store = RecordStore(folder / FILE)
    run_missing(experiment.runs(options), store, data)
    for run in experiment.runs(options):
        record = store.get(run.key)
        assert "error" not in record, record
        assert 0 <= record["scores"]["accuracy"] <= 1
    return store, experiment.write(store, options, folder)


def curves_of(cells):
    """The keys of the runs of every curve and tick."""
    return {
        (cell.column.dataset, cell.row.published, cell.column.axis["at"]):
            [run.key for run in cell.runs]
        for cell in cells
    }  # fmt: skip


def test_figure_4_has_the_methods_points_and_seeds_of_its_specification(data):
    experiment = EXPERIMENTS["p3/figure-4"]
    assert experiment.needs == ["cifar10"]
    cells = experiment.cells(RunOptions(data=data, slow=True))
    assert {cell.row.method for cell in cells if not cell.row.ours} == P3_METHODS
    curves = curves_of(cells)
    n_runs = {(cell.row.ours, *map(len, cell.runs_by.values())) for cell in cells}
    assert n_runs == {(False, 5, 3), (True, 3)}  # as published and ours; rows of ours
    for pattern in ("asymmetric", "symmetric"):
        for method in {cell.row.published for cell in cells if not cell.row.ours}:
            by_strength = curves[f"cifar10/{pattern}/strength", method, 0.4]
            assert by_strength == curves[f"cifar10/{pattern}/share", method, 0.5]
    different = {key for keys in curves.values() for key in keys}
    # 2 patterns x 6 points x 9 methods x 5 + 3 seeds, and 2 rows of ours on 2 x 3 points
    assert len(different) == 2 * 6 * 9 * (5 + 3) + 2 * 2 * 3 * 3
    for cell in cells:
        training = cell.runs_by["ours"][0].settings["training"]
        assert training["network"] == "vgg16"
        assert cell.selections["ours"] == "last epoch"


def test_figure_4_needs_a_gpu_or_patience(data):
    experiment = EXPERIMENTS["p3/figure-4"]
    assert not experiment.runs(RunOptions(data=data))
    assert all("--slow" in why for why in experiment.reasons(RunOptions(data=data)).values())
    assert all("--data" in why for why in experiment.reasons(RunOptions(slow=True)).values())


@pytest.mark.slow
def test_figure_4_from_images_to_curves(data, tmp_path):
    experiment = tiny("p3/figure-4", 2, n_annotators=6)
    columns = [
        replace(each, axis={**each.axis, "ticks": ticks})
        for each, ticks in zip(experiment.table.columns, ([0.4], [0.5]), strict=True)
    ]
    rows = tuple(row for row in experiment.table.rows if row.ours or row.method == "em")
    experiment = type(experiment)(replace(experiment.table, columns=tuple(columns), rows=rows))
    store, written = recorded(experiment, data, tmp_path)
    assert len(store) == 2 + 2  # by both protocols in both panels, rows of ours in one
    assert {Path(each).suffix for each in written.files} == {".md", ".csv", ".png", ".svg"}
    page = (tmp_path / "p3-figure-4.md").read_text()
    assert "accuracy by common noise strength" in page
    assert "40000" in page  # what stands in for what is told


@pytest.mark.parametrize("method", sorted(P3_METHODS))
def test_figure_4_trains_in_mixed_precision(method, data):
    cells = EXPERIMENTS["p3/figure-4"].cells(RunOptions(data=data, slow=True))
    run = next(cell.runs[0] for cell in cells if cell.row.method == method)
    training = {**run.settings["training"], "network_settings": {"width": 2}, "epochs": 1}
    assert training["precision"] == "bf16"
    record = execute(replace(run, settings={**run.settings, "training": training}), data)
    assert np.isfinite(record["scores"]["log_loss"])


def test_figure_4_without_records_says_so(tmp_path):
    written = EXPERIMENTS["p3/figure-4"].write(
        RecordStore(tmp_path / FILE), RunOptions(recorded=True), tmp_path
    )
    assert written.rows == []
    assert "- not run yet: CoNAL" in (tmp_path / "p3-figure-4.md").read_text()
    assert not (tmp_path / "p3-figure-4.png").exists()


@pytest.mark.parametrize(
    ("name", "network"), [("p3/figure-5", "vgg16"), ("p0/figure-2", "dogs-cats-cnn")]
)
def test_figures_of_images_have_the_network_of_their_paper(name, network):
    for panel in EXPERIMENTS[name].panels:
        run = panel.settings.get("run", panel.settings)
        assert run["training"]["network"] == network
        assert panel.slow


@pytest.mark.slow
def test_cats_and_dogs_of_cifar10_stand_in_for_the_paper_s(data, tmp_path):
    _, written = recorded(tiny("p0/table-1", 1), data, tmp_path)
    rows = {row["published_as"]: row for row in written.rows}
    assert len(rows) == 9  # MA-sLDAc takes visual words, which there are none of
    assert {row["measured"] for row in rows.values()} == {"cifar10-cats-dogs/accuracy"}
    assert {row["verdict"] for row in rows.values()} == {"nothing published"}
    searched = "epoch by held-out crowd labels, then all labels"
    assert {row["selection"] for row in rows.values()} == {searched}  # the same for all methods


@pytest.mark.slow
def test_setup_2_has_networks_for_annotators_which_are_trained_once(data, tmp_path, monkeypatch):
    trained = []
    make = annotators.group_confusions

    def counted(*given):
        trained.append(given[-1])
        return make(*given)

    annotators._confusions.cache_clear()
    monkeypatch.setattr(annotators, "group_confusions", counted)
    experiment = tiny("p4/table-2", 2, labels_per_item=3)
    _, written = recorded(experiment, data, tmp_path, "ours")  # the paper's takes 20 restarts
    assert trained == [0]  # both numbers of annotators and all methods share it
    assert len(written.rows) == 2 * 6  # published rows only
    assert not any(row["ours"] == "-" for row in written.rows)


def test_setup_2_draws_labels_from_the_confusions_of_perturbed_networks(data):
    column = tiny("p4/table-2", 1).table.columns[0]
    source = annotators.NetworkAnnotators(
        column.scenario, column.settings, column.items, column.annotators
    )
    crowd = source.load(data, 0).crowd
    assert crowd.group_mkl.shape == (4, 10, 10)
    np.testing.assert_allclose(crowd.group_mkl.sum(axis=2), 1.0)
    np.testing.assert_array_equal(crowd.confusion, crowd.group_mkl[crowd.group_a])
    assert source.fingerprint()["training"]["network"] == "cnn"


def test_noise_on_the_weights_takes_ability_away():
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    images = np.zeros((60, 3, 8, 8), dtype=np.uint8)
    images[np.arange(60), truth] = 200  # the colour tells the class
    images += rng.integers(0, 50, images.shape).astype(np.uint8)
    training = {"network": "cnn", "network_settings": {"channels": [8]}, "epochs": 30}
    confusion = annotators.group_confusions(Items(truth, images), 3, (0.0, 0.5, 20.0), training, 0)
    exact, some, none = np.einsum("mkk->m", confusion) / 3
    assert exact == 1.0
    assert exact >= some > none


def test_perturbed_weights_have_the_noise_asked_for():
    network = NETWORKS["cnn"]((3, 8, 8), 4, channels=[64], hidden=256, batch_norm=True)
    noisy = annotators.perturbed(network, 0.5, np.random.default_rng(0))
    for (name, before), after in zip(network.named_parameters(), noisy.parameters(), strict=True):
        change = (after - before).square().mean().sqrt()
        if before.dim() == 1:
            assert change == 0, name
        else:
            wanted = 0.5 * before.square().mean().sqrt()
            torch.testing.assert_close(change, wanted, rtol=0.1, atol=0.0)
