"""A run of the comparison: what it chooses by, and what it records."""

import base64
from dataclasses import replace

import numpy as np
import pytest

from manyhands.engine.batches import split_labels
from manyhands.experiments.compared_methods import candidates_of, shown_difference
from manyhands.experiments.comparison import SEARCH, ComparisonRun, right_items
from manyhands.experiments.data import CorpusSource
from manyhands.experiments.runs import execute, execute_together, fit_method
from manyhands.methods import METHODS

RATES = ({"training": {"learning_rate": 0.5}}, {"training": {"learning_rate": 1e-2}})
SOLVED = ({"method": {"settings": {"l2": 100.0}}}, {"method": {"settings": {"l2": 1.0}}})


@pytest.fixture(scope="module")
def source():
    return CorpusSource("labelme")


def test_the_candidate_is_chosen_by_held_out_labels_alone(source, data):
    record = execute(ComparisonRun(source, "two-stage-majority", 1, RATES), data)
    held_out = [each["held_out"] for each in record["tried"]]
    assert len(held_out) == 2
    assert record["chosen"] == int(np.argmax(held_out))
    chosen = record["tried"][record["chosen"]]
    assert {name: record["scores"][name] for name in chosen if name != "held_out"} == {
        name: value for name, value in chosen.items() if name != "held_out"
    }


def test_a_candidate_is_the_method_with_a_search_for_its_epoch(source, data):
    record = execute(ComparisonRun(source, "speelfc", 0, RATES[1:]), data)
    trial = source.load(data, 0).trial
    training = {**SEARCH, **RATES[1]["training"]}
    model = fit_method(trial, "speelfc", 0, {"training": training})
    assert record["scores"]["epochs"] == model.epoch_
    right = model.predict_proba(trial.test_features).argmax(axis=1) == trial.test_truth
    assert right_items(record).tolist() == right.tolist()
    assert record["scores"]["accuracy"] == pytest.approx(right.mean(), abs=1e-6)


def test_a_solved_method_is_judged_on_labels_it_has_not_seen(source, data):
    record = execute(ComparisonRun(source, "raykar", 2, SOLVED), data)
    trial = source.load(data, 2).trial
    kept, held = split_labels(trial.annotations, 0.15, 2)
    for settings, tried in zip(SOLVED, record["tried"], strict=True):
        part = fit_method(replace(trial, annotations=kept), "raykar", 2, settings)
        seen = part.predict_labels(trial.features, held).log_likelihood_n
        assert tried["held_out"] == pytest.approx(seen.mean(), abs=1e-6)
    assert record["tried"][0]["accuracy"] != record["tried"][1]["accuracy"] or (
        record["tried"][0]["log_loss"] != record["tried"][1]["log_loss"]
    )


def test_seeds_as_one_program_give_the_same_choice(source, data):
    runs = [ComparisonRun(source, "crowd-layer-mw", seed, RATES) for seed in (0, 1)]
    assert len({run.group for run in runs}) == 1
    together = execute_together(runs, data)
    for run, found in zip(runs, together, strict=True):
        alone = execute(run, data)
        assert found["key"] == alone["key"]
        assert found["chosen"] == alone["chosen"]
        assert found["right"] == alone["right"]
    assert ComparisonRun(source, "raykar", 0, SOLVED).group == ""


def test_every_method_has_as_many_settings_to_choose_from():
    for name, method in METHODS.items():
        if "classification" in method.tasks and name != "ma-slda-c":
            assert len(candidates_of(name)) == 4, name


def test_a_difference_is_that_of_shared_seeds(source, data):
    records = [execute(ComparisonRun(source, "raykar", seed, SOLVED[:1]), data) for seed in (0, 1)]
    assert shown_difference(records, records[:1]) == "+0.0 [+0.0, +0.0]"
    assert shown_difference(records[:1], records[1:]) == "-"
    flip = {"right": base64.b64encode(bytes(len(base64.b64decode(records[0]["right"])))).decode()}
    wrong = [{**each, **flip} for each in records]
    assert shown_difference(wrong, records).endswith("≠")
    assert "≠" not in shown_difference(wrong[:1], records)  # one seed tells nothing of others


def test_a_candidate_whose_training_diverges_is_not_chosen(source, data):
    diverging = {"training": {"learning_rate": 1e30, "max_grad_norm": None}}
    record = execute(ComparisonRun(source, "semi-lfc", 0, (diverging, RATES[1])), data)
    assert record["tried"][0] == {"diverged": True}
    assert record["chosen"] == 1
    record = execute(ComparisonRun(source, "semi-lfc", 0, (diverging,)), data)
    assert "the loss is not finite" in record["error"]
