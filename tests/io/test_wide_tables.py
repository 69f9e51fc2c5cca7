"""Tables with a column per annotator: recognised by their names, or refused with a hint."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import manyhands as mh
from manyhands.core.errors import DataError

ROWS = ["1,cat,dog,cat", "2,dog,,dog", "3,cat,cat,dog"]


def read(tmp_path, header, rows=ROWS, **settings):
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return mh.read(path, **settings)


@pytest.mark.parametrize(
    "names",
    [
        "annotator_1,annotator_2,annotator_3",
        "rater1,rater2,rater3",
        "Coder A,Coder B,Coder C",
        "worker 1,worker 2,worker 3",
    ],
)
@pytest.mark.parametrize("item", ["id", "item_id", "text", "image"])
def test_numbered_annotators_are_columns_of_labels(names, item, tmp_path):
    ann = read(tmp_path, f"{item},{names}")
    assert (ann.n_items, ann.annotators.tolist(), ann.n_annotations) == (3, names.split(","), 8)
    assert ann.source.layout == "wide"
    assert "read as a wide table" in ann.source.notes[0]


def test_other_columns_are_left_out_and_told(tmp_path):
    rows = [f"{row},some words,7,cat,2024-01-01" for row in ROWS]
    ann = read(tmp_path, "id,rater_1,rater_2,rater_3,text,batch,gold,created_at", rows)
    assert ann.annotators.tolist() == ["rater_1", "rater_2", "rater_3"]
    for name in ("text", "batch", "gold", "created_at"):
        assert any(repr(name) in note for note in ann.source.notes), name


@pytest.mark.parametrize(
    "header",
    [
        "id,ann,ben,cleo",  # as well three questions
        "id,toxic,insult,threat",
        "id,label_1,label_2,label_3",  # as well three labels of one person
        "participant,q1,q2,q3",
        "id,annotator_1,label_1,annotator_2",
    ],
)
def test_what_is_not_clear_is_refused_with_the_remedy(header, tmp_path):
    with pytest.raises(DataError, match=r"layout=|annotator=|item="):
        read(tmp_path, header)


def test_names_of_annotators_in_cells_are_no_labels(tmp_path):
    rows = [f"{i},w{i},v{i}" for i in range(60)]
    with pytest.raises(DataError, match="no column looks like"):
        read(tmp_path, "id,annotator_1,annotator_2", rows)


def test_a_turned_table_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"seems to name annotators.*item="):
        read(tmp_path, "worker,a,b,c", layout="wide")
    assert read(tmp_path, "worker,a,b,c", layout="wide", item="worker").n_items == 3


def test_truths_and_times_are_no_annotators(tmp_path):
    ann = read(tmp_path, "item,ann,ben,gold", layout="wide")
    assert ann.annotators.tolist() == ["ann", "ben"]
    assert ann.source.notes == ("the column 'gold' holds truths and is no annotator",)


@pytest.mark.parametrize("column", ["item", "u"])
def test_records_in_the_cells_are_refused(tmp_path, column):
    cells = {"item": ["a", "b"], "u": ["x", "y"], "v": ["x", "x"]} | {column: [{"k": 1}] * 2}
    pq.write_table(pa.table(cells), tmp_path / "labels.parquet")
    with pytest.raises(DataError, match=f"the column '{column}' holds lists or records"):
        mh.read(tmp_path / "labels.parquet", layout="wide")
