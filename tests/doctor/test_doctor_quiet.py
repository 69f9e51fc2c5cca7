"""Honest crowds are not accused: no warning, no error."""

import itertools

import pytest

from manyhands.doctor import examine

SEEDS = 12


def alarms(tables, **reading):
    return [
        (seed, finding.check, finding.message)
        for seed, table in enumerate(tables)
        for finding in examine(table.rows(**reading)).findings
        if finding.severity != "note"
    ]


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("n_annotators", [20, 60, 200])
@pytest.mark.parametrize("per_item", [3, 5])
def test_honest_classes(make_classes, n_classes, n_annotators, per_item):
    setting = {"n_classes": n_classes, "n_annotators": n_annotators, "per_item": per_item}
    tables = (make_classes(seed, **setting) for seed in range(SEEDS))
    assert alarms(tables) == []


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("top_class", [0.9, 0.97])
def test_one_class_is_nearly_always_true(make_classes, n_classes, top_class):
    setting = {"n_classes": n_classes, "top_class": top_class, "n_annotators": 40}
    tables = (make_classes(seed, **setting) for seed in range(SEEDS))
    assert alarms(tables) == []


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("top_class", [None, 0.9])
def test_experts_agree_because_they_are_right(make_classes, n_classes, top_class):
    setting = {"n_classes": n_classes, "accuracy": (0.99, 0.99), "top_class": top_class}
    tables = (make_classes(seed, **setting) for seed in range(SEEDS))
    assert alarms(tables) == []


def test_few_experts_among_weak_annotators(make_classes):
    def table(seed):
        made = make_classes(seed, accuracy=(0.6, 0.7), n_classes=2)
        expert = (made.annotator < 3) & (made.rng.random(len(made.item)) < 0.98)
        names = {0: "cat", 1: "cow"}
        for n in expert.nonzero()[0]:
            made.label[n] = names[made.truth[made.item[n]]]
        return made

    assert alarms(table(seed) for seed in range(SEEDS)) == []


def test_honest_numbers(make_numbers):
    # Every check of people may be wrong once in a thousand tables.
    settings = itertools.product([(0.3, 1.5), (0.05, 0.1), (2.0, 4.0)], [3, 5], [0, 2])
    tables = [
        make_numbers(seed, noise=noise, per_item=per_item, digits=digits)
        for noise, per_item, digits in settings
        for seed in range(30)
    ]
    assert len(alarms(tables, kind="numbers")) <= len(tables) / 100


def test_long_tails_are_not_outliers(make_numbers):
    def table(seed):
        made = make_numbers(seed)
        made.label = (1.0 + made.rng.exponential(3.0, len(made.truth))[made.item]).round(2)
        made.label += made.rng.normal(0, 0.3, len(made.label)).round(2)
        return made

    assert alarms((table(seed) for seed in range(SEEDS)), kind="numbers") == []
