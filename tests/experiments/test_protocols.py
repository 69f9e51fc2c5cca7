"""The protocols of the papers: what is written in the files is what the papers say and what runs.

`STATED` is a second transcription of the papers, made from their text and not from the files.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

import manyhands as mh
from manyhands.core.errors import DataError
from manyhands.experiments import EXPERIMENTS, RunOptions
from manyhands.experiments.chosen_runs import ChosenRun
from manyhands.experiments.protocols import (
    FIELDS,
    OUR_SEARCH,
    our_settings,
    read_protocol,
)
from manyhands.experiments.published import published_figures, published_tables
from manyhands.experiments.runs import MethodRun, configured, groups_of
from manyhands.methods import METHODS
from manyhands.methods.presets import PUBLISHED
from manyhands.networks.catalog import network_by_name

RECORDED = RunOptions(recorded=True)
MLP_128 = {"hidden": [128], "dropout": 0.5}
P0_CODE = {"optimizer": "adam", "learning_rate": 0.001, "validation_fraction": 0.0}
P1 = {"optimizer": "adam", "batch_size": 64, "validation_fraction": 0.0}
P3 = {"optimizer": "adam", "learning_rate": 0.01}
P4 = {"optimizer": "adam", "epochs": 50, "validation_fraction": 0.0}
# Experiment, dataset and method: settings that the paper states, or that its public code has where
# the paper is silent; the number of runs; and the rule with clean labels if the paper has one.
STATED = {
    # P0, Image classification: 128 ReLU units, 50 % dropout; identities; 30 executions
    ("p0/table-1", "labelme", "crowd-layer-mw"): (
        {**P0_CODE, "network": "mlp", "network_settings": MLP_128, "batch_size": 64, "epochs": 50,
         "noise_learning_rate": 0.001, "init": "own", "scale": "none"}, 30, ""),
    ("p0/table-1", "labelme", "truth"): (
        {**P0_CODE, "network": "mlp", "network_settings": MLP_128, "epochs": 50}, 30, ""),
    ("p0/table-1", "cifar10-cats-dogs", "crowd-layer-vw"): (
        {**P0_CODE, "network": "dogs-cats-cnn", "batch_size": 16, "epochs": 30, "init": "own",
         "noise_learning_rate": 0.001}, 30, ""),
    # P0, Text regression: 128 features, 32 hidden units; 30 runs
    ("p0/table-2", "moviereviews", "crowd-layer-b"): (
        {**P0_CODE, "network_settings": {"n_features": 128, "hidden": 32, "dropout": 0.0},
         "batch_size": 128, "epochs": 100, "init": "own"}, 30, ""),
    # P0, Named entity recognition: 512 features, GRU of 50
    ("p0/table-3", "ner", "crowd-layer-mw"): (
        {**P0_CODE, "network_settings": {"n_features": 512, "hidden": 50, "dropout": 0.5},
         "epochs": 20, "init": "own", "warm_up": 5}, 30, ""),
    # P1, 4.1: MLP of 1200 units, 50 % dropout, Adam 0.0001, batch 64, 200 epochs
    ("p1/table-1", "sentiment", "speelfc"): (
        {**P1, "network": "mlp", "network_settings": {"hidden": [1200], "dropout": 0.5},
         "learning_rate": 0.0001, "noise_learning_rate": 0.0001, "epochs": 200}, 10, ""),
    ("p1/table-1", "sentiment", "two-stage-glad"): (
        {**P1, "network": "mlp", "learning_rate": 0.0001, "epochs": 200}, 10, ""),
    # P1, 4.1, MGC: no hidden layer, 0.001, 5000 epochs
    ("p1/table-2", "music", "speelfc"): (
        {**P1, "network": "logistic", "learning_rate": 0.001, "noise_learning_rate": 0.001,
         "epochs": 5000, "scale": "none"}, 10, ""),
    ("p1/table-2", "music", "crowd-layer-mw"): (
        {**P1, "network": "logistic", "learning_rate": 0.001, "epochs": 5000}, 10, ""),
    # P2, 3.4: 4 hidden layers of 128, dropout 0.2, Adam, 400 epochs, batch 32
    ("p2/table-3", "labelme-ic", "softmax-crowd-layer"): (
        {"network": "mlp", "network_settings": {"hidden": [128] * 4, "dropout": 0.2},
         "optimizer": "adam", "epochs": 400, "batch_size": 32, "init": "own"}, 10, ""),
    # P2, 3.2 and 3.3: WideResNet 16-12, SGD 0.1, weight decay 0.001, momentum 0.8, 400, 64
    ("p2/table-3", "cifar10-ic", "softmax-crowd-layer"): (
        {"network": "wide-resnet", "network_settings": {"depth": 16, "width": 12},
         "optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 0.001, "momentum": 0.8,
         "epochs": 400, "batch_size": 64}, 3, ""),
    # P2, 3.5: one epoch
    ("p2/table-3", "md-agreement", "two-stage-majority"): ({"epochs": 1}, 5, ""),
    # P3, Backbone networks & training details: batch normalisation, Adam, 5 seeds, validation set
    ("p3/table-1", "labelme", "conal"): (
        {**P3, "network": "mlp", "network_settings": {**MLP_128, "batch_norm": True},
         "init": "own"}, 5, "clean"),
    ("p3/table-1", "music", "conal"): (
        {**P3, "network": "mlp", "network_settings": {**MLP_128, "batch_norm": True}}, 5, "test"),
    ("p3/table-3", "labelme", "crowd-layer-over"): (
        {**P3, "network_settings": {**MLP_128, "batch_norm": True}}, 5, "clean"),
    ("p3/figure-6", "simulated", "conal"): (
        {**P3, "network": "mlp", "network_settings": MLP_128}, 5, ""),
    # P4, 5: Adam, one epoch per M step, at most 50, until convergence, 20 runs
    ("p4/table-2", "simulated/setup-1/T=100", "mixture"): ({**P4, "scale": "standard"}, 20, ""),
    ("p4/table-3", "labelme", "em"): (
        {**P4, "network": "mlp", "network_settings": MLP_128}, 20, ""),
}  # fmt: skip
# The noise models that the papers state numbers of.
NOISE = {
    ("p1/table-1", "sentiment", "speelfc"): {"diagonal": 1.4 - 1.0},  # 4.1
    ("p1/table-2", "music", "speelfc"): {"diagonal": 4.7 - 1.0},
    ("p1/table-1", "sentiment", "speelfc-d"): {
        "alpha": 0.028, "l1": 0.001, "l2": 100.0, "n_hidden": 128,
    },
    ("p1/table-2", "music", "speelfc-d"): {
        "alpha": 0.028, "l1": 0.001, "l2": 100.0, "n_hidden": 32,
    },
    ("p3/table-1", "labelme", "conal"): {"strength": 1e-5, "n_dimensions": 20},
    ("p0/table-1", "labelme", "crowd-layer-mw"): {"prior_precision": 0.0},
}  # fmt: skip


def protocol_of(name):
    return EXPERIMENTS[name].protocol


@pytest.mark.parametrize("place", STATED, ids="-".join)
def test_settings_are_those_of_the_paper(place):
    name, dataset, method = place
    wanted, n_runs, chosen = STATED[place]
    protocol = protocol_of(name)
    training = protocol.settings(dataset, method)["training"]
    taken = {key: _effective(method, training, key) for key in wanted}
    assert taken == wanted
    assert protocol.n_runs(dataset, method) == n_runs
    assert protocol.selection(dataset, method).chosen == chosen


def _effective(method, training, key):
    """A setting of a run, or the default that it has if it is not given."""
    defaults = {"learning_rate": 0.001, "optimizer": "adamw", "validation_fraction": 0.0}
    return training.get(key, defaults.get(key))


@pytest.mark.parametrize("place", NOISE, ids="-".join)
def test_noise_models_are_those_of_the_paper(place):
    name, dataset, method = place
    noise = protocol_of(name).settings(dataset, method)["noise"]
    assert {key: pytest.approx(noise[key]) for key in NOISE[place]} == NOISE[place]


PLACES = sorted(
    {
        (name, cell.column.dataset, cell.row.method)
        for name, experiment in EXPERIMENTS.items()
        if hasattr(experiment, "table")
        for cell in experiment.cells(RECORDED)
        if not cell.unavailable and not cell.row.ours
    }
)


def test_every_field_is_stated_or_read_for_every_cell():
    assert len(PLACES) > 100
    for name, dataset, method in PLACES:
        statements = protocol_of(name).statements(dataset, method)
        assert list(statements) == list(FIELDS), (name, dataset, method)
    for name, experiment in EXPERIMENTS.items():
        assert experiment.open_fields == [], name


def test_every_figure_has_a_protocol_or_trains_nothing():
    for name, figure in published_figures().items():
        protocol = EXPERIMENTS[name].protocol
        assert bool(protocol.parts) != bool(protocol.nothing), name
        assert figure.protocol.nothing == protocol.nothing or protocol.parts


def test_settings_of_every_cell_are_accepted():
    for name, dataset, method in PLACES:
        settings = protocol_of(name).settings(dataset, method)
        chosen, given = configured(method, settings)
        task = METHODS[method].tasks[0]
        task = {"ner": "tagging", "moviereviews": "regression"}.get(dataset, task)
        make = {"tagging": mh.CrowdTagger, "regression": mh.CrowdRegressor}
        model = make.get(task, mh.CrowdClassifier)(method=chosen, progress=False, **given)
        resolved = model._resolve_method()
        preset = given.get("published")
        if preset is not None:
            assert PUBLISHED[preset].task == task, (name, dataset, method)
            assert preset.split("/")[0] == name.split("/")[0]
        assert resolved is not None


def test_settings_agree_with_the_presets_where_the_paper_states_them():
    """A preset and a protocol are two places of the same statement of a paper."""
    for name, dataset, method in PLACES:
        protocol = protocol_of(name)
        training = protocol.settings(dataset, method).get("training", {})
        if "published" not in training:
            continue
        preset = PUBLISHED[training["published"]]
        for key in ("optimizer", "epochs", "learning_rate", "batch_size"):
            stated = protocol.statements(dataset, method)[key].says and key not in preset.left_open
            if stated and key in training and key in preset.training:
                assert training[key] == preset.training[key], (name, dataset, method, key)


def test_networks_of_the_protocols_can_be_made():
    shapes = {"mlp": (5,), "logistic": (5,), "cnn": (3, 32, 32), "dogs-cats-cnn": (3, 32, 32),
              "vgg16": (3, 32, 32), "wide-resnet": (3, 8, 8)}  # fmt: skip
    wanted = {
        (given["network"], json.dumps(given.get("network_settings", {})))
        for name, dataset, method in PLACES
        if "network" in (given := protocol_of(name).settings(dataset, method).get("training", {}))
    }
    for network, settings in wanted:
        if network in shapes and "width" not in settings:
            assert network_by_name(network, shapes[network], 3, json.loads(settings)) is not None


def content(**more):
    statement = {"says": "Adam", "where": "4.1", "settings": {"training": {"optimizer": "adam"}}}
    return {"protocol": {"parts": [{"fields": {"optimizer": {**statement, **more}}}]}}


def test_a_protocol_is_checked_when_it_is_read():
    assert read_protocol(content(), "p9/table-1", {}).settings("any", "em") == {
        "training": {"optimizer": "adam"}
    }
    refused = {
        "needs the section": content(where=""),
        "neither": content(says="", where=""),
        "no 'setings'": content(setings={}),
        "no 'trainig'": content(settings={"trainig": {}}),
        "protocol is missing": {},
        "which is not there": {"protocol": {"like": "p8/table-1"}},
        "is empty": {"protocol": {}},
        "no 'optimiser'": {"protocol": {"parts": [{"fields": {"optimiser": {}}}]}},
        "rule must be": {"protocol": {"parts": [{"fields": {"selection": {"reading": "?"}}}]}},
        "with clean labels": {"protocol": {"parts": [{"fields": {
            "selection": {"reading": "?", "rule": "last", "chosen": "crowd"}}}]}},
        "n_runs must be": {"protocol": {"parts": [{"fields": {"runs": {"reading": "?"}}}]}},
    }  # fmt: skip
    for message, given in refused.items():
        with pytest.raises(DataError, match=message):
            read_protocol(given, "p9/table-1", {})


def test_later_parts_win_and_instead_forgets():
    parts = [
        {"fields": {"epochs": {"reading": "5", "settings": {"training": {"epochs": 5}}}}},
        {"methods": ["em"], "fields": {"epochs": {"reading": "9", "settings": {
            "training": {"epochs": 9}}}}},
        {"methods": ["raykar*"], "instead": True, "fields": {"*": {"reading": "quoted"},
            "selection": {"reading": "-", "rule": "convergence"},
            "runs": {"reading": "-", "n_runs": 2}}},
    ]  # fmt: skip
    base = {"protocol": {"parts": parts}}
    protocol = read_protocol({"protocol": {"like": "a"}}, "b", {"a": base})
    assert protocol.settings("x", "conal") == {"training": {"epochs": 5}}
    assert protocol.settings("x", "em") == {"training": {"epochs": 9}}
    assert protocol.settings("x", "raykar-prior") == {}
    assert not protocol.missing("x", "raykar")
    assert "network" in protocol.missing("x", "em")


def test_our_protocol_is_the_same_for_every_method():
    for method in ("two-stage-majority", "two-stage-glad", "crowd-layer-mw", "em", "conal", "truth",
                   "mixture", "doctor-net", "max-mig"):  # fmt: skip
        given = our_settings(method, {}, {}).get("training", {})
        searched = {
            name: given.get(name, METHODS[method].defaults.get(name)) for name in OUR_SEARCH
        }
        assert searched == OUR_SEARCH, method
    # Records of methods that search by default stay valid, and those of the last epoch do not.
    assert our_settings("conal", {}, {}) == {}
    assert our_settings("two-stage-majority", {}, {})["training"] == OUR_SEARCH
    assert our_settings("raykar", {}, {}) == {}
    assert our_settings("em", {"validation_fraction": 0.0}, {}) == {
        "training": {"validation_fraction": 0.0}
    }


def test_the_two_protocols_are_separate_runs_in_groups_of_seeds():
    for name in ("p3/table-1", "p1/table-2", "p4/table-3"):
        experiment = EXPERIMENTS[name]
        published = experiment.runs(replace(RECORDED, protocol="published"))
        ours = experiment.runs(replace(RECORDED, protocol="ours"))
        both = experiment.runs(RECORDED)
        keys = {run.key for run in both}
        assert keys == {run.key for run in [*published, *ours]}
        assert {len(group) for group in groups_of({r.key: r for r in ours}.values())} == {10}
        plain = [run for run in published if type(run) is MethodRun]
        assert all(run.group for run in plain)


def test_an_epoch_chosen_with_clean_labels_is_marked(data, tmp_path):
    experiment = EXPERIMENTS["p3/table-1"]
    cells = experiment.cells(RunOptions(data=data, n_runs=1))
    [labelme] = [c for c in cells if c.row.method == "conal" and c.column.dataset == "labelme"]
    [run] = labelme.runs_by["chosen"]
    assert isinstance(run, ChosenRun)
    assert run.group == ""
    assert labelme.selections["chosen"] == (
        "the epoch with the best accuracy on clean validation labels"
    )
    short = {**run.settings, "training": {**run.settings["training"], "epochs": 5}}
    by_test = replace(run, settings=short, rule="test").outcome(data)["scores"]
    by_clean = replace(run, settings=short).outcome(data)["scores"]
    assert by_test["accuracy"] >= by_clean["accuracy"]
    assert 1 <= by_clean["epochs"] <= 5


def test_statements_of_a_table_are_listed_once_with_their_settings():
    from manyhands.experiments.protocol_pages import protocol_rows

    rows = protocol_rows(published_tables()["p1/table-2"])
    assert {row[0] for row in rows} == set(FIELDS.values())
    [starts] = [row for row in rows if "4.7" in row[2]]
    assert starts[1] == "SpeeLFC"
    assert "`noise.diagonal=3.7`" in starts[5]
    assert np.unique([tuple(row) for row in rows], axis=0).shape[0] == len(rows)
