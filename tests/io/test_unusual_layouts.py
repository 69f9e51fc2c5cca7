"""Files in layouts that are easily taken for others: read right, or refused with the remedy."""

import json
import zipfile

import pytest

import manyhands as mh
from manyhands.core.errors import DataError


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("suffix", ["txt", "conll"])
@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_column_of_parts_of_speech_is_no_annotator_and_no_label(suffix, blank, tmp_path):
    lines = "John NN B-PER B-PER\nlives VB O O\n\nAnn NN B-PER O\n".replace(" ", blank)
    with pytest.raises(DataError, match=r"column 2 holds no tags \(NN, VB\); leave it out"):
        mh.read(written(tmp_path, f"tokens.{suffix}", lines))
    marked = "-DOCSTART- -X- O O\n\nJohn NN B-PER O\nSmith NN I-PER O\n"
    with pytest.raises(DataError, match=r"column 2 holds no tags \(NN\)"):
        mh.read(written(tmp_path, f"marked.{suffix}", marked))


def test_a_matrix_of_words_stays_one(tmp_path):
    ann = mh.read(written(tmp_path, "matrix.txt", "a b a\nb b O\n\nO a a\n"))
    assert (ann.n_items, ann.n_annotators) == (3, 3)


COLUMNS = {
    "A1,A2,A3": ["0,,0", "1,1,", ",2,2", "0,0,0"],
    "0,1,2": ["0.0,,0.0", "1.0,1.0,NaN", ",2.0,2.0", "0.0,0.0,0.0"],
    "Anna,Ben,Eva": ["0,<NA>,0", "1,1,<NA>", "<NA>,2,2", "0,0,0"],
}


@pytest.mark.parametrize("header", COLUMNS)
def test_columns_of_annotators_without_items_have_their_rows_as_items(header, tmp_path):
    path = written(tmp_path, "wide.csv", "\n".join([header, *COLUMNS[header]]) + "\n")
    ann = mh.read(path, layout="wide")
    assert (ann.items.tolist(), ann.classes.tolist()) == ([0, 1, 2, 3], [0, 1, 2])
    assert [str(name) for name in ann.annotators] == header.split(",")
    assert ann.n_annotations == 9
    assert any("every row is one, numbered from 0" in note for note in ann.source.notes)
    with pytest.raises(DataError, match="needs layout='wide'"):
        mh.read(path)


def test_numbered_annotators_without_items_need_no_layout(tmp_path):
    whole = written(tmp_path, "whole.csv", "rater1,rater2,rater3\n1,3,3\n2,1,1\n1,1,2\n")
    assert mh.read(whole).n_annotations == 9
    decimal = written(tmp_path, "decimal.csv", "rater1,rater2\n1.5,3.25\n2.75,1\n")
    assert mh.read(decimal).kind == "numbers"


def test_numbers_of_annotators_that_have_names(tmp_path):
    path = written(tmp_path, "wide.csv", "Anna,Ben,Eva\n1.5,2,1.7\n3.25,3,3.5\n4,4.5,4.25\n")
    ann = mh.read(path, layout="wide")
    assert (ann.kind, ann.annotators.tolist()) == ("numbers", ["Anna", "Ben", "Eva"])


@pytest.mark.parametrize(
    "text",
    [
        "nr,Anna,Ben\n3,1,2\n1,2,2\n2,3,1\n",  # a number of the row that is a label too
        "frame,Anna,Ben\n1,1,2\n2,2,3\n3,3,1\n",
        ",Anna,Ben\n5,5,4\n4,4,4\n3,3,5\n",
        "time,Anna,Ben\n0.5,1.5,2.5\n1.0,1.25,2.5\n1.75,0.5,1\n",
    ],
)
def test_a_first_column_that_may_name_items_does(text, tmp_path):
    ann = mh.read(written(tmp_path, "wide.csv", text), layout="wide")
    assert ann.annotators.tolist() == ["Anna", "Ben"]


def test_items_with_two_rows_are_no_annotator(tmp_path):
    path = written(tmp_path, "wide.csv", "name,Anna,Ben\nx,a,b\nx,b,b\ny,a,a\n")
    with pytest.raises(DataError, match="'x' has more than one row"):
        mh.read(path, layout="wide")


def test_a_matrix_may_have_a_line_of_names(tmp_path):
    path = written(tmp_path, "matrix.csv", "A1,A2,A3\n0,,0\n1,1,\n,2,2\n")
    ann = mh.read(path, layout="dense")
    assert (ann.annotators.tolist(), ann.n_items, ann.n_annotations) == (["A1", "A2", "A3"], 3, 6)
    words = written(tmp_path, "words.csv", "Anna,Ben\ncat,dog\ncat,cat\ndog,dog\n")
    with pytest.raises(DataError, match="give layout='wide'"):
        mh.read(words, layout="dense")


def test_confidences_summaries_and_texts_are_no_annotators(tmp_path):
    text = "id,label_a,conf_a,label_b,conf_b,mean\n1,4,4,2,1,3\n2,1,4,3,2,2\n3,2,5,2,4,2\n"
    ann = mh.read(written(tmp_path, "sure.csv", text), layout="wide")
    assert ann.annotators.tolist() == ["label_a", "label_b"]
    judged = "prompt_id,prompt,response,gpt4_score,claude_score\np0,a b,r s,1,4\np1,c d,t u,6,9\n"
    ann = mh.read(written(tmp_path, "judged.csv", judged), layout="wide")
    assert ann.annotators.tolist() == ["gpt4_score", "claude_score"]
    assert any("'response' shares no value" in note for note in ann.source.notes)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,5", "1,7", "3,2", "2"], [1.5, 1.7, 3.2, 2.0]),
        (["38%", "40 %", "12,5%", "9%"], [38.0, 40.0, 12.5, 9.0]),
    ],
)
def test_numbers_as_spreadsheets_write_them(cells, numbers, tmp_path):
    rows = [f"{'AABB'[i]};{'xyxy'[i]};{cell}" for i, cell in enumerate(cells)]
    ann = mh.read(written(tmp_path, "long.csv", "\n".join(["item;annotator;score", *rows]) + "\n"))
    assert (ann.kind, ann.label.tolist()) == ("numbers", numbers)
    assert any(f"labels such as {cells[0]} are read" in note for note in ann.source.notes)
    wide = f"id;rater1;rater2\n1;{cells[0]};{cells[1]}\n2;{cells[2]};{cells[3]}\n"
    ann = mh.read(written(tmp_path, "wide.csv", wide), layout="wide")
    assert (ann.kind, ann.label.tolist()) == ("numbers", numbers)


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (["1,500", "2,000"], r"'1,500' in the column 'score' may be 1\.500 or 1500; write numbers"),
        (["1,2", "1,3"], r"'1,2' in the column 'score' may be 1\.2 or a list of classes"),
    ],
)
def test_commas_that_may_part_thousands_or_classes_are_refused(cells, what, tmp_path):
    text = f"item;annotator;score\nA;x;{cells[0]}\nA;y;{cells[1]}\n"
    path = written(tmp_path, "long.csv", text)
    with pytest.raises(DataError, match=what):
        mh.read(path)
    assert mh.read(path, kind="classes").classes.tolist() == cells


def test_half_points_with_commas_are_numbers(tmp_path):
    text = "item;annotator;score\nA;x;1,5\nA;y;2,5\nB;x;4\nB;y;4,5\n"
    assert mh.read(written(tmp_path, "long.csv", text)).label.tolist() == [1.5, 2.5, 4.0, 4.5]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": {"b": {"u": 1, "v": 2}}}', r"JSON nested three deep; expected \{item: \{annot"),
        ('{"a": ["x", "y"], "b": ["y", "y"]}', "a list of labels per item without annotators"),
    ],
)
def test_json_of_another_depth_is_named(text, what, tmp_path):
    with pytest.raises(DataError, match=what):
        mh.read(written(tmp_path, "labels.json", text))


def test_a_wide_table_is_not_flat(tmp_path):
    wide = written(
        tmp_path, "wide.csv", "id,text,annotator_1,annotator_2\n1,a b,yes,no\n2,c,no,no\n"
    )
    assert not mh.io.LabelFile(wide).is_flat
    long = written(tmp_path, "long.csv", "item,annotator,label\n1,a,yes\n1,b,no\n")
    assert mh.io.LabelFile(long).is_flat
    tokens = written(tmp_path, "tokens.conll", "Ann B-PER O\nran O O\n")
    assert not mh.io.LabelFile(tokens).is_wide


def test_the_one_table_of_an_archive_is_taken(tmp_path):
    with zipfile.ZipFile(tmp_path / "labels.zip", "w") as archive:
        archive.writestr("data/labels.csv", "item,annotator,label\n1,a,yes\n1,b,no\n")
        archive.writestr("README.txt", "What the columns are.")
        archive.writestr("__MACOSX/data/._labels.csv", "x")
    ann = mh.read(tmp_path / "labels.zip")
    assert ann.n_annotations == 2
    assert "left out README.txt of the archive" in ann.source.notes


def test_a_folder_of_folders_and_a_broken_workbook_are_named(tmp_path):
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    with pytest.raises(DataError, match="holds only folders; name a file"):
        mh.read(tmp_path / "outer")
    with pytest.raises(DataError, match="is a folder without files"):
        mh.read(tmp_path / "outer" / "inner")
    (tmp_path / "labels.xlsx").write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(DataError, match="not an Excel file, or cut short"):
        mh.read(tmp_path / "labels.xlsx")


def test_a_table_of_a_tool_that_is_cut_short_is_refused(tmp_path):
    header = "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.text,Answer.label,Approve"
    rows = ["h1,a1,w1,Approved,hi,yes,", "h1,a2,w2,Approved,hi,no,", "h2,a3,w1,Appro"]
    whole = written(tmp_path, "whole.csv", "\n".join([header, *rows[:2]]) + "\n")
    assert mh.read(whole).n_annotations == 2
    path = written(tmp_path, "cut.csv", "\n".join([header, *rows]))
    with pytest.raises(DataError, match="the last row has 4 of 7 cells; the file may be cut short"):
        mh.read(path)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize("name", ["labels", "annotator_labels"])
def test_lists_of_labels_need_annotators(name, tmp_path):
    text = lines({"id": 1, "text": "a", name: ["x", "y", "x"]}, {"id": 2, "text": "b", name: ["y"]})
    path = written(tmp_path, "lists.jsonl", text)
    with pytest.raises(DataError, match=f"'{name}' has a list of labels per item without annotat"):
        mh.read(path)


def test_lists_of_unequal_length_are_named_by_their_line(tmp_path):
    whole = {"id": 1, "annotators": ["u", "v"], "labels": ["x", "y"]}
    text = lines(whole, {"id": 2, "annotators": ["u", "v"], "labels": ["x"]})
    with pytest.raises(DataError, match="line 2: 2 annotators and 1 labels; every label needs"):
        mh.read(written(tmp_path, "lists.jsonl", text))


def test_all_marks_of_no_label_are_named_at_once(tmp_path):
    cells = ["1", "2", "NA", "n/a", "", "1"]
    rows = [f"i{place // 2},{'ab'[place % 2]},{cell}" for place, cell in enumerate(cells)]
    path = written(tmp_path, "long.csv", "\n".join(["item,annotator,label", *rows]) + "\n")
    with pytest.raises(DataError, match=r"missing='NA' \(likewise 'n/a', blank cells\), or set"):
        mh.read(path)
    assert mh.read(path, missing=["NA", "n/a", ""]).n_annotations == 3
