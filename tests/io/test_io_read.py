"""mh.read: any file of labels, by its suffix and its content."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.io.conll import read_sentences

HEADER = "item,annotator,label\n"
TOKENS = "#token\tu\tv\nAda\tB-PER\tI-PER\nsang\tO\tO\n\nOslo\tB-LOC\t?\n"
SPANS = "document,text,annotator,start,end,label\nd,Ada sang,u,0,3,PER\n"


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file


def test_labels_of_items_are_annotations(write):
    ann = mh.read(write("l.csv", HEADER + "a,u,x\na,v,y\n"))
    assert isinstance(ann, mh.Annotations)
    assert ann.classes.tolist() == ["x", "y"]
    numbers = mh.read(write("n.csv", HEADER + "a,u,1\na,v,2\n"), task="regression")
    assert numbers.kind == "numbers"
    assert mh.read(write("m.txt", "0 1 -1\n1 1 0\n")).n_annotators == 3


@pytest.mark.parametrize("name", ["t.conll", "t.bio", "t.txt"])
def test_columns_of_tags_are_token_labels(write, name):
    labels = mh.read(write(name, TOKENS))
    assert isinstance(labels, mh.TokenLabels)
    assert labels.sentences.to_lists() == [["Ada", "sang"], ["Oslo"]]
    assert labels.annotations.label_names().tolist() == ["B-PER", "B-PER", "O", "O", "B-LOC"]
    kept = mh.read(write(name, TOKENS), orphan_tags="keep")
    assert kept.annotations.label_names().tolist()[1] == "I-PER"


def test_tables_of_spans_are_token_labels_unless_the_task_is_another(write):
    path = write("s.csv", SPANS)
    assert mh.read(path).annotations.label_names().tolist() == ["B-PER", "O"]
    assert mh.read(path, task="classification", item="document").n_items == 1


@pytest.mark.parametrize(
    ("name", "text", "settings", "message"),
    [
        ("l.csv", HEADER + "a,u,x\n", {"task": "tagging"}, "task='tagging' takes tokens"),
        ("l.csv", HEADER + "a,u,x\n", {"task": "ranking"}, "task must be one of classification"),
        ("l.csv", HEADER + "a,u,x\n", {"orphan_tags": "keep"}, "orphan_tags is for tagged tokens"),
        ("l.csv", HEADER + "a,u,7\n", {"bounds": (1, 5)}, r"outside of bounds=.*missing='7'"),
        ("l.csv", HEADER + "a,u,7\n", {"bounds": (5, 1)}, "bounds must be a lower and a higher"),
        ("l.csv", HEADER + "a,u,1.5\n", {"task": "classification"}, "which is task='regression'"),
        ("l.csv", HEADER + "a,u,1\nb,u,no\n", {"task": "regression"}, "drop it with missing='no'"),
        ("t.conll", TOKENS, {"item": "x"}, "item is not for .*t.conll"),
        ("t.conll", TOKENS, {"duplicates": "first"}, "duplicates is for tables"),
        ("t.conll", TOKENS, {"missing": ["?", "-"]}, "missing may be given once"),
        ("t.conll", TOKENS, {"orphan_tags": "refuse"}, "choose orphan_tags='repair'"),
        ("t.conll", TOKENS, {"task": "regression"}, "which is task='tagging'"),
        ("t.txt", "O B-PER\nO O\n", {}, "give task='classification' or task='tagging'"),
        ("s.csv", SPANS.replace("0,3", "0,6"), {}, "choose alignment='widen'"),
    ],
)  # fmt: skip
def test_errors_name_arguments(write, name, text, settings, message):
    with pytest.raises((DataError, SettingError), match=message):
        mh.read(write(name, text), **settings)


def test_words_are_read_with_tags_or_without(write):
    read = read_sentences
    for text in (
        "#Ada\nsang\n\nOslo\n",
        "#Ada O\nsang O\n\nOslo B-LOC\n",
        "#token\tx\n#Ada\tO\nsang\tO\n\nOslo\tO\n",
    ):
        assert read(write("w.txt", text)).to_lists() == [["#Ada", "sang"], ["Oslo"]]
    assert read(write("w.txt", "a X\nb Y\n"), tags=["Y"]).to_lists() == [["a", "b"]]
    with pytest.raises(DataError, match="one token in every line"):
        read(write("w.txt", "Ada went\nBob saw\n"))


def test_texts_are_features(write):
    lines = mh.read_features(write("x.txt", "good film\nbad film\n"))
    assert (lines.are_texts, lines.items.tolist()) == (True, [0, 1])
    table = mh.read_features(write("x.csv", "id,text\na,good\nb,\n"))
    assert (table.items.tolist(), table.values.tolist()) == (["a", "b"], ["good", ""])
    named = mh.read_features(write("x.csv", "k,body\na,good\n"), text="body", item="k")
    assert named.values.tolist() == ["good"]
    numbers = mh.read_features(write("x.csv", "id,size\na,4\n"))
    assert not numbers.are_texts
    assert np.array_equal(numbers.values, [[4.0]])
    with pytest.raises(SettingError, match="text is a column of a table"):
        mh.read_features(write("x.txt", "good\n"), text="body")
    with pytest.raises(DataError, match=r"line 2, column 'text': 5 is no text.*text=\.\.\."):
        mh.read_features(write("x.csv", "id,text\n1,5\n"))
