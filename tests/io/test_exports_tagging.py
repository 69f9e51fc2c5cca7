"""Spans that tools export are read as labels of tokens, in one step."""

import json

import pytest
from test_exports_label_studio import annotation, choices, task
from test_exports_prodigy import answer
from test_exports_records import argilla, document, response
from test_exports_spans import TEXT, marked

import manyhands as mh
from manyhands.annotations import TokenLabels
from manyhands.core.errors import DataError, SettingError


@pytest.fixture
def saved(tmp_path):
    def save(name, content):
        path = tmp_path / name
        if name.endswith("jsonl"):
            text = "".join(json.dumps(each) + "\n" for each in content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        return path

    return save


def tags(labels, annotator, sentence=0):
    """The words that an annotator tagged, with their tags."""
    ann, words = labels.annotations, labels.sentences.word
    code = ann.annotators.tolist().index(annotator)
    tokens = set(labels.sentences.tokens_of(sentence).tolist())
    return {
        str(words[item]): ann.classes[label]
        for item, who, label in zip(ann.item, ann.annotator, ann.label, strict=True)
        if who == code and item in tokens and ann.classes[label] != "O"
    }


def n_labels(labels, annotator):
    ann = labels.annotations
    return int((ann.annotator == ann.annotators.tolist().index(annotator)).sum())


TASKS = [
    task(
        1,
        annotation(11, 7, marked(2, 6, "PER", "Anna"), marked(11, 15, "LOC", "Oslo")),
        annotation(12, 8),
        annotation(13, 9, was_cancelled=True),
        annotation(14, 5, marked(11, 15, "LOC", "Oslo"), ground_truth=True),
        text=TEXT,
    )
]


def test_label_studio_json(saved):
    labels = mh.read(saved("export.json", TASKS))
    assert isinstance(labels, TokenLabels)
    assert tags(labels, 7) == {"Anna": "B-PER", "Oslo": "B-LOC"}
    assert (tags(labels, 8), n_labels(labels, 8)) == ({}, 4)  # looked and found nothing
    source = labels.annotations.source
    assert (source.layout, source.known["1:3"], source.known["1:1"]) == (
        "label-studio",
        "B-LOC",
        "O",
    )
    assert "2 spans in 1 texts by 2 annotators" in source.notes[0]
    assert "cancelled (1)" in source.notes[0]
    file = mh.io.LabelFile(saved("export.json", TASKS))
    assert (file.tokens, file.sniffed(), file.is_flat) == ("exported", "exported", False)


def flat(identity, who, spans, **more):
    return {
        "id": 1, "text": TEXT, "ner": spans, "annotator": who, "annotation_id": identity,
        "created_at": "2024-05-01", "updated_at": "2024-05-01", "lead_time": 3.2,
    } | more  # fmt: skip


def test_label_studio_json_min_and_csv(saved):
    span = {"start": 2, "end": 6, "text": "Anna", "labels": ["PER"]}
    records = [flat(1, "ann", [span]), flat(2, "bob", [span]), flat(3, "eve", None)]
    del records[2]["ner"]  # nothing marked: the field is not there
    labels = mh.read(saved("min.json", records))
    assert tags(labels, "ann") == tags(labels, "bob") == {"Anna": "B-PER"}
    assert n_labels(labels, "eve") == 4
    header = "annotation_id,annotator,created_at,id,lead_time,ner,text,updated_at"
    cell = json.dumps([span]).replace('"', '""')
    lines = [f'{n},{who},t,1,2.5,"{said}",{TEXT},t' for n, who, said in
             ((1, "ann", cell), (2, "bob", ""), (3, "eve", cell))]  # fmt: skip
    csv = "\n".join([header, *lines]) + "\n"
    for name in ("x.csv", "x.tsv"):  # the delimiter is looked for
        labels = mh.read(saved(name, csv))
        assert tags(labels, "eve") == {"Anna": "B-PER"}
        assert n_labels(labels, "bob") == 4


def tokenized(*words):
    tokens, place = [], 0
    for number, word in enumerate(words):
        tokens.append({"text": word, "start": place, "end": place + len(word), "id": number})
        place += len(word) + 1
    return " ".join(words), tokens


def test_prodigy_has_its_own_tokens(saved):
    text, tokens = tokenized("New-York", "is", "big")
    span = {"start": 0, "end": 8, "label": "LOC", "token_start": 0, "token_end": 0}
    part = {"start": 4, "end": 8, "label": "LOC"}
    common = {"text": text, "_view_id": "ner_manual"}
    with_tokens = [
        answer(1, "ann", spans=[span], tokens=tokens, **common),
        answer(1, "bob", spans=[], tokens=tokens, **common),
        answer(1, "eve", "ignore", tokens=tokens, **common),
    ]
    labels = mh.read(saved("a.jsonl", with_tokens))
    assert labels.sentences.words(0) == ["New-York", "is", "big"]
    assert tags(labels, "pets-ann") == {"New-York": "B-LOC"}
    assert n_labels(labels, "pets-bob") == 3
    assert "ignored (1)" in labels.annotations.source.notes[0]
    plain = [answer(1, "ann", spans=[part], **common), answer(1, "bob", spans=[span], **common)]
    labels = mh.read(saved("b.jsonl", plain))
    assert labels.sentences.words(0) == ["New", "-", "York", "is", "big"]
    assert tags(labels, "pets-bob") == {"New": "B-LOC", "-": "I-LOC", "York": "I-LOC"}
    cut = [answer(1, "ann", spans=[part | {"start": 5}], **common)]
    with pytest.raises(DataError, match=r"c\.jsonl, document '-101', annotator 'pets-ann'.*cuts"):
        mh.read(saved("c.jsonl", cut))
    assert tags(mh.read(saved("c.jsonl", cut), alignment="widen"), "pets-ann") == {"York": "B-LOC"}


def test_prodigy_relations_are_counted_and_binary_spans_refused(saved):
    span = {"start": 0, "end": 5, "label": "ADJ"}
    related = answer(1, "ann", spans=[span], relations=[{"head": 0, "child": 0, "label": "X"}],
                     _view_id="relations")  # fmt: skip
    labels = mh.read(saved("rel.jsonl", [related]))
    assert "relation (1)" in labels.annotations.source.notes[0]
    asked = answer(1, "ann", spans=[span], _view_id="ner")
    with pytest.raises(DataError, match="says nothing about the rest of the text"):
        mh.read(saved("teach.jsonl", [asked]))


@pytest.mark.parametrize("view", ["image_manual", "audio_manual", "text_input"])
def test_other_views_of_prodigy_are_refused(saved, view):
    record = answer(1, "ann", _view_id=view, spans=[{"label": "X", "points": []}])
    with pytest.raises(DataError, match=f"the view '{view}'"):
        mh.read(saved("other.jsonl", [record]))


def test_ends_of_lines_count_once_in_a_browser(saved):
    tasks = [task(1, annotation(11, 7, marked(6, 10, "LOC", "Oslo")), text="Anna\r\n\r\nOslo")]
    assert tags(mh.read(saved("lines.json", tasks)), 7) == {"Oslo": "B-LOC"}


def test_the_last_answer_of_an_annotator_counts(saved):
    span = {"start": 0, "end": 5, "label": "ADJ"}
    first = answer(1, "ann", spans=[span], _view_id="ner_manual")
    last = answer(1, "ann", spans=[span | {"label": "NOUN"}], _view_id="ner_manual")
    labels = mh.read(saved("twice.jsonl", [first, last]))
    assert set(tags(labels, "pets-ann").values()) == {"B-NOUN"}
    assert "earlier answer of the same annotator (1)" in labels.annotations.source.notes[0]


def test_sessions_without_a_name_are_said(saved):
    times = {"_annotator_id": "2024-02-06_10-17-19", "_session_id": "2024-02-06_10-17-19"}
    one = answer(1, None, spans=[], _view_id="ner_manual") | times
    marked_one = one | {"spans": [{"start": 0, "end": 5, "label": "ADJ"}]}
    note = mh.read(saved("timed.jsonl", [marked_one])).annotations.source.notes[0]
    assert "sessions without a name" in note
    chosen = answer(1, None, options=[{"id": "x"}], accept=["x"]) | times
    assert "sessions without a name" in mh.read(saved("c.jsonl", [chosen])).source.notes[0]


def test_doccano_records_with_a_field_of_annotators(saved):
    listed = [document(1, [0, 5, "NOUN"]) | {"annotator": who} for who in ("zoë", "max")]
    labels = mh.read(saved("all.jsonl", listed))
    assert tags(labels, "zoë") == {"Größe": "B-NOUN"}
    entity = {"id": 3, "label": "NOUN", "start_offset": 0, "end_offset": 5}
    related = [
        {
            "id": 1,
            "text": "Größe 1",
            "entities": spans,
            "relations": [],
            "Comments": [],
            "user": who,
        }
        for who, spans in (("zoë", [entity]), ("max", []))
    ]
    labels = mh.read(saved("entities.jsonl", related))
    assert (tags(labels, "zoë"), n_labels(labels, "max")) == ({"Größe": "B-NOUN"}, 2)
    with pytest.raises(DataError, match="does not tell who labelled"):
        mh.read(saved("shared.jsonl", [document(1, [0, 5, "NOUN"])]))


def test_old_doccano_has_spans_with_users(saved):
    spans = [
        {"label": 12, "start_offset": 0, "end_offset": 5, "user": user} for user in (1, 2)
    ]  # fmt: skip
    old = [{"id": 9, "text": "Größe 9", "annotations": spans, "meta": {}}]
    assert tags(mh.read(saved("old.jsonl", old)), 2) == {"Größe": "B-12"}


def test_argilla_span_questions(saved):
    span = {"start": 0, "end": 4, "label": "NOUN"}
    records = [
        argilla(
            1, ner=[response([span], "u1"), response([], "u2"), response([span], "u3", "draft")]
        )
    ]
    labels = mh.read(saved("records.json", records))
    assert (tags(labels, "u1"), n_labels(labels, "u2")) == ({"text": "B-NOUN"}, 2)
    assert "draft (1)" in labels.annotations.source.notes[0]


def test_choices_beside_spans_need_a_word(saved):
    both = [task(1, annotation(11, 7, marked(2, 6, "PER", "Anna"), choices("good")), text=TEXT)]
    path = saved("both.json", both)
    with pytest.raises(
        DataError, match=r"both\.json.*\(mood\).*\(ner\).*label='mood'.*task="
    ) as one:
        mh.read(path)
    assert "\n" not in str(one.value)
    assert tags(mh.read(path, label="ner"), 7) == {"Anna": "B-PER"}
    assert tags(mh.read(path, task="tagging"), 7) == {"Anna": "B-PER"}
    for chosen in ({"label": "mood"}, {"task": "classification"}):
        ann = mh.read(path, **chosen)
        assert ann.classes.tolist() == ["good"]
        assert "span of text (1)" in ann.source.notes[0]


def test_spans_are_no_classes(saved):
    path = saved("export.json", TASKS)
    with pytest.raises(DataError, match="which is task='tagging'"):
        mh.read(path, task="classification")
    with pytest.raises(SettingError, match="missing"):
        mh.read(path, missing="O")


def test_the_text_is_the_field_in_which_the_spans_are(saved):
    tasks = [task(1, annotation(11, 7, marked(2, 6, "PER", "Anna")))]
    tasks[0]["data"] = {"title": "Who", "body": TEXT}
    assert tags(mh.read(saved("two.json", tasks)), 7) == {"Anna": "B-PER"}


def test_spans_of_sounds_are_no_spans_of_texts(saved):
    sound = marked(0.5, 2.25, "speech")
    with pytest.raises(DataError, match="marks regions"):
        mh.read(saved("audio.json", [task(1, annotation(11, 7, sound), audio="a.wav")]))


def test_a_cut_file_is_refused(saved):
    path = saved("a.jsonl", [answer(n, "ann", spans=[], _view_id="ner_manual") for n in range(60)])
    path.write_text(path.read_text()[:-9])
    with pytest.raises(DataError, match="line 60: not JSON"):
        mh.read(path)
