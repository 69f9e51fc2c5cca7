"""What a table is taken for is right, said, or refused."""

import json

import pandas as pd
import pytest

import manyhands as mh
from manyhands.core.errors import DataError


def write(tmp_path, text, name="labels.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_equal_texts_under_different_ids_stay_different_items_and_are_told(tmp_path):
    rows = ["1,same words,u,x", "1,same words,v,x", "2,same words,u,y", "3,other words,v,y"]
    path = write(tmp_path, "id,text,annotator,label\n" + "\n".join(rows) + "\n")
    ann = mh.read(path)
    assert ann.n_items == 3
    assert str(ann.source) == "items: id, annotators: annotator, labels: label"
    assert ann.source.notes == (
        "1 items repeat the text of another item; they stay different items",
    )


def test_items_that_only_have_a_text_are_told_apart_by_it(tmp_path):
    path = write(tmp_path, "text,annotator,label\nhello there,u,x\nhello there,v,y\n")
    ann = mh.read(path)
    assert ann.n_items == 1
    assert "rows with equal text are one item" in ann.source.notes[0]


def test_a_text_beside_the_item_of_a_wide_table_is_no_annotator(tmp_path):
    rows = ["1,this is the first sentence,x,y", "2,and here is another one,x,x"]
    path = write(tmp_path, "id,text,ann,ben\n" + "\n".join(rows) + "\n")
    ann = mh.read(path, layout="wide")
    assert ann.annotators.tolist() == ["ann", "ben"]
    assert sorted(ann.classes) == ["x", "y"]
    assert "'text' holds texts and is no annotator" in ann.source.notes[0]
    unnamed = write(tmp_path, path.read_text().replace("text", "what"), "other.csv")
    assert mh.read(unnamed, layout="wide").annotators.tolist() == ["ann", "ben"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([f"a long answer number {n} of many" for n in range(30)], "these are no classes"),
        ([str(1000 + n) for n in range(30)], "these are no classes"),
        (['"[""a"", ""b""]"', '"[""a""]"'] * 15, "holds lists"),
    ],
)
def test_texts_ids_and_lists_are_no_labels(tmp_path, cells, message):
    rows = [f"{n // 2},u{n % 2},{cell}" for n, cell in enumerate(cells)]
    path = write(tmp_path, "item,annotator,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match=message):
        mh.read(path)
    assert mh.read(path, kind="classes").n_annotations == 30


def test_measurements_that_all_differ_are_numbers(tmp_path):
    rows = [f"{n // 2},u{n % 2},{n / 7:.3f}" for n in range(30)]
    ann = mh.read(write(tmp_path, "item,annotator,label\n" + "\n".join(rows) + "\n"))
    assert ann.kind == "numbers"


def test_texts_are_no_annotators(tmp_path):
    rows = [f"{n},this one is said by user {n},x" for n in range(10)]
    with pytest.raises(DataError, match="taken for the annotator, holds texts"):
        mh.read(write(tmp_path, "item,user,label\n" + "\n".join(rows) + "\n"))


def test_a_json_list_of_records_is_a_table(tmp_path):
    records = [
        {"id": 1, "text": "a b", "annotator": "u", "label": "x"},
        {"id": 1, "text": "a b", "annotator": "v", "label": "y", "note": "unsure"},
    ]
    ann = mh.read(write(tmp_path, json.dumps(records), "labels.json"))
    assert (ann.n_items, ann.n_annotators, sorted(ann.classes)) == (1, 2, ["x", "y"])
    assert ann.source.item == "id"


def test_every_layout_says_what_it_took(tmp_path):
    dense = mh.read(write(tmp_path, "0 1\n1 1\n", "labels.txt"), task="classification")
    assert str(dense.source) == "items: rows, annotators: columns, labels: cells"
    nested = mh.read(write(tmp_path, '{"a": {"u": "x", "v": "y"}}', "labels.json"))
    assert nested.source.as_dict() == {
        "path": str(tmp_path / "labels.json"),
        "layout": "nested",
    }
    wide = mh.read(write(tmp_path, "item,u,v\na,x,y\n"), layout="wide")
    assert str(wide.source) == "items: item, annotators: u, v, labels: their cells"


def crowd(columns, n_items=12):
    """A table of three labels per item, from what makes the cells of a row."""
    rows = [(i, (i + a) % 4) for i in range(n_items) for a in range(3)]
    lines = [",".join(str(make(row, i, a)) for make in columns.values())
             for row, (i, a) in enumerate(rows)]  # fmt: skip
    return ",".join(columns) + "\n" + "\n".join(lines) + "\n"


ITEM, WHO = lambda row, i, a: f"i{i}", lambda row, i, a: f"w{a}"
SAID, ROW = lambda row, i, a: "xy"[(i + (row % 5 == 0)) % 2], lambda row, i, a: row
PART = lambda row, i, a: f"p{row % 3}"  # noqa: E731


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        # an id that differs in every row, and a column of unknown name that repeats
        ({"id": ROW, "scene": ITEM, "user": WHO, "label": SAID}, "may be the item"),
        # several questions about an item: its labels differ by the question
        ({"item": lambda row, i, a: i // 3, "annotator": lambda row, i, a: "u", "label": SAID,
          "aspect": PART}, "several times, and 'aspect'"),
        # who wrote the item is not who labelled it
        ({"tweet_id": ITEM, "user_id": ITEM, "who": WHO, "label": SAID}, "several times"),
        # labels in the place of annotators
        ({"item": ITEM, "expert": SAID, "label": SAID}, "holds the same cells as the label"),
        ({"item": ITEM, "annotator": WHO, "label": SAID, "answer": WHO}, "may be the label"),
        ({"item": ITEM, "annotator": WHO, "label": SAID, "label_2": PART}, "may be the label"),
        ({"item": ITEM, "annotator": WHO, "toxicity": SAID, "toxicity_score": PART},
         "may be the label"),
        ({"left_document_id": ITEM, "right_document_id": PART, "annotator": WHO, "label": SAID},
         "may be the item"),
        ({"item": ITEM, "annotator": WHO, "response": lambda row, i, a: f"2024-01-0{i % 9}"},
         "holds times"),
        ({"item": ITEM, "annotator": WHO, "gold_label": SAID}, "no column looks like the label"),
        ({"item": ITEM, "worker_country": WHO, "label": SAID}, "looks like the annotator"),
        ({"item_1": ITEM, "worker_1": WHO, "label_1": SAID}, "no column looks like"),
    ],
)  # fmt: skip
def test_a_doubtful_reading_is_refused(columns, message, tmp_path):
    with pytest.raises(DataError, match=message) as caught:
        mh.read(write(tmp_path, crowd(columns)))
    assert "=" in str(caught.value)


def test_columns_that_are_named_are_not_doubted(tmp_path):
    columns = {"tweet_id": ITEM, "user_id": ITEM, "who": WHO, "label": SAID}
    path = write(tmp_path, crowd(columns))
    assert mh.read(path, annotator="who").n_annotators == 4
    assert mh.read(path, item="tweet_id", annotator="user_id").n_annotators == 12


def test_an_id_that_numbers_the_rows_is_no_item_and_that_is_told(tmp_path):
    ann = mh.read(write(tmp_path, crowd({"id": ROW, "text": ITEM, "worker": WHO, "label": SAID})))
    assert (ann.n_items, ann.source.item) == (12, "text")
    assert "id numbers the rows" in ann.source.notes[0]


PAIRS = "post_id,post,reply,annotator_id,label\n" + "".join(
    f"p{i},P {i},R {i} {r},w{4 * i + 2 * r + a},{'xy'[r]}\n"
    for i in range(3) for r in range(2) for a in range(2)
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # what is labelled, beside the labels
        ("item_id,rater_id,context,response,Q_overall\n1,a,hi,hello there,Yes\n"
         "1,b,hi,hello there,No\n2,a,yo,go away,Yes\n2,b,yo,go away,Yes\n",
         "may be the label: 'response' .* 'Q_overall' .*label=..."),
        ("question,answer,annotator,correct\none?,1,a,yes\none?,1,b,no\none?,2,a,no\n"
         "one?,2,b,no\ntwo?,2,a,yes\ntwo?,3,a,no\n",
         "may be the label: 'answer' .* 'correct' .*label=..."),
        # items that are made of two columns
        (PAIRS, "may be the item: 'post_id' .* 'reply' .*item=.*example post_id_reply"),
        (PAIRS.replace("reply", "reply_id", 1).replace("post,", "text,", 1), "'reply_id'"),
        (PAIRS.replace("reply", "model", 1).replace("post,", "text,", 1), "'model'"),
        ("id1,id2,annotator,label\n1,1,a,x\n1,2,a,y\n1,1,b,x\n1,2,b,x\n",
         "name it with item=.*one column of both .for example id1_id2"),
        ("image_id,box_id,annotator,label\n1,1,a,x\n1,2,a,y\n1,1,b,x\n1,2,b,x\n",
         "item=.*one column of both .for example image_id_box_id"),
        ("image_id,box_id,annotator,label\n1,1,a,x\n1,2,a,y\n1,1,b,x\n1,2,b,x\n2,1,a,y\n2,2,a,y\n",
         "several times, .*one column of both .for example image_id_box_id"),
        ("left_image,right_image,annotator,label\n1,1,a,x\n1,2,a,y\n1,1,b,x\n1,2,b,x\n",
         "example left_image_right_image"),
        # who wrote the item
        ("tweet_id,user,label\n1,u1,x\n1,u1,y\n1,u1,x\n2,u2,y\n2,u2,y\n",
         "'user', taken for the annotator, is the same in all rows .*annotator=..."),
        # no line of names
        ("d000,w5,pos\nd000,w1,neg\nd001,w5,pos\nd001,w2,pos\n",
         "the first line .'d000', 'w5', 'pos'. looks like data: add a line with the names"),
        ("7,this is a good film,11,1\n7,this is a good film,12,0\n8,never again,11,1\n",
         "looks like data"),
    ],
)  # fmt: skip
def test_a_table_that_may_be_read_in_two_ways_is_refused_in_one_line(text, message, tmp_path):
    with pytest.raises(DataError, match=message) as caught:
        mh.read(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_equal_labels_of_every_item_are_labels_if_no_other_column_can_be(tmp_path):
    rows = [f"{i},w{a},{'xyz'[i % 3]}" for i in range(9) for a in range(3)]
    ann = mh.read(write(tmp_path, "item,worker,response\n" + "\n".join(rows) + "\n"))
    assert (ann.n_items, ann.source.notes) == (9, ())
    few = "item,annotator,label,difficulty\n1,a,x,low\n1,b,x,high\n2,a,y,low\n2,b,y,low\n"
    assert mh.read(write(tmp_path, few)).source.label == "label"


@pytest.mark.parametrize("name", ["sentiment", "toxicity_label"])
def test_other_columns_that_may_be_labels_are_told(name, tmp_path):
    said = {name: SAID, "respect": PART, "irony": lambda row, i, a: ("no", "yes")[row % 3 == 0]}
    path = write(tmp_path, crowd({"comment_id": ITEM, "annotator_id": WHO} | said))
    ann = mh.read(path)
    assert ann.source.label == name
    assert ann.source.notes == (
        "other columns may be labels too: respect, irony; name the label to read one of them",
    )
    assert mh.read(path, label="irony").source.notes == ()
    path.write_text(path.read_text().replace(name, "label"))
    assert mh.read(path).source.notes == ()


@pytest.mark.parametrize("item", ["item", "id", "text"])
def test_the_only_column_left_is_the_label_and_that_is_told(item, tmp_path):
    path = write(tmp_path, crowd({item: ITEM, "annotator": WHO, "is_spam": SAID}))
    ann = mh.read(path)
    assert (ann.source.label, ann.classes.tolist()) == ("is_spam", ["x", "y"])
    assert ann.source.notes[0] == "is_spam is the only column left, so it is taken for the label"


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("reason", lambda row, i, a: f"I chose this because of {row}"),
        ("team", lambda row, i, a: f"t{a % 2}"),
        ("topic", lambda row, i, a: f"t{i % 2}"),
        ("confidence", SAID), ("consensus", SAID), ("batch", SAID), ("seconds", SAID),
    ],
)  # fmt: skip
def test_the_only_column_left_is_no_label_if_it_holds_something_else(name, cells, tmp_path):
    with pytest.raises(DataError, match="no column looks like the label; name it with label="):
        mh.read(write(tmp_path, crowd({"item": ITEM, "annotator": WHO, name: cells})))


def test_spaces_after_commas_are_left_out_and_that_is_told(tmp_path):
    text = "item, annotator, label\na, u, 1\na, v, 2\nb, u, 1\n"
    ann = mh.read(write(tmp_path, text))
    assert (ann.classes.tolist(), ann.annotators.tolist()) == ([1, 2], ["u", "v"])
    assert str(ann.source) == "items: item, annotators: annotator, labels: label"
    assert ann.source.notes == ("cells begin with a space, which is left out",)
    kept = mh.read(write(tmp_path, text.replace(", u", ",u")))
    assert kept.source.notes == ("cells begin with a space, which is kept: label",)


def test_spaces_of_a_frame_are_left_out_of_names_beside_numbers():
    frame = pd.DataFrame({"item": ["a", "a"], "annotator": [" u", " v"], "label": [1, 2]})
    assert mh.Annotations.from_frame(frame).annotators.tolist() == ["u", "v"]


def test_a_text_of_every_item_is_no_label_even_alone(tmp_path):
    text = crowd({"item": ITEM, "rater": WHO, "response": lambda row, i, a: f"words {i}"})
    with pytest.raises(DataError, match="may describe the item; name the column of labels with"):
        mh.read(write(tmp_path, text))
    assert mh.read(write(tmp_path, text), kind="classes").n_items == 12


def test_a_column_that_splits_every_item_alike_may_be_half_of_it(tmp_path):
    half = lambda row, i, a: i % 2  # noqa: E731
    columns = {"video": lambda row, i, a: i // 2, "frame": half, "rater": ROW, "label": SAID}
    path = write(tmp_path, crowd(columns))
    with pytest.raises(DataError, match="for example video_frame"):
        mh.read(path, annotator="rater")
    assert mh.read(path, item="video", annotator="rater").n_items == 6


def test_a_table_without_rows_has_no_label():
    empty = pd.DataFrame({"id": [], "text": [], "annotator": [], "label": []})
    with pytest.raises(DataError, match="not a single label"):
        mh.aggregate(empty)
