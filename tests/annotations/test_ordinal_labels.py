"""Ordinal labels: classes with an order, from the data, an argument or a known scale."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import manyhands as mh
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError

ITEMS, PEOPLE = [1, 1, 2, 2], ["u", "v", "u", "v"]


def ordinal(label, **settings):
    return Annotations.from_arrays(ITEMS, PEOPLE, label, **({"kind": "ordinal"} | settings))


@pytest.mark.parametrize(
    ("label", "levels"),
    [
        ([10, 9, 1, 9], [1, 9, 10]),
        (["10", "9.5", "-1", "9.5"], ["-1", "9.5", "10"]),
        ([0.5, 0.1, 0.25, 0.5], ["0.1", "0.25", "0.5"]),
        (["good", "bad", "fair", "bad"], ["bad", "fair", "good"]),
        (["Often", "never", "ALWAYS", "never"], ["never", "Often", "ALWAYS"]),
        (["strongly_agree", "disagree", "agree", "agree"], ["disagree", "agree", "strongly_agree"]),
        (["high", "low", "high", "high"], ["low", "high"]),
    ],
)
def test_the_order_comes_from_the_values_or_a_known_scale(label, levels):
    ann = ordinal(label)
    assert ann.kind == "classes"
    assert ann.ordered
    assert ann.classes.tolist() == levels
    assert [str(name) for name in ann.label_names()] == [str(name) for name in label]


def test_words_without_a_known_order_need_levels():
    with pytest.raises(DataError, match=r"order of the levels 'x', 'y' is not known.*levels="):
        ordinal(["x", "y", "y", "x"])
    ann = ordinal(["x", "y", "y", "x"], kind=None, levels=["y", "x", "w"])
    assert ann.classes.tolist() == ["y", "x", "w"]
    assert ann.label.tolist() == [1, 0, 0, 1]
    assert repr(ann).endswith("3 levels)")


@pytest.mark.parametrize("other", [{"classes": ["a"]}, {"kind": "numbers"}, {"kind": "classes"}])
def test_levels_contradict_other_settings(other):
    with pytest.raises(SettingError, match="levels lists the classes of ordinal labels"):
        Annotations.from_arrays(ITEMS, PEOPLE, [1, 2, 1, 2], levels=[1, 2], **other)


def test_blank_and_dropped_labels_keep_their_meaning():
    ann = ordinal(["9.5", "10", "", "NA"], missing=["", "NA"])
    assert ann.classes.tolist() == ["9.5", "10"]
    assert ann.label.tolist() == [0, 1]
    with pytest.raises(DataError, match="blank"):
        ordinal(["9.5", "10", "", "1.5"])


def test_categorical_columns_give_the_order_if_they_have_one():
    words, order = ["x", "y", "z", "x"], ["z", "x", "y"]
    columns = {"item": ITEMS, "annotator": PEOPLE}
    ordered = pd.DataFrame(columns | {"label": pd.Categorical(words, order, ordered=True)})
    assert Annotations.from_frame(ordered, kind="ordinal").classes.tolist() == order
    enum = pl.DataFrame(columns | {"label": pl.Series(words, dtype=pl.Enum(order))})
    assert Annotations.from_frame(enum, kind="ordinal").classes.tolist() == order
    unordered = pd.DataFrame(columns | {"label": pd.Categorical(words, order)})
    with pytest.raises(DataError, match="not known"):
        Annotations.from_frame(unordered, kind="ordinal")


def test_views_keep_the_order_and_new_levels_are_refused():
    ann = ordinal([3, 1, 2, 3])
    assert ann[:1].ordered
    assert ann.only(np.array([0])).ordered
    assert ann.as_kind("classes") is ann
    assert ann.as_kind("ordinal") is ann
    more = Annotations.from_arrays([3], ["u"], [2])
    assert ann.extended(more).ordered
    with pytest.raises(DataError, match="the label 4 is none of the levels 1, 2, 3"):
        ann.extended(Annotations.from_arrays([3], ["u"], [4]))


def test_labels_become_ordinal_afterwards():
    numbers = Annotations.from_arrays(ITEMS, PEOPLE, [0.5, 2.0, 1.0, 0.5])
    assert numbers.as_kind("ordinal").classes.tolist() == ["0.5", "1", "2"]
    assert numbers.as_kind("ordinal").label.tolist() == [0, 2, 1, 0]
    words = Annotations.from_arrays(ITEMS, PEOPLE, ["good", "bad", "fair", "bad"])
    assert words.classes.tolist() == ["bad", "fair", "good"]
    assert not words.ordered
    assert words.as_kind("ordinal").ordered


def test_files_are_read_with_levels(tmp_path):
    path = tmp_path / "grades.csv"
    path.write_text("item,annotator,label\n1,u,pass\n1,v,fail\n2,u,merit\n")
    ann = mh.read_annotations(path, levels=["fail", "pass", "merit"])
    assert ann.ordered
    assert mh.read(path, levels=["fail", "pass", "merit"]).label.tolist() == ann.label.tolist()
    with pytest.raises(DataError, match=r"grades.csv: the order of the levels"):
        mh.read(path, kind="ordinal")
    wide = tmp_path / "wide.csv"
    wide.write_text("item,annotator_1,annotator_2\n1,2.5,10\n2,2.5,\n")
    assert mh.read(wide, kind="ordinal").classes.tolist() == ["2.5", "10"]


def test_numbers_with_a_decimal_comma_are_in_their_order():
    labels = Annotations.from_arrays(
        [1, 1, 2, 2], list("uvuv"), ["10,0", "2,5", "2,0", "2,5"], kind="ordinal"
    )
    assert labels.classes.tolist() == ["2,0", "2,5", "10,0"]
    with pytest.raises(DataError, match="'1,500', '2,000' is not known"):
        Annotations.from_arrays([1, 1], list("uv"), ["1,500", "2,000"], kind="ordinal")
