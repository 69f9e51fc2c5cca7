"""Tables of comparisons come through the same door as labels of items."""

import json

import pytest

import manyhands as mh
from manyhands.core.errors import DataError, SettingError

TABLE = "left,right,annotator,winner\na,b,u,a\nb,c,v,tie\na,c,u,right\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "pairs.csv").write_text(TABLE)
    return tmp_path / "pairs.csv"


def test_every_door_reads_the_same(table):
    for pairs in (
        mh.read(table), mh.read(table, kind="pairs"), mh.read_annotations(table, kind="pairs"),
        mh.read_comparisons(table),
    ):  # fmt: skip
        assert repr(pairs) == "Comparisons(3 comparisons of 3 items by 2 annotators, 1 ties)"
        assert str(pairs.source) == ("items: left, right, annotators: annotator, winners: winner")


@pytest.mark.parametrize("suffix", [".tsv", ".jsonl", ".parquet", ".json", ".csv.gz"])
def test_every_format_of_tables_holds_comparisons(table, tmp_path, suffix):
    import gzip

    columns = mh.read(table).to_columns()
    path = tmp_path / f"other{suffix}"
    if suffix == ".json":
        names = list(columns)
        rows = zip(*(each.tolist() for each in columns.values()), strict=True)
        path.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]))
    elif suffix == ".csv.gz":
        path.write_bytes(gzip.compress(TABLE.encode()))
    else:
        mh.io.write_table(columns, path)
    found = mh.read(path, kind="pairs")
    assert found.to_frame().equals(mh.read(table).to_frame())


def test_several_files_are_joined(table, tmp_path):
    (tmp_path / "more.csv").write_text("left,right,annotator,winner\nc,d,u,c\n")
    assert len(mh.read([table, tmp_path / "more.csv"])) == 4


def test_a_wrong_row_is_named_with_its_line(table):
    table.write_text(TABLE + "b,b,u,b\n")
    with pytest.raises(DataError, match=r"pairs.csv, line 5: the item 'b' is compared with itself"):
        mh.read(table)


def test_columns_and_words_can_be_given(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("first_joke,joke,who,said\na,b,u,0\nb,c,v,9\n")
    pairs = mh.read_comparisons(
        path, left="first_joke", right="joke", annotator="who", winner="said",
        outcomes={"0": "left", "9": "tie"},
    )  # fmt: skip
    assert pairs.outcome.tolist() == [0, 2]


def test_notes_tell_what_is_not_known(tmp_path):
    path = tmp_path / "hh.jsonl"
    path.write_text('{"prompt": "p", "chosen": "x", "rejected": "y"}\n')
    pairs = mh.read(path)
    assert not pairs.has_sides
    assert [note[:23] for note in pairs.source.notes] == [
        "no column of annotators", "the rows tell winner an",
    ]  # fmt: skip


def test_settings_of_items_are_refused(table):
    with pytest.raises(SettingError, match="item is not for comparisons"):
        mh.read_annotations(table, kind="pairs", item="left")
    with pytest.raises(SettingError, match="classes is not for comparisons"):
        mh.read(table, kind="pairs", classes=["a"])


def test_an_object_is_no_list_of_comparisons(tmp_path):
    (tmp_path / "labels.json").write_text('{"a": {"u": "x"}}')
    with pytest.raises(DataError, match="comparisons are a list of records"):
        mh.read(tmp_path / "labels.json", kind="pairs")
