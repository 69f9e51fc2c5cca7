"""Every fault that is planted in an honest table is found, by the right name and row."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from manyhands.annotations import Annotations
from manyhands.annotations.rows import encode_rows
from manyhands.checks import CHECKS, check


@dataclass
class Fault:
    """What is done to a table, and what must be said about it."""

    check: str
    plant: Callable[[Any], dict[str, Any] | None]  # may return how the table is to be read
    severity: str = "warning"
    names: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    count: int | None = None
    kind: str = "classes"
    setting: dict[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()  # other warnings that the fault rightly brings


def labels_at(value, *rows):
    def plant(table):
        for row in rows:
            table.label[row - 1] = value

    return plant


def blank_annotators(table):
    names = np.array([f"person {a}" for a in table.annotator], dtype=object)
    names[[4, 9]] = ["", None]
    table.rows = lambda **reading: encode_rows(table.item, names, table.label, **reading)


def unlisted(table):
    return {"annotators": [f"person {a}" for a in range(1, 20)]}


def one_class(table):
    table.label[:] = "cat"


def free_text(table):
    table.label = np.array([f"words {n}" for n in range(len(table.item))], dtype=object)


def shuffled(table):
    table.label = table.rng.permutation(table.label)


def other_spelling(table):
    table.label[[2, 5]] = "Cat"
    table.label[8] = "cat "


def two_classes_in_one(table):
    table.label = table.label.astype(object)
    table.label[
        np.flatnonzero((table.label == "cat") & (table.rng.random(len(table.label)) < 0.02))
    ] = "cat;dog"


def spaced_person(table):
    names = np.array([f"person {a}" for a in table.annotator], dtype=object)
    names[np.flatnonzero(table.annotator == 3)[:20]] = "person  3 "
    table.rows = lambda **reading: encode_rows(table.item, names, table.label, **reading)


def said_again(table):
    for column in ("item", "annotator", "label"):
        values = getattr(table, column)
        setattr(table, column, np.append(values, values[[0, 1]]))
    table.label[-1] = "cow" if table.label[1] != "cow" else "cat"


def said_the_same_again(table):
    for column in ("item", "annotator", "label"):
        values = getattr(table, column)
        setattr(table, column, np.append(values, values[[0, 1]]))


def swapped_classes(table):
    follow = {"cat": "cow", "cow": "dog", "dog": "cat"}
    for n in np.flatnonzero(table.annotator == 7):
        table.label[n] = follow[table.label[n]]


def reversed_scale(table):
    at = table.annotator == 7
    table.label[at] = 40 - table.label[at]


def constant(share, value):
    def plant(table):
        at = (table.annotator == 7) & (table.rng.random(len(table.item)) < share)
        table.label[at] = value

    return plant


def at_random(table):
    at = np.flatnonzero(table.annotator == 7)
    table.label[at] = table.rng.choice(table.label, len(at))


def copied(noise):
    """Person 8 labels whatever person 7 labels, and says the same."""

    def plant(table):
        theirs = table.annotator == 7
        said = dict(zip(table.item[theirs], table.label[theirs], strict=True))
        beside = set(table.item[table.annotator == 8])
        for n in range(len(table.item)):
            item = table.item[n]
            if item in said and item not in beside and table.annotator[n] != 7:
                table.annotator[n] = 8
                beside.add(item)
            if table.annotator[n] == 8 and item in said:
                table.label[n] = said[item]
                if noise:
                    table.label[n] += round(table.rng.normal(0, noise), 2)

    return plant


def two_villages(table):
    """People 0 to 9 see the first half of the items, the others the second half."""
    half = table.item < table.item.max() / 2
    table.annotator = np.where(half, table.annotator % 10, 10 + table.annotator % 10)
    pair = table.item * 100 + table.annotator
    kept = np.unique(pair, return_index=True)[1]
    for column in ("item", "annotator", "label"):
        setattr(table, column, getattr(table, column)[kept])


def keep(choose):
    def plant(table):
        kept = choose(table)
        for column in ("item", "annotator", "label"):
            setattr(table, column, getattr(table, column)[kept])

    return plant


def first_of_item(table):
    return np.append(True, table.item[1:] != table.item[:-1])


def spread_thin(table):
    row = np.arange(len(table.item))
    table.annotator = (row + 2 * (row // 1000)) % 1000  # the shift joins all into one crowd


def numbers(plant, **told):
    return Fault(plant=plant, kind="numbers", **told)


PERSON = ("person 7",)
PAIR = ("person 7 ~ person 8",)
MANY = {"n_classes": 4, "n_items": 1200, "accuracy": (0.7, 0.95)}

FAULTS = [
    Fault("no-labels", labels_at("", *range(1, 3001)), "error",
          also=("blank-label", "unlabelled-items")),
    Fault("blank-label", labels_at("", 3, 7), "error", rows=(3, 7), count=2),
    Fault("blank-label", labels_at(None, 3), "error", rows=(3,), count=1),
    Fault("blank-name", blank_annotators, "error", rows=(5, 10), count=2),
    Fault("unlisted-name", unlisted, "error"),
    Fault(
        "label-outside-classes",
        lambda table: labels_at("gnu", 6)(table) or {"classes": ["cat", "cow", "dog"]},
        "error",
        rows=(6,),
        count=1,
    ),
    Fault("no-agreement", shuffled, setting={"n_classes": 4, "n_items": 1200}),
    Fault("one-class", one_class, names=("cat",)),
    Fault("many-classes", free_text),
    *(
        Fault("looks-missing", labels_at(word, 6, 9), names=(word,), rows=(6, 9), count=2)
        for word in ("NA", "n/a", "null", "None", "?", "skip", "-")
    ),
    *(
        Fault("looks-missing", labels_at(word, 6), "note", names=(word,), rows=(6,))
        for word in ("unknown", "Unsure", "don't know")
    ),
    Fault("looks-like-sets", two_classes_in_one, names=("cat;dog",), count=1),
    Fault("near-duplicate-classes", other_spelling, names=("'Cat'", "'cat '"), count=3),
    Fault("near-duplicate-names", spaced_person, names=("person  3 ", "person 3"), count=2),
    Fault("repeated-pair", said_again, rows=(2, 3002, 1, 3001), count=2),
    Fault("repeated-pair", said_the_same_again, "note", rows=(1, 3001, 2, 3002), count=2),
    Fault("below-chance", swapped_classes, names=PERSON, count=1),
    Fault("constant-annotator", constant(1.0, "cat"), names=PERSON, count=1),
    Fault("constant-annotator", constant(0.98, "cow"), names=PERSON, count=1),
    Fault("random-annotator", at_random, names=PERSON, count=1, setting=MANY),
    Fault("copies", copied(0), names=PAIR, count=1),
    Fault("copies", copied(0), names=PAIR, count=1, setting={"per_item": 3, "n_items": 1200}),
    Fault("copies", copied(0), names=PAIR, count=1, setting={"n_classes": 10}),
    Fault("disconnected-crowd", two_villages, count=10),
    Fault("single-label-items", keep(first_of_item), count=600,
          also=("disconnected-crowd",)),
    Fault("too-few-annotators", keep(lambda table: table.annotator == 3), names=("person 3",),
          also=("single-label-items",)),
    Fault("few-labels-annotators", spread_thin, count=1000),
    Fault("unlabelled-items", lambda table: {"items": [f"item {i}" for i in range(700)]},
          count=100),
    Fault("class-never-said", lambda table: {"classes": ["cat", "cow", "dog", "gnu"]}, "note",
          names=("gnu",), count=1),
    Fault("class-never-said", labels_at("gnu", 6), "note", names=("gnu",), rows=(6,), count=1),
    Fault("imbalance", lambda table: None, "note", names=("cat",),
          setting={"top_class": 0.98, "accuracy": (0.98, 0.99)}),
    numbers(labels_at(np.inf, 6), check="infinite-label", severity="error", rows=(6,), count=1),
    numbers(labels_at(999.0, 6, 9), check="outlier-numbers", names=("999",), rows=(6, 9), count=2),
    numbers(labels_at(-1.0, 6, 9, 11), check="looks-missing", names=("-1",), rows=(6, 9, 11),
 count=3),
    numbers(reversed_scale, check="below-chance", names=PERSON, count=1),
    numbers(constant(1.0, 20.0), check="constant-annotator", names=PERSON, count=1),
    numbers(at_random, check="random-annotator", names=PERSON, count=1, setting={"n_items": 2400}),
    numbers(copied(0.1), check="copies", names=PAIR, count=1, setting={"noise": (0.8, 1.5)}),
    numbers(shuffled, check="no-agreement", setting={"n_items": 1200}),
]  # fmt: skip


def check_planted(fault, make_classes, make_numbers, seed=0):
    make = make_classes if fault.kind == "classes" else make_numbers
    table = make(seed, **fault.setting)
    table.label = np.array(table.label, dtype=object if fault.kind == "classes" else float)
    reading = fault.plant(table) or {}
    if fault.kind == "numbers":
        reading["kind"] = "numbers"
    rows = table.rows(source="labels.csv", first_line=2, **reading)
    return check(rows)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.check}-{fault.kind}")
def test_planted_fault_is_found(fault, make_classes, make_numbers):
    report = check_planted(fault, make_classes, make_numbers)
    found = [finding for finding in report.findings if finding.check == fault.check]
    assert len(found) == 1, report.findings
    finding = found[0]
    assert finding.severity == fault.severity
    assert set(fault.names) <= set(finding.names)
    assert finding.rows[: len(fault.rows)] == fault.rows
    assert fault.count in (None, finding.count)
    assert finding.message
    assert "\n" not in finding.message + finding.remedy
    assert all(place.startswith("labels.csv, line ") for place in finding.places)
    loud = {each.check for each in report.findings if each.severity != "note"}
    expected = set(fault.also) | ({fault.check} if fault.severity != "note" else set())
    assert loud == expected
    assert report.ok == (not loud)


def test_every_check_has_a_planted_fault():
    of_sets = {"mixed-separators"}  # planted in the tests of sets
    assert {fault.check for fault in FAULTS} == set(CHECKS) - of_sets


PEOPLE = [fault for fault in FAULTS if fault.names in (PERSON, PAIR)]


@pytest.mark.parametrize("fault", PEOPLE, ids=lambda fault: f"{fault.check}-{fault.kind}")
def test_people_are_found_in_other_tables_too(fault, make_classes, make_numbers):
    hits, wrongly = 0, 0
    for seed in range(1, 11):
        report = check_planted(fault, make_classes, make_numbers, seed)
        accused = {name for f in report.findings if f.severity != "note" for name in f.names}
        hits += set(fault.names) <= accused
        wrongly += not accused <= set(fault.names)
    assert hits >= 7
    assert wrongly == 0


def test_two_swapped_annotators_are_no_copies(make_classes):
    for seed in range(10):
        table = make_classes(seed, n_classes=2, n_items=1200)
        at = np.isin(table.annotator, (3, 4))
        table.label[at] = np.where(table.label[at] == "cat", "cow", "cat")
        loud = {f.check for f in check(table.rows()).findings if f.severity != "note"}
        assert loud <= {"below-chance"}


def test_two_constant_annotators_are_no_copies(make_classes):
    for seed in range(10):
        table = make_classes(seed)
        table.label[np.isin(table.annotator, (3, 4))] = "cow"
        loud = {f.check for f in check(table.rows()).findings if f.severity != "note"}
        assert loud == {"constant-annotator"}


def test_schools_of_opinion_are_no_copies(make_classes):
    for seed in range(10):
        table = make_classes(seed, n_items=1200)
        table.label[(table.annotator % 2 == 0) & (table.label == "cow") & (table.item % 2 == 0)] = (
            "dog"
        )
        loud = {f.check for f in check(table.rows()).findings if f.severity != "note"}
        assert loud == set()


def test_whole_number_codes_for_missing():
    item, annotator = np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60)
    label = np.repeat(np.arange(60) % 5, 3)
    label[[4, 8]] = -1
    found = check(Annotations.from_arrays(item, annotator, label)).findings
    assert [(f.check, f.names) for f in found if f.severity != "note"] == [
        ("looks-missing", ("-1",))
    ]
    label[[4, 8]] = 99
    found = check(Annotations.from_arrays(item, annotator, label)).findings
    assert [(f.check, f.names) for f in found if f.severity != "note"] == [
        ("looks-missing", ("99",))
    ]
    label[[4, 8]] = [-1, -2]  # a scale that goes below zero
    assert check(Annotations.from_arrays(item, annotator, label)).ok
