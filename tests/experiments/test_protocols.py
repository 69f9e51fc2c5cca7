"""The protocols of the papers: what is written in the files is what the papers say and what runs.

`stated_protocols` is a second transcription of the papers, made from their text and not from the
files.
"""

import json
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np
import pytest
from stated_protocols import IN_CODE, RUNS, STATED

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
# Settings of a stated field that are readings of what the paper leaves open in it.
READINGS = {
    *(("p2/table-3", name) for name in (
        "noise_optimizer", "precision", "schedule", "milestones", "gamma", "noise_learning_rate",
        "augment")),
    ("p3/figure-4", "augment"),
    *((name, "patience") for name in
      ("p3/table-1", "p3/table-2", "p3/table-3", "p3/figure-4", "p3/figure-6")),
    ("p4/table-2", "network"), ("p4/table-2", "network_settings"),
}  # fmt: skip


def protocol_of(name):
    return EXPERIMENTS[name].protocol


PLACES = sorted(
    {
        (name, cell.column.dataset, cell.row.method)
        for name, experiment in EXPERIMENTS.items()
        if hasattr(experiment, "table")
        for cell in experiment.cells(RECORDED)
        if not cell.unavailable and not cell.row.ours
    }
)


def places_of(name, dataset, method):
    """The cells that a line of the transcription is about."""
    found = [
        place
        for place in PLACES
        if place[0] == name
        and (dataset is None or fnmatchcase(place[1], dataset))
        and method in (None, place[2])
    ]
    assert found, (name, dataset, method)
    return found


@pytest.mark.parametrize("line", [*STATED, *IN_CODE], ids=lambda line: line[3])
def test_settings_are_those_of_the_text(line):
    names, dataset, method, _, wanted = line
    for place in [each for name in names for each in places_of(name, dataset, method)]:
        given = protocol_of(place[0]).settings(*place[1:])
        for group, values in wanted.items():
            taken = {key: given[group].get(key) for key in values}
            assert taken == values, place


@pytest.mark.parametrize("line", RUNS, ids=lambda line: f"{line[0]}, {line[1]}")
def test_runs_and_rules_are_those_of_the_text(line):
    name, dataset, method, n_runs, chosen, words = line
    for _, each, row in places_of(name, dataset, method):
        statement = protocol_of(name).statements(each, row)["runs"]
        assert (statement.n_runs, bool(statement.says)) == (n_runs, bool(words))
        assert protocol_of(name).selection(each, row).chosen == chosen


def test_every_setting_that_is_said_to_be_stated_is_transcribed():
    transcribed = {
        (*place, group, key)
        for names, dataset, method, _, wanted in STATED
        for name in names
        for place in places_of(name, dataset, method)
        for group, values in wanted.items()
        for key in values
    }
    in_methods = {(name, group, key) for name, _, _, group, key in transcribed}
    missing = {
        (name, field, group, key)
        for name, dataset, method in PLACES
        for field, statement in protocol_of(name).statements(dataset, method).items()
        if statement.says
        for group, values in statement.settings.items()
        for key in values
        if (name, group, key) not in in_methods
        and (name, key) not in READINGS
        and key != "published"  # the preset, which has a transcription of its own
    }
    assert missing == set()


def test_every_table_and_curve_is_transcribed():
    assert {name for name, _, _ in PLACES} == {each for line in STATED for each in line[0]}
    assert {name for name, _, _ in PLACES} == {line[0] for line in RUNS}


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


# The public code trains some methods for a number of epochs of their own.
OWN_EPOCHS = {("p0/table-3", "epochs"), ("p0/table-3", "warm_up")}


def test_presets_and_protocols_have_one_reading():
    """A preset and a protocol are two places of the same experiment of a paper."""
    for name, dataset, method in PLACES:
        training = protocol_of(name).settings(dataset, method).get("training", {})
        if "published" not in training:
            continue
        preset = PUBLISHED[training["published"]]
        held = {**preset.training, "scale": preset.scale}
        if preset.network is not None:
            network, settings = preset.network
            held |= {"network": network, "network_settings": json.loads(json.dumps(settings))}
        searched = {"validation_fraction"}  # presets never choose an epoch
        for key in held.keys() & training.keys() - searched:
            if (name, key) not in OWN_EPOCHS:
                assert training[key] == held[key], (name, dataset, method, key)


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
