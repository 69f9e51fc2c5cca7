"""A consensus and items to relabel go back into the annotation tool that exported the labels."""

import csv
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from test_exports_label_studio import annotation, choices, record, task
from test_exports_label_studio import result as answered
from test_exports_mturk_lewidi import assignment, entry
from test_exports_prodigy import OPTIONS, answer
from test_exports_records import argilla, document, response

import manyhands as mh
from manyhands.core.errors import DataError, SettingError


def votes(*labels):
    return list(zip(("ann", "ben", "cleo"), labels, strict=False))


LABEL_STUDIO = [
    task(n, *(annotation(10 * n, who, choices(said)) for who, said in votes(*labels)),
         text=f"Größe {n}", meta={"batch": 7})
    for n, labels in ((1, ["good", "good", "good"]), (2, ["bad", "good"]), (3, ["bad", "bad"]))
]  # fmt: skip
PRODIGY = [
    answer(n, who, options=OPTIONS, accept=[said], _view_id="choice", meta={"source": "a.txt"})
    for n, labels in ((1, ["CAT", "CAT"]), (2, ["DOG", "CAT"]))
    for who, said in votes(*labels)
]
ARGILLA = [
    argilla(n, mood=[response(said, who) for who, said in votes(*labels)])
    | {"metadata": {"batch": 7}}
    for n, labels in ((1, ["good", "good"]), (2, ["bad", "good"]))
]
MTURK = [
    assignment(hit, who, mood=said)
    for hit, labels in (("H1", ["good", "good"]), ("H2", ["bad", "good"]))
    for who, said in votes(*labels)
]
LEWIDI = {"1": entry("Ann1,Ann2", "1,1"), "2": entry("Ann1,Ann2", "1,0")}


@pytest.fixture
def written(tmp_path):
    """Write the export of a tool by its name."""

    def write(name, content):
        path = tmp_path / name
        if path.suffix == ".csv":
            with path.open("w", encoding="utf-8", newline="") as stream:
                rows = csv.DictWriter(stream, list(content[0]))
                rows.writeheader()
                rows.writerows(content)
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(each) + "\n" for each in content))
        else:
            path.write_text(json.dumps(content))
        return path

    return write


def parsed(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return list(csv.DictReader(text.splitlines()))
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else (
        json.loads(text)
    )  # fmt: skip


def consensus_of(path, method="majority", **reading):
    return mh.aggregate(mh.read(path, **reading), method)


def suggested(consensus, path, **settings):
    n = mh.io.write_suggestions(consensus, path, **settings)
    found = parsed(path)
    assert len(found) == n == consensus.annotations.n_items
    return found


def unsure(consensus, path, **settings):
    n = mh.io.write_relabel(consensus, path, **settings)
    found = parsed(path)
    assert len(found) == n
    return found


def test_label_studio_gets_tasks_with_predictions(written, tmp_path):
    c = consensus_of(written("export.json", LABEL_STUDIO))
    found = suggested(c, tmp_path / "predictions.json", model_version="first")
    assert [set(each) for each in found] == [{"id", "meta", "data", "predictions"}] * 3
    for each, exported in zip(found, LABEL_STUDIO, strict=True):
        assert {key: each[key] for key in ("id", "data", "meta")} == {
            key: exported[key] for key in ("id", "data", "meta")
        }
    result = [choices("good") | {"id": "result1"}]
    assert found[0]["predictions"] == [{"model_version": "first", "score": 1.0, "result": result}]
    assert found[1]["predictions"][0]["score"] == 0.5


def test_predictions_are_read_as_predictions(written, tmp_path):
    path = tmp_path / "predictions.json"
    c = consensus_of(written("export.json", LABEL_STUDIO))
    found = suggested(c, path)
    with pytest.raises(DataError, match=r"predictions\.json.* no annotations, and 3 predictions"):
        mh.read(path)
    again = [each | {"annotations": old["annotations"]} for each, old in
             zip(found, LABEL_STUDIO, strict=True)]  # fmt: skip
    ann = mh.read(written("again.json", again))
    assert "prediction (3)" in ann.source.notes[0]
    pd.testing.assert_frame_equal(ann.to_frame(), c.annotations.to_frame())


@pytest.mark.parametrize(
    ("kind", "values", "suggestion"),
    [
        ("rating", [4, 4, 2], 4),
        ("number", [2.5, 2.5, 1.0], 2.0),
        ("taxonomy", [[["a", "b"]], [["a", "b"]], [["a"]]], [["a", "b"]]),
        ("choices", [["2"], ["2"], ["1"]], ["2"]),
    ],
)
def test_a_prediction_has_the_form_of_its_control(kind, values, suggestion, written, tmp_path):
    tasks = [
        task(1, *(annotation(n, n, answered(kind, each, "q")) for n, each in enumerate(values, 1)))
    ]
    method = "mean" if kind == "number" else "majority"
    [found] = suggested(consensus_of(written("e.json", tasks), method), tmp_path / "p.json")
    [result] = found["predictions"][0]["result"]
    assert (result["from_name"], result["to_name"], result["type"]) == ("q", "text", kind)
    assert result["value"] == {kind: suggestion}


def test_a_mean_rating_is_the_nearest_rating(written, tmp_path):
    tasks = [task(1, *(annotation(n, n, answered("rating", n, "q")) for n in (1, 4, 5)))]
    c = consensus_of(written("e.json", tasks), "mean", task="regression")
    [found] = suggested(c, tmp_path / "p.json")
    assert found["predictions"][0]["result"][0]["value"] == {"rating": 4}  # of 3.33


def test_json_min_does_not_tell_the_object_of_a_control(written, tmp_path):
    records = [record(1, who, mood=said) for who, said in votes("good", "bad")]
    c = consensus_of(written("min.json", records))
    with pytest.raises(DataError, match="export the project as JSON"):
        mh.io.write_suggestions(c, tmp_path / "p.json")
    [found] = unsure(c, tmp_path / "r.json")
    assert found == {"id": 1, "data": {"text": "text 1", "source": "web"}}


def test_other_answers_of_json_min_are_no_data(written, tmp_path):
    records = [record(1, who, mood=said, topic=said.upper()) for who, said in votes("good", "bad")]
    c = consensus_of(written("min.json", records), label="mood")
    assert unsure(c, tmp_path / "r.json")[0]["data"] == {"text": "text 1", "source": "web"}


def test_prodigy_gets_tasks_with_the_consensus_chosen(written, tmp_path):
    c = consensus_of(written("out.jsonl", PRODIGY))
    found = suggested(c, tmp_path / "tasks.jsonl", model_version="v1")
    assert found[0] == {
        "text": "naïve № 1",
        "_input_hash": -101,
        "options": OPTIONS,
        "meta": {"source": "a.txt", "score": 1.0, "model_version": "v1"},
        "accept": ["CAT"],
    }
    with pytest.raises(DataError):
        mh.read(tmp_path / "tasks.jsonl")


def test_prodigy_ids_of_options_keep_their_type(written, tmp_path):
    numbered = [{"id": 0, "text": "no"}, {"id": 1, "text": "yes"}]
    records = [answer(1, who, options=numbered, accept=[1]) for who in "ab"]
    c = consensus_of(written("out.jsonl", records))
    assert suggested(c, tmp_path / "tasks.jsonl")[0]["accept"] == [1]


def test_a_binary_question_of_prodigy_gets_answers(written, tmp_path):
    records = [
        answer(n, who, said, label=label)
        for label in ("HAM", "SPAM")
        for n, said in ((1, "accept"), (2, "reject"))
        for who in "ab"
    ]
    path = written("out.jsonl", records)
    c = consensus_of(path, label="SPAM")
    found = suggested(c, tmp_path / "tasks.jsonl")
    by_text = {each["text"]: each for each in found}
    assert [by_text[f"naïve № {n}"]["answer"] for n in (1, 2)] == ["accept", "reject"]
    assert {each["label"] for each in found} == {"SPAM"}
    assert all("answer" not in each for each in unsure(c, tmp_path / "r.jsonl", below=1.0))
    with pytest.raises(DataError, match="no annotator"):  # answers of nobody are no labels
        mh.read(tmp_path / "tasks.jsonl")


def test_argilla_gets_records_with_suggestions(written, tmp_path):
    c = consensus_of(written("records.json", ARGILLA))
    found = suggested(c, tmp_path / "suggestions.json")
    assert found[0] == {
        "id": "r1",
        "metadata": {"batch": 7},
        "fields": {"text": "text 1"},
        "suggestions": {"mood": {"value": "good", "score": 1.0, "agent": "manyhands-majority"}},
    }
    with pytest.raises(DataError):
        mh.read(tmp_path / "suggestions.json")
    again = [each | {"responses": old["responses"]} for each, old in
             zip(found, ARGILLA, strict=True)]  # fmt: skip
    assert "suggestion (2)" in mh.read(written("again.json", again)).source.notes[0]


def test_argilla_ratings_keep_their_type(written, tmp_path):
    records = [argilla(1, stars=[response(n, f"u{n}") for n in (1, 4, 5)])]
    for reading, method in (({}, "majority"), ({"task": "regression"}, "mean")):
        c = consensus_of(written("records.json", records), method, **reading)
        [found] = suggested(c, tmp_path / "s.json")
        assert type(found["suggestions"]["stars"]["value"]) is int


def test_the_id_of_the_tool_is_kept_if_another_field_names_the_item(written, tmp_path):
    named = [each | {"fields": each["fields"] | {"doc": f"d{n}"}} for n, each in enumerate(ARGILLA)]
    c = consensus_of(written("records.json", named), item="doc")
    assert c.annotations.items.tolist() == ["d0", "d1"]
    assert [each["id"] for each in suggested(c, tmp_path / "s.json")] == ["r1", "r2"]


def test_argilla_records_are_named_as_the_server_knows_them(written, tmp_path):
    for names, wanted in (
        ({"external_id": "e1", "_server_id": "s1"}, {"id": "e1"}),
        ({"id": None, "_server_id": "s1"}, {"_server_id": "s1"}),
    ):
        found = ARGILLA[0] | {"id": None, "metadata": {}} | names
        c = consensus_of(written("records.json", [found]))
        [made] = suggested(c, tmp_path / "s.json")
        assert {key: made[key] for key in made if key.endswith("id")} == wanted


def test_doccano_gets_documents_with_a_label(written, tmp_path):
    records = [
        document(n, said) | {"who": who}
        for n, labels in ((1, ["good", "good"]), (2, ["good", "bad"]))
        for who, said in votes(*labels)
    ]
    c = consensus_of(written("all.jsonl", records), annotator="who")
    found = suggested(c, tmp_path / "consensus.jsonl")
    assert found[0] == {"id": 1, "text": "Größe 1", "label": ["good"], "who": "ann"}
    with pytest.raises(DataError, match="share their annotations"):
        mh.read(tmp_path / "consensus.jsonl")
    assert unsure(c, tmp_path / "r.jsonl") == [{"id": 2, "text": "Größe 2", "who": "ann"}]


def test_mechanical_turk_gets_a_batch(written, tmp_path):
    c = consensus_of(written("Batch_1.csv", MTURK))
    found = suggested(c, tmp_path / "batch.csv")
    assert found[0] == {"text": "text of H1", "suggestion": "good", "suggestion_score": "1.0"}
    assert unsure(c, tmp_path / "relabel.csv") == [{"text": "text of H2"}]
    assert unsure(c, tmp_path / "relabel.csv", below=0.1) == []


def test_results_without_inputs_make_no_batch(written, tmp_path):
    bare = [{key: row[key] for key in row if not key.startswith("Input.")} for row in MTURK]
    c = consensus_of(written("Batch_1.csv", bare))
    with pytest.raises(DataError, match=r"no column Input\.NAME"):
        mh.io.write_relabel(c, tmp_path / "relabel.csv")
    assert not (tmp_path / "relabel.csv").exists()


def test_lewidi_gets_soft_labels(written, tmp_path):
    c = consensus_of(written("dev.json", LEWIDI), classes=["1", "0"])
    assert mh.io.write_suggestions(c, tmp_path / "soft.tsv") == 2
    assert (tmp_path / "soft.tsv").read_text() == "1\t[0.0, 1.0]\n2\t[0.5, 0.5]\n"
    assert mh.io.write_relabel(c, tmp_path / "r.csv") == 1
    assert pd.read_csv(tmp_path / "r.csv")["text"].tolist() == [LEWIDI["2"]["text"]]


def test_soft_labels_are_of_classes(written, tmp_path):
    c = consensus_of(written("dev.json", LEWIDI), "mean", task="regression")
    with pytest.raises(DataError, match="kind='classes'"):
        mh.io.write_suggestions(c, tmp_path / "soft.tsv")


def test_items_to_relabel_begin_with_the_least_confident(written, tmp_path):
    c = consensus_of(written("export.json", LABEL_STUDIO), "dawid-skene")
    found = unsure(c, tmp_path / "r.json", below=1.0)
    by_name = dict(zip(c.annotations.items.tolist(), c.confidence, strict=True))
    shown = [by_name[each["id"]] for each in found]
    assert shown == sorted(shown)
    assert all(set(each) == {"id", "data", "meta"} for each in found)
    assert mh.io.write_relabel(c, tmp_path / "none.json", below=0) == 0
    assert parsed(tmp_path / "none.json") == []


def test_items_of_a_table_are_a_table_with_their_texts(tmp_path):
    (tmp_path / "labels.csv").write_text(
        "id,text,annotator,label\n7,a b,u,x\n7,a b,v,y\n8,c d,u,x\n8,c d,v,x\n9,,u,x\n9,,v,y\n"
    )
    c = consensus_of(tmp_path / "labels.csv")
    assert mh.io.write_relabel(c, tmp_path / "r.csv") == 2
    table = pd.read_csv(tmp_path / "r.csv", keep_default_na=False)
    assert list(table.columns) == ["item", "confidence", "agreement", "n_annotations", "text"]
    assert table["item"].tolist() == [7, 9]
    assert table["text"].tolist() == ["a b", ""]


def test_items_of_a_wide_table_have_their_texts(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("id,text,u,v\n7,one two,x,y\n8,three four,x,x\n")
    c = consensus_of(path, layout="wide")
    assert mh.io.write_relabel(c, tmp_path / "r.jsonl") == 1
    assert parsed(tmp_path / "r.jsonl")[0]["text"] == "one two"


def test_items_of_arrays_are_a_table(tmp_path):
    c = mh.aggregate(mh.Annotations.from_arrays([1, 1, 2], ["u", "v", "u"], ["a", "b", "b"]))
    mh.io.write_relabel(c, tmp_path / "r.csv", below=1.0)
    assert len(pd.read_csv(tmp_path / "r.csv").columns) == 4


def test_an_unknown_confidence_counts_as_low(tmp_path):
    c = mh.aggregate(mh.Annotations.from_arrays([1, 2], ["u", "v"], [0.5, 1.5]), "mean")
    assert np.isnan(c.confidence).all() or (c.confidence < 1).all()
    assert mh.io.write_relabel(c, tmp_path / "r.csv", below=0.99) == 2


def test_labels_of_no_tool_are_refused(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\na,u,x\na,v,x\n")
    c = consensus_of(tmp_path / "labels.csv")
    with pytest.raises(DataError, match=r"no tool; write the consensus as a table"):
        mh.io.write_suggestions(c, tmp_path / "s.json")
    with pytest.raises(DataError, match=r"not read from a file; give the export as annotations="):
        mh.io.write_suggestions(mh.aggregate({"a": {"u": "x"}}), tmp_path / "s.json")


@pytest.mark.parametrize("name", ["s.jsonl", "s.csv", "s", "s.JSN"])
def test_another_suffix_is_refused(name, written, tmp_path):
    c = consensus_of(written("export.json", LABEL_STUDIO))
    for write in (mh.io.write_suggestions, mh.io.write_relabel):
        with pytest.raises(DataError, match=r"Label Studio imports \.json files; name it s\.json"):
            write(c, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_the_export_is_given_again_to_a_consensus_that_was_saved(written, tmp_path):
    path = written("export.json", LABEL_STUDIO)
    c = consensus_of(path)
    wanted = suggested(c, tmp_path / "wanted.json")
    copied = pickle.loads(pickle.dumps(c))
    assert b"meta" not in pickle.dumps(c.annotations.source)
    with pytest.raises(DataError, match="read the export again and give it as annotations="):
        mh.io.write_suggestions(copied, tmp_path / "s.json")
    c.save(tmp_path / "saved")
    for each in (copied, mh.load(tmp_path / "saved")):
        assert suggested(each, tmp_path / "s.json", annotations=mh.read(path)) == wanted


def test_the_export_must_be_that_of_the_consensus(written, tmp_path):
    other = mh.read(written("other.json", LABEL_STUDIO[:2]))
    c = consensus_of(written("export.json", LABEL_STUDIO))
    with pytest.raises(DataError, match="the export has no item 3"):
        mh.io.write_suggestions(c, tmp_path / "s.json", annotations=other)
    assert not (tmp_path / "s.json").exists()


def test_half_of_a_character_is_refused(written, tmp_path):
    tasks = [task(1, annotation(1, 7, choices("good")), text="\ud83d")]
    c = consensus_of(written("export.json", tasks))
    with pytest.raises(DataError, match="half of a UTF-16 pair"):
        mh.io.write_suggestions(c, tmp_path / "s.json")


def test_a_share_is_checked(tmp_path):
    c = mh.aggregate({"a": {"u": "x"}})
    with pytest.raises(SettingError, match="below must be between 0 and 1"):
        mh.io.write_relabel(c, tmp_path / "r.csv", below=70)
