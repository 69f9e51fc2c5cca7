"""Records of finished runs survive whatever happens."""

import os

import pytest

from manyhands.core.errors import DataError
from manyhands.experiments.pages import write_page
from manyhands.experiments.records import FILE, Records, RecordStore, fingerprint_key


def test_records_come_back_and_the_last_of_a_key_counts(tmp_path):
    store = RecordStore(tmp_path / "deep" / "er" / FILE)
    store.append({"key": "a", "error": "ValueError: no"})
    assert not store.finished("a")
    store.append({"key": "a", "scores": {"accuracy": 0.5}})
    again = RecordStore(tmp_path / "deep" / "er" / FILE)
    assert again.finished("a")
    assert again.get("a")["scores"] == {"accuracy": 0.5}
    assert again.get("b") is None
    assert len(again) == 1
    assert "a" in again


@pytest.mark.parametrize("cut", range(1, 30, 4))
def test_half_a_line_at_the_end_is_taken_away(tmp_path, cut):
    store = RecordStore(tmp_path / FILE)
    store.append({"key": "a", "scores": {}})
    whole = (tmp_path / FILE).read_bytes()
    store.append({"key": "b", "scores": {"accuracy": 0.25}})
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-cut])
    mended = RecordStore(tmp_path / FILE)
    assert path.read_bytes() == whole
    assert not mended.finished("b")
    mended.append({"key": "b", "scores": {"accuracy": 0.75}})
    assert RecordStore(tmp_path / FILE).get("b")["scores"] == {"accuracy": 0.75}


def test_what_is_no_record_is_told_by_line(tmp_path):
    (tmp_path / FILE).write_text('{"key": "a"}\nnonsense\n{"key": "b"}\n')
    with pytest.raises(DataError, match="line 2: is not a record"):
        RecordStore(tmp_path / FILE)


def test_a_key_follows_the_content_and_not_its_order():
    assert fingerprint_key({"a": 1, "b": 2}) == fingerprint_key({"b": 2, "a": 1})
    assert fingerprint_key({"a": 1}) != fingerprint_key({"a": 2})


def test_records_of_several_files_are_read_together(tmp_path):
    for name in ("a", "b"):
        RecordStore(tmp_path / f"{name}.jsonl").append({"key": name, "scores": {}})
    together = Records.read(sorted(tmp_path.glob("*.jsonl")))
    assert [record["key"] for record in together] == ["a", "b"]


def test_a_store_knows_the_records_of_its_folder_and_writes_its_own_file(tmp_path):
    for name in ("a", "b"):
        RecordStore(tmp_path / f"{name}.jsonl").append({"key": name, "scores": {}})
    (tmp_path / "labels.jsonl").write_text('{"item": "1", "label": "cat"}\n')
    (tmp_path / "notes.jsonl").write_text("not even JSON\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    store = RecordStore.in_folder(tmp_path)
    assert {record["key"] for record in store} == {"a", "b"}
    store.append({"key": "c", "scores": {}})
    assert {path: path.read_bytes() for path in before} == before
    assert [record["key"] for record in RecordStore(tmp_path / FILE)] == ["c"]
    for found in (RecordStore.in_folder(tmp_path), Records.in_folder(tmp_path)):
        assert sorted(record["key"] for record in found) == ["a", "b", "c"]
    assert len(Records.in_folder(tmp_path / "nowhere")) == 0


def test_a_finished_run_counts_before_a_failed_one_whatever_the_files_are_called(tmp_path):
    RecordStore(tmp_path / "a.jsonl").append({"key": "x", "scores": {"accuracy": 0.5}})
    RecordStore(tmp_path / FILE).append({"key": "x", "error": "ValueError: no"})
    assert Records.in_folder(tmp_path).finished("x")
    assert RecordStore.in_folder(tmp_path).finished("x")


def test_a_damaged_line_of_a_file_of_records_is_told(tmp_path):
    (tmp_path / "others.jsonl").write_text('{"key": "a"}\nnonsense\n')
    with pytest.raises(DataError, match=r"others.jsonl, line 2: is not a record"):
        RecordStore.in_folder(tmp_path)


@pytest.mark.parametrize("name", ["records.jsonl", "page.md"])
def test_no_link_is_followed(tmp_path, name):
    (tmp_path / "others.txt").write_text("not ours\n")
    (tmp_path / name).symlink_to("others.txt")
    with pytest.raises(DataError, match="is a link"):
        RecordStore(tmp_path / name) if name == FILE else write_page(tmp_path / name, "ours")
    assert (tmp_path / "others.txt").read_text() == "not ours\n"


def test_records_are_no_pipe(tmp_path):
    os.mkfifo(tmp_path / FILE)
    with pytest.raises(DataError, match="is not a file"):
        RecordStore(tmp_path / FILE)


@pytest.mark.parametrize(
    "line",
    [
        '{"key": {"a": 1}}', '{"key": null}', "[1]", '"text"', '{"key": "a", "scores": [1]}',
        '{"key": "a", "scores": {"accuracy": "high"}}', '{"key": "a", "error": {}}',
    ],
)  # fmt: skip
def test_a_line_of_another_form_is_named(tmp_path, line):
    path = tmp_path / "records.jsonl"
    path.write_text(f'{{"key": "b", "scores": {{"accuracy": null}}}}\n{line}\n')
    with pytest.raises(DataError, match="line 2: is not a record"):
        RecordStore(path)
