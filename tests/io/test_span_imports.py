"""Spans of a consensus go back into the annotation tool in which they were marked."""

import json
from dataclasses import replace

import pytest
from test_exports_label_studio import annotation, task
from test_exports_prodigy import answer
from test_exports_records import document
from test_exports_spans import TEXT, marked

import manyhands as mh
from manyhands.annotations.source import Source
from manyhands.core.errors import DataError
from manyhands.io.exports import read_marked_spans, span_items

PERSON, PLACE = (2, 6, "PER"), (11, 15, "LOC")
IN_BROWSER = {2: 3, 6: 7, 11: 12, 15: 16}  # the first character is an emoji


def units(span):
    return marked(IN_BROWSER[span[0]], IN_BROWSER[span[1]], span[2], TEXT[span[0] : span[1]])


LABEL_STUDIO = [
    task(1, *(annotation(n, n, units(PERSON), units(PLACE)) for n in (1, 2, 3)), text=TEXT,
         meta={"batch": 7}),
    task(2, annotation(4, 1, units(PERSON)), annotation(5, 2, units(PLACE)), text=TEXT),
    task(3, annotation(6, 1), annotation(7, 2), annotation(8, 3), text=TEXT),
]  # fmt: skip
TOKENS = [
    {"text": TEXT[start:end], "start": start, "end": end, "id": n}
    for n, (start, end) in enumerate([(0, 1), (2, 6), (7, 10), (11, 15)])
]
SPANS = [{"start": start, "end": end, "label": label} for start, end, label in (PERSON, PLACE)]


def consensus_of(tool, content, answer, folder):
    """The consensus of the spans of an export, with what goes back into the tool."""
    spans = read_marked_spans(content)
    mh.io.write_table(spans.columns, folder / "spans.csv")
    found = mh.read_spans(folder / "spans.csv")
    items = replace(span_items(tool, content, answer), texts=found.texts)
    source = Source("export", tool, content=items)
    ann = replace(found.labels.annotations, source=source)
    return mh.aggregate_tokens(found.labels.sentences, ann, "majority")


def test_label_studio_gets_regions_of_texts(tmp_path):
    c = consensus_of("label-studio", LABEL_STUDIO, "ner", tmp_path)
    assert mh.io.write_span_suggestions(c, tmp_path / "p.json", model_version="v1") == 3
    made = json.loads((tmp_path / "p.json").read_text())
    assert [each["id"] for each in made] == [1, 2, 3]
    assert (made[0]["data"], made[0]["meta"]) == ({"text": TEXT}, {"batch": 7})
    prediction = made[0]["predictions"][0]
    assert prediction["model_version"] == "v1"
    assert prediction["result"][0] == {"id": "result1", "score": 1.0} | units(PERSON)
    assert prediction["result"][1] == {"id": "result2", "score": 1.0} | units(PLACE)
    assert made[2]["predictions"][0]["result"] == []
    again = [
        each | {"annotations": [{"completed_by": 1, "id": 1, "result": prediction["result"]}]}
        for each in made[:1]
        for prediction in each["predictions"]
    ]
    spans = read_marked_spans(again).columns
    assert list(zip(spans["start"], spans["end"], spans["label"], strict=True)) == [PERSON, PLACE]


def test_texts_to_relabel_have_no_spans(tmp_path):
    c = consensus_of("label-studio", LABEL_STUDIO, "ner", tmp_path)
    assert mh.io.write_span_relabel(c, tmp_path / "r.json") == 1
    assert json.loads((tmp_path / "r.json").read_text()) == [{"id": 2, "data": {"text": TEXT}}]


def test_prodigy_gets_tasks_with_spans(tmp_path):
    records = [
        answer(1, who, text=TEXT, tokens=TOKENS, spans=SPANS, _view_id="ner_manual") for who in "ab"
    ]
    c = consensus_of("prodigy", records, "spans", tmp_path)
    mh.io.write_span_suggestions(c, tmp_path / "tasks.jsonl")
    [made] = map(json.loads, (tmp_path / "tasks.jsonl").read_text().splitlines())
    assert made["spans"] == [
        SPANS[0] | {"token_start": 1, "token_end": 1},
        SPANS[1] | {"token_start": 3, "token_end": 3},
    ]
    assert (made["_input_hash"], made["tokens"]) == (-101, TOKENS)
    assert "answer" not in made
    mh.io.write_span_relabel(c, tmp_path / "r.jsonl", below=1)
    assert (tmp_path / "r.jsonl").read_text() == ""


def test_doccano_gets_documents_with_spans(tmp_path):
    users = {
        who: [document(5, [*PERSON], [*PLACE]) | {"text": TEXT}] for who in ("zoë", "max")
    }  # fmt: skip
    c = consensus_of("doccano", users, "label", tmp_path)
    mh.io.write_span_suggestions(c, tmp_path / "d.jsonl")
    [made] = map(json.loads, (tmp_path / "d.jsonl").read_text().splitlines())
    assert made == {"id": 5, "text": TEXT, "label": [[*PERSON], [*PLACE]]}


def test_argilla_gets_suggestions_of_spans(tmp_path):
    record = {"id": "r1", "fields": {"text": TEXT}, "metadata": {"a": 1}, "responses": {}}
    c = consensus_of("label-studio", LABEL_STUDIO[:1], "ner", tmp_path)
    texts = c.tokens.annotations.source.content.texts
    items = replace(span_items("argilla", [record], "ner"), texts=texts)
    items = replace(items, data={"1": items.data["r1"]}, own={"1": items.own["r1"]})
    ann = replace(c.tokens.annotations, source=Source("records.json", "argilla", content=items))
    mh.io.write_span_suggestions(c, tmp_path / "s.json", annotations=ann)
    [made] = json.loads((tmp_path / "s.json").read_text())
    assert made == {
        "id": "r1",
        "metadata": {"a": 1},
        "fields": {"text": TEXT},
        "suggestions": {
            "ner": {"value": SPANS, "score": [1.0, 1.0], "agent": "manyhands-majority"}
        },
    }


def test_other_tokens_are_refused(tmp_path):
    path = tmp_path / "tags.conll"
    path.write_text("Anna B-PER B-PER\nsaw O O\n")
    labels = mh.read(path)
    c = mh.aggregate_tokens(labels.sentences, labels.annotations)
    for write in (mh.io.write_span_suggestions, mh.io.write_span_relabel):
        with pytest.raises(DataError, match=r"not the spans of an annotation tool.*--out"):
            write(c, tmp_path / "s.json")


def test_other_controls_are_refused(tmp_path):
    c = consensus_of("label-studio", LABEL_STUDIO, "ner", tmp_path)
    source = c.tokens.annotations.source
    items = replace(
        source.content, question=source.content.question | {"type": "hypertextlabels"}
    )  # fmt: skip
    ann = replace(c.tokens.annotations, source=replace(source, content=items))
    with pytest.raises(DataError, match="of type hypertextlabels"):
        mh.io.write_span_suggestions(c, tmp_path / "s.json", annotations=ann)
    with pytest.raises(DataError, match=r"Label Studio imports \.json"):
        mh.io.write_span_suggestions(c, tmp_path / "s.csv")
