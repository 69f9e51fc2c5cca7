"""The engine stream gives what memory gives: for any method, number of parts and kind of file."""

import numpy as np
import pandas as pd
import pytest
from part_tables import (
    assert_same,
    class_table,
    in_memory,
    number_table,
    settings_of,
    streamed,
    write,
)

import manyhands as mh
from manyhands.aggregation.evidence import gather_evidence
from manyhands.io import LabelFile
from manyhands.scale import StreamSettings, label_survey, stream_files
from manyhands.scale.agreement import agreement_sums, coefficients

METHODS = [name for name, method in mh.AGGREGATORS.items() if method.works_in_parts]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same(method, tmp_path):
    table = number_table() if mh.AGGREGATORS[method].kind == "numbers" else class_table()
    path, settings = write(table, tmp_path / "labels.parquet"), settings_of(method)
    expected = in_memory(path, method, settings=settings)
    assert_same(streamed(path, method, parts=4, settings=settings), expected)


@pytest.mark.parametrize("parts", [1, 2, 7, 40])
def test_any_number_of_parts_gives_the_same(parts, tmp_path):
    """One annotator gave half of all labels."""
    path = write(class_table(), tmp_path / "labels.parquet")
    settings = settings_of("dawid-skene")
    expected = in_memory(path, "dawid-skene", settings=settings)
    assert_same(streamed(path, "dawid-skene", parts=parts, settings=settings), expected)


def test_the_listed_methods_work_in_parts():
    listed = {"majority", "mean", "dawid-skene", "one-coin", "glad", "gaussian", "mixture"}
    defaults = {mh.aggregation.DEFAULTS[kind] for kind in ("classes", "numbers")}
    assert listed | defaults <= set(METHODS)


NAMES = {
    "numbers": lambda i: i,
    "below zero": lambda i: i - 50,
    "text": lambda i: f"item {i}",
    "zeros": lambda i: f"{i:04d}",
    "quotes": lambda i: f'a "{i}", b',
}


@pytest.mark.parametrize(
    ("suffix", "parts"), [(".csv", 3), pytest.param(".parquet", 60, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("names", NAMES)
def test_names_and_their_order_are_the_same(suffix, parts, names, tmp_path):
    table = class_table(n_items=40, n_labels=200)
    table["item"] = table["item"].map(NAMES[names])
    table["annotator"] = table["annotator"].map("w{}".format)
    path = write(table.sample(frac=1, random_state=0), tmp_path / f"labels{suffix}")
    assert_same(streamed(path, "majority", parts=parts), in_memory(path, "majority"))


def test_several_files_and_known_truths(tmp_path):
    table = class_table()
    for place in range(3):
        write(table[place::3], tmp_path / f"{place}.csv")
    write(table[:0], tmp_path / "9.parquet")
    known = {"5": "eel", 7: "cat"}
    files = [str(tmp_path / f"{place}.csv") for place in range(3)]
    found = streamed(files, "dawid-skene", known=known, parts=5)
    assert_same(found, in_memory(files, "dawid-skene", known=known))
    assert found[0].set_index("item").loc[5, "p_eel"] == 1


def test_the_default_method_and_kinds_of_labels(tmp_path):
    path = write(class_table(), tmp_path / "labels.csv")
    assert streamed(path)[2].method_name == mh.aggregation.DEFAULTS["classes"]
    path = write(number_table(), tmp_path / "numbers.csv")
    assert streamed(path)[2].method_name == "gaussian"
    codes = class_table().assign(label=lambda frame: frame["label"].str.len() + frame["item"] % 2)
    path = write(codes, tmp_path / "codes.csv")
    assert_same(streamed(path, "mean", parts=3), in_memory(path, "mean"))
    assert_same(streamed(path, "majority", parts=3), in_memory(path, "majority"))


@pytest.mark.parametrize("duplicates", ["keep", "first", "last"])
def test_duplicates_of_several_files(duplicates, tmp_path):
    table = class_table()
    files = [
        write(table, tmp_path / "1.parquet"),
        write(table.sample(frac=0.5, random_state=1).assign(label="eel"), tmp_path / "2.parquet"),
    ]
    reading = {"duplicates": duplicates}
    found = streamed(files, "one-coin", parts=4, **reading)
    assert_same(found, in_memory(files, "one-coin", **reading))
    assert (found[2].n_annotations > len(table)) == (duplicates == "keep")


def test_labels_that_are_dropped_or_listed(tmp_path):
    table = class_table()
    table.loc[::10, "label"] = "NA"
    path = write(table, tmp_path / "labels.csv")
    reading = {"missing": "NA", "classes": ["eel", "dog", "cat", "fox"]}
    found = streamed(path, "dawid-skene", parts=4, **reading)
    assert_same(found, in_memory(path, "dawid-skene", **reading))


def test_many_different_numbers_are_not_kept_as_words(tmp_path, monkeypatch):
    monkeypatch.setattr(label_survey, "MAX_WORDS", 10)
    table = number_table()
    path = write(table, tmp_path / "labels.csv")
    assert_same(streamed(path, "mean", parts=3), in_memory(path, "mean"))
    table["label"] = table["label"].astype(str).where(table.index != 500, "much")
    path = write(table, tmp_path / "words.csv")
    with pytest.raises(mh.ManyhandsError, match="distinct labels, and some are no numbers"):
        streamed(path, "mean")


def test_numbers_as_spreadsheets_write_them(tmp_path):
    table = number_table()
    table["label"] = table["label"].map(lambda value: f"{value:.1f}".replace(".", ","))
    path = write(table, tmp_path / "labels.csv")
    found, expected = streamed(path, "mean", parts=2), in_memory(path, "mean")
    assert_same(found, expected)
    assert found[2].crowd.annotations.source.notes == expected[2].annotations.source.notes


def test_an_annotator_per_file(tmp_path):
    for name, table in class_table().groupby("annotator"):
        write(table.drop(columns="annotator"), tmp_path / f"w{name}.csv")
    reading = {"annotator": "file name"}
    found = streamed(str(tmp_path), "one-coin", parts=3, **reading)
    assert_same(found, in_memory(str(tmp_path), "one-coin", **reading))


@pytest.mark.parametrize("n_classes", [1, 3])
def test_agreement_in_parts_is_that_of_all_labels(n_classes, tmp_path):
    table = class_table()
    again = table.sample(frac=0.3, random_state=0).assign(label="eel")  # the last label counts
    table = pd.concat([table, again, pd.DataFrame({"item": [500], "annotator": 3, "label": "cat"})])
    table["label"] = table["label"] if n_classes > 1 else "cat"
    path = write(table, tmp_path / "labels.parquet")
    annotations = mh.read(path)
    expected = {
        name: getattr(mh.agreement, name)(annotations, interval="none").value
        for name in ("percent", "fleiss", "gwet", "brennan_prediger", "alpha")
    }
    found = streamed(path, "majority", parts=4)[2].agreement
    assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_tables_of_agreement_in_parts_are_those_of_all_labels(tmp_path):
    table = class_table()
    again = table.sample(frac=0.3, random_state=0).assign(label="eel")  # the last label counts
    path = write(pd.concat([table, again]), tmp_path / "labels.parquet")
    annotations, stream = mh.read(path), StreamSettings(parts=4)
    with stream_files(LabelFile(path), "majority", stream=stream) as consensus:
        for name in ("by_class", "by_annotator"):
            found = getattr(consensus, f"agreement_{name}")()
            expected = getattr(mh.agreement, name)(annotations)[list(found.columns)]
            pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    path = write(number_table(), tmp_path / "numbers.parquet")
    with (
        stream_files(LabelFile(path), "mean", stream=stream) as consensus,
        pytest.raises(mh.ManyhandsError, match="labels are numbers"),
    ):
        consensus.agreement_by_class()


def test_agreement_of_single_labels_is_undefined():
    annotations = mh.Annotations.from_arrays([0, 1, 2], [0, 0, 1], [0, 1, 1])
    found = coefficients(agreement_sums(gather_evidence(annotations)))
    assert all(np.isnan(value) for value in found.values())


def test_labels_without_agreement_are_told(tmp_path):
    item, annotator = np.repeat(np.arange(100), 3), np.tile(np.arange(3), 100)
    table = pd.DataFrame({"item": item, "annotator": annotator, "label": (item + annotator) % 2})
    path = write(table, tmp_path / "labels.csv")
    found = streamed(path, "majority", parts=3)
    assert "hardly agree" in found[2].warnings[0]
    assert_same(found, in_memory(path, "majority"))
