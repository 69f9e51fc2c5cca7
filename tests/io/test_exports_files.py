"""Files of tools and of published datasets, read as a user reads them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import manyhands as mh
from manyhands.core.errors import DataError


@pytest.fixture
def saved(tmp_path):
    def save(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            text = content
        elif name.endswith("jsonl"):
            text = "".join(json.dumps(each) + "\n" for each in content)
        else:
            text = json.dumps(content)
        path.write_text(text, encoding="utf-8")
        return path

    return save


def rows(ann):
    names = zip(ann.item.tolist(), ann.annotator.tolist(), ann.label.tolist(), strict=True)
    return sorted(
        (str(ann.items[i]), str(ann.annotators[a]), str(ann.classes[k])) for i, a, k in names
    )


LISTS = [
    {"id": f"i{n}", "text": f"a text {n}", "annotators": ["u", "v"], "labels": ["yes", said],
     "label": "yes"} for n, said in enumerate(("no", "yes"))
]  # fmt: skip
READ = [("i0", "u", "yes"), ("i0", "v", "no"), ("i1", "u", "yes"), ("i1", "v", "yes")]


def test_list_columns_in_every_format(saved, tmp_path):
    lines = "".join(json.dumps(each) + "\n" for each in LISTS)
    pq.write_table(pa.Table.from_pylist(LISTS), tmp_path / "a.parquet")
    header, *_ = names = list(LISTS[0])
    csv = ",".join(names) + "\n"
    for record in LISTS:
        csv += ",".join(f'"{each}"' for each in record.values()) + "\n"  # as pandas writes lists
    for path in (
        saved("a.jsonl", LISTS), saved("a.json", LISTS), saved("lines.json", lines),
        saved("a.csv", csv), tmp_path / "a.parquet",
    ):  # fmt: skip
        ann = mh.read(path)
        assert (rows(ann), ann.source.layout) == (READ, "list-columns"), path
    assert header == "id"


def test_classes_of_hugging_face_have_names(tmp_path):
    names = {"names": ["no", "yes"], "_type": "ClassLabel"}
    features = {
        "id": {"dtype": "string", "_type": "Value"},
        "labels": {"feature": names, "_type": "Sequence"},
        "annotators": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"},
    }
    codes = [each | {"labels": [int(said == "yes") for said in each["labels"]]} for each in LISTS]
    table = pa.Table.from_pylist([{name: each[name] for name in features} for each in codes])
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "a.parquet")
    assert rows(mh.read(tmp_path / "a.parquet")) == READ


def test_classes_within_dictionaries_have_names(tmp_path):
    member = {"label": {"names": ["no", "yes"], "_type": "ClassLabel"},
              "annotator_id": {"dtype": "string", "_type": "Value"}}  # fmt: skip
    features = {"id": {"dtype": "string", "_type": "Value"},
                "annotators": {"feature": member, "_type": "Sequence"}}  # fmt: skip
    records = [
        {"id": each["id"], "annotators": {"label": [int(said == "yes") for said in each["labels"]],
                                          "annotator_id": each["annotators"]}}
        for each in LISTS
    ]  # fmt: skip
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.Table.from_pylist(records).replace_schema_metadata(metadata)
    pq.write_table(table, tmp_path / "a.parquet")
    assert rows(mh.read(tmp_path / "a.parquet")) == READ


def test_records_by_item(saved):
    posts = {
        each["id"]: {
            "post_id": each["id"], "post_tokens": ["a", "text"], "rationales": [],
            "annotators": [
                {"label": said, "annotator_id": who, "target": ["None"]}
                for who, said in zip(each["annotators"], each["labels"], strict=True)
            ],
        }
        for each in LISTS
    }  # fmt: skip
    assert rows(mh.read(saved("dataset.json", posts))) == READ


def test_labels_without_annotators_are_refused(saved):
    listed = [{"pairID": n, "annotator_labels": ["e", "n"], "gold": "e"} for n in range(3)]
    with pytest.raises(DataError):
        mh.read(saved("snli.jsonl", listed))


MTURK = (
    '"HITId","AssignmentId","WorkerId","AssignmentStatus","Input.id_str","Answer.mood.label",'
    '"Answer.workerId","Approve","Reject"\n'
)


def test_mechanical_turk_leaves_out_blank_cells_at_the_end(saved):
    text = MTURK
    text += '"H1","A1","W1","Approved","7","glad","W1"\n'
    text += '"H1","A2","W2","Submitted","7","sad","W2","",""\n'
    text += '"H1","A3","W3","Submitted","7","sad","W3","","bad work"\n'
    text += '"H1","A4","W4","Rejected","7","sad","W4"\n'
    ann = mh.read(saved("batch.csv", text))
    assert rows(ann) == [("H1", "W1", "glad"), ("H1", "W2", "sad")]
    assert "rejected (2)" in ann.source.notes[0]
    with pytest.raises(DataError, match="line 6: more cells than columns"):
        mh.read(saved("batch.csv", text + '"H1","A5","W5","Approved","7","sad","W5","","","x"\n'))


def test_label_studio_csv_with_tabs_and_a_long_cell(saved):
    long = "word " * 40000
    header = ["annotation_id", "annotator", "created_at", "id", "lead_time", "mood", "text"]
    lines = [["1", "ann", "t", "1", "2.5", "good", long], ["2", "bob", "t", "1", "3", "bad", long]]
    text = "\n".join("\t".join(each) for each in [header, *lines]) + "\n"
    for name in ("export.csv", "export.tsv"):
        assert rows(mh.read(saved(name, text))) == [("1", "ann", "good"), ("1", "bob", "bad")]


def test_lewidi_2023_has_other_questions(saved):
    entry = {
        "text": "so much", "annotation task": "hate", "number of annotations": 2,
        "annotations": "0,1", "annotators": "Ann1,Ann2", "lang": "en", "hard_label": "0",
        "soft_label": {"0": 0.5, "1": 0.5}, "split": "dev",
        "other_info": {"other annotations": {"offensive language detection": "1,1"}},
    }  # fmt: skip
    path = saved("HS_dev.json", {"1": entry})
    assert rows(mh.read(path)) == [("1", "Ann1", "0"), ("1", "Ann2", "1")]
    other = mh.read(path, label="offensive language detection")
    assert rows(other) == [("1", "Ann1", "1"), ("1", "Ann2", "1")]


def test_lewidi_2025_ratings_and_several_labels(saved):
    def entry(**said):
        return {"annotators": ",".join(said), "annotations": said, "split": "dev"}

    path = saved("Par_dev.json", {"1": entry(Ann1="-5", Ann2="3"), "2": entry(Ann1="0", Ann2="4")})
    assert rows(mh.read(path))[0] == ("1", "Ann1", "-5")
    numbers = mh.read(path, task="regression", bounds=(-5, 5))
    assert (numbers.kind, sorted(numbers.label.tolist())) == ("numbers", [-5.0, 0.0, 3.0, 4.0])
    said = {"1": entry(Ann1="neutral", Ann2="entailment,neutral")}
    with pytest.raises(DataError, match=r"several labels of one annotator.*yes or no"):
        mh.read(saved("VariErr_dev.json", said))


def old(number, annotation, agent, status="Validated"):
    return {
        "id": number, "text": "Anna sang", "inputs": {"text": "Anna sang"}, "prediction": None,
        "prediction_agent": None, "annotation": annotation, "annotation_agent": agent,
        "status": status, "metadata": {}, "event_timestamp": None,
    }  # fmt: skip


def test_argilla_before_feedback_datasets(saved):
    records = [
        old(1, "good", "ann"), old(2, "bad", "bob"), old(3, None, None, "Default"),
        old(4, "bad", "bob", "Discarded"),
    ]  # fmt: skip
    ann = mh.read(saved("records.json", records))
    assert rows(ann) == [("1", "ann", "good"), ("2", "bob", "bad")]
    assert "discarded (1)" in ann.source.notes[0]
    tagged = [old(1, [["PER", 0, 4]], "ann"), old(2, [], "bob"), old(3, None, None, "Default")]
    labels = mh.read(saved("tokens.json", tagged))
    assert labels.annotations.annotators.tolist() == ["ann", "bob"]
    assert labels.annotations.n_annotations == 4


def test_argilla_responses_in_columns(saved):
    responses = {"user_id": ["u", "v"], "value": ["yes", "no"], "status": ["submitted"] * 2}
    record = {"id": "r", "text": "a", "mood": responses, "mood-suggestion": None,
              "external_id": None, "metadata": "{}"}  # fmt: skip
    assert rows(mh.read(saved("feedback.jsonl", [record]))) == [("r", "u", "yes"), ("r", "v", "no")]
