"""Comparisons of two items: columns, winners, order of rows, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import manyhands as mh
from manyhands.annotations.pair_columns import choose_pair_columns, has_pairs
from manyhands.core.errors import DataError, SettingError


def rows(pairs):
    return sorted(map(tuple, pairs.to_frame().astype(str).to_numpy().tolist()))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["left", "right", "annotator", "winner"], ("left", "right", "winner", "annotator")),
        (["model_a", "model_b", "winner", "judge", "turn"],
         ("model_a", "model_b", "winner", "judge")),
        (["id", "response_1", "response_2", "preference", "worker_id"],
         ("response_1", "response_2", "preference", "worker_id")),
        (["optionA", "optionB", "preferred"], ("optionA", "optionB", "preferred", None)),
        (["prompt", "chosen", "rejected"], ("chosen", "rejected", None, None)),
        (["left_id", "left_text", "right_id", "right_text", "winner", "user"],
         ("left_id", "right_id", "winner", "user")),
    ],
)  # fmt: skip
def test_columns_are_found_by_their_names(columns, expected):
    assert has_pairs(columns)
    assert choose_pair_columns(columns) == expected


@pytest.mark.parametrize(
    "columns",
    [
        ["item", "annotator", "label"],
        ["id1", "id2", "annotator", "label"],
        ["rater_1", "rater_2", "id"],
        ["item", "x", "y", "label"],
    ],
)
def test_other_tables_are_not_taken_for_comparisons(columns):
    assert not has_pairs(columns)


def test_names_that_do_not_tell_are_asked_for():
    with pytest.raises(DataError, match=r"left=\.\.\. and right=\.\.\."):
        choose_pair_columns(["one_thing", "other", "winner"])
    with pytest.raises(DataError, match="no column looks like the winner"):
        choose_pair_columns(["left", "right", "annotator"])
    with pytest.raises(DataError, match="several columns may be the winner"):
        choose_pair_columns(["left", "right", "winner", "winner_2"])
    with pytest.raises(DataError, match="both items must be named"):
        choose_pair_columns(["x1", "x2", "winner"], left="x1")


@pytest.mark.parametrize(
    ("winners", "names"),
    [
        (["a", "b", "tie"], ("left", "right")),
        (["left", "RIGHT", "draw"], ("left", "right")),
        (["A", "B", "both"], ("left", "right")),
        (["1", "2", "equal"], ("reply_1", "reply_2")),
        (["reply_1", "reply_2", "Tie (bothbad)"], ("reply_1", "reply_2")),
    ],
)
def test_winners_are_items_sides_or_ties(winners, names):
    frame = pd.DataFrame(
        {names[0]: ["a", "a", "b"], names[1]: ["b", "b", "c"], "annotator": ["u", "u", "v"],
         "winner": winners}
    )  # fmt: skip
    pairs = mh.Comparisons.from_frame(frame)
    assert rows(pairs) == [
        ("a", "b", "u", "left"),
        ("a", "b", "u", "right"),
        ("b", "c", "v", "tie"),
    ]


def test_other_words_are_explained_by_a_setting():
    columns = ["a", "b"], ["b", "c"], ["u", "u"], [0, "X"]
    with pytest.raises(DataError, match=r"row 1: the winner '0' is neither 'a' nor 'b'.*outcomes"):
        mh.Comparisons.from_arrays(*columns)
    pairs = mh.Comparisons.from_arrays(*columns, outcomes={0: "right", "x": "tie"})
    assert pairs.outcome.tolist() == [1, 2]
    assert mh.Comparisons.from_arrays(*columns, outcomes={0: "left"}, missing="X").n_items == 3
    with pytest.raises(SettingError, match="outcomes must be one of left, right, tie"):
        mh.Comparisons.from_arrays(*columns, outcomes={0: "first"})


def test_items_that_are_called_like_sides_need_a_word():
    columns = ["B", "A"], ["A", "B"], ["u", "u"], ["A", "B"]
    with pytest.raises(SettingError, match="winner_is='item' or winner_is='side'"):
        mh.Comparisons.from_arrays(*columns)
    by_item, by_side = (
        mh.Comparisons.from_arrays(*columns, winner_is=each) for each in ("item", "side")
    )
    assert by_item.winners.tolist() == ["B", "A"]
    assert by_side.winners.tolist() == ["B", "B"]


def test_items_decide_if_some_winner_can_be_no_side():
    pairs = mh.Comparisons.from_arrays(["B", "A"], ["A", "C"], ["u", "u"], ["A", "C"])
    assert pairs.winners.tolist() == ["C", "A"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("a", "a", "u", "left"), "row 2: the item 'a' is compared with itself; remove the row"),
        (("", "a", "u", "left"), "row 2: the left item is blank"),
        (("a", "b", None, "left"), "row 2: the annotator is blank"),
        (("a", "b", "u", " "), "row 2: the winner is blank; drop such rows with missing=''"),
        (("a", "b", "u", "c"), "row 2: the winner 'c' is neither 'a' nor 'b', nor a side"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(row, message):
    with pytest.raises(DataError) as error:
        mh.Comparisons.from_arrays(*zip(("a", "b", "u", "left"), row, strict=True))
    assert message in str(error.value)


def test_the_order_of_rows_has_no_influence():
    columns = np.array([list("abca"), list("bcab"), list("uvuv"), ["left", "tie", "right", "left"]])
    first = mh.Comparisons.from_arrays(*columns)
    second = mh.Comparisons.from_arrays(*columns[:, [2, 0, 3, 1]])
    assert all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("left", "right", "annotator", "outcome")
    )


def test_swapping_sides_twice_changes_nothing():
    pairs = mh.Comparisons.from_arrays(list("abc"), list("bca"), list("uvu"), ["a", "tie", "c"])
    assert rows(pairs.swapped().swapped()) == rows(pairs)
    assert sorted(map(str, pairs.swapped().winners)) == sorted(map(str, pairs.winners))


def test_comparisons_are_an_array_of_rows():
    pairs = mh.Comparisons.from_arrays(list("abc"), list("bca"), list("uvu"), ["a", "tie", "c"])
    assert (len(pairs), pairs.shape, pairs.n_items, pairs.n_ties) == (3, (3,), 3, 1)
    assert len(pairs[:2]) == 2
    assert pairs[np.array([True, False, True])].n_annotations == 2
    assert pairs.counts()["wins"].tolist() == [1, 0, 1]
    assert "3 comparisons of 3 items" in pairs._repr_html_()


def test_labels_of_items_are_not_comparisons():
    pairs = mh.Comparisons.from_arrays(["a"], ["b"], ["u"], ["a"])
    with pytest.raises(DataError, match="comparisons of two items: rank these with aggregate"):
        mh.annotations.as_annotations(pairs)
    with pytest.raises(SettingError, match="kind='pairs' is for tables with two items"):
        mh.Annotations.from_arrays(["a"], ["u"], ["x"], kind="pairs")
