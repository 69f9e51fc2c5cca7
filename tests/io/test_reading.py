"""What a table is taken for is right, said, or refused."""

import json

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
