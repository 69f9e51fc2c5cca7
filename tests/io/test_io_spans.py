"""Tables of spans: characters to tokens and back."""

import json

import numpy as np
import pytest

from manyhands.annotations import TokenizedTexts, TokenLabels, spans_to_tags, tags_to_spans
from manyhands.core.errors import DataError
from manyhands.io import TextLabels, read_spans, write_spans

HEADER = "document,text,annotator,start,end,label\n"
TAGS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


def table(tmp_path, rows, header=HEADER):
    path = tmp_path / "spans.csv"
    path.write_text(header + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def tags_by(labels):
    """{(sentence name, annotator): tags}."""
    ann, found = labels.annotations, {}
    sentence = labels.sentences.sentence_of_token[ann.item]
    for s, a, tag in zip(sentence, ann.annotator, ann.label_names(), strict=True):
        key = str(labels.sentences.names[s]), str(ann.annotators[a])
        found.setdefault(key, []).append(tag)
    return found


def test_characters_become_tokens(tmp_path):
    rows = [
        'd1,"Anna Berg saw Oslo, twice.",u,0,9,PER',
        "d1,,u,14,18,LOC",
        "d1,,v,,,",
        "d2,nobody looked,,,,",
    ]
    marked = read_spans(table(tmp_path, rows))
    assert marked.texts.sentences.words(0) == ["Anna", "Berg", "saw", "Oslo", ",", "twice", "."]
    assert tags_by(marked.labels) == {
        ("d1", "u"): ["B-PER", "I-PER", "O", "B-LOC", "O", "O", "O"],
        ("d1", "v"): ["O"] * 7,
    }
    assert len(marked.labels) == 2
    assert marked.labels.annotations.labels_per_item[7:].tolist() == [0, 0]
    assert marked.texts.excerpt(0, 2) == "Anna Berg"


def test_json_lines_with_tokens_count_tokens(tmp_path):
    path = tmp_path / "spans.jsonl"
    row = {"id": 3, "tokens": ["New", "York", "!"], "worker": "u", "start": 0, "end": 2}
    rows = [row | {"type": "LOC"}, {"id": 3, "worker": "v"}]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    marked = read_spans(path)
    assert tags_by(marked.labels) == {
        ("3", "u"): ["B-LOC", "I-LOC", "O"],
        ("3", "v"): ["O", "O", "O"],
    }


def test_columns_can_be_named(tmp_path):
    header = "page,body,who,from,to,what\n"
    path = table(tmp_path, ["p,Oslo,u,0,4,LOC"], header)
    with pytest.raises(DataError, match=r"no column looks like the item; name it with item=\.\.\."):
        read_spans(path)
    names = {"item": "page", "text": "body", "annotator": "who"}
    names |= {"start": "from", "end": "to", "label": "what"}
    assert tags_by(read_spans(path, **names).labels) == {("p", "u"): ["B-LOC"]}
    with pytest.raises(DataError, match="no column 'bodi'; did you mean body"):
        read_spans(path, **names | {"text": "bodi"})


def test_a_span_that_cuts_a_token_is_refused_or_widened(tmp_path):
    path = table(tmp_path, ["d,Anna Berg sang,u,2,7,PER"])
    with pytest.raises(DataError, match=r"line 2: the span 2\.\.7 cuts through a token.* 0\.\.9"):
        read_spans(path)
    widened = read_spans(path, alignment="widen")
    assert tags_by(widened.labels) == {("d", "u"): ["B-PER", "I-PER", "O"]}


def test_blanks_around_a_span_cut_nothing(tmp_path):
    path = table(tmp_path, ["d,Anna Berg sang,u,4,10,PER"])
    assert tags_by(read_spans(path).labels) == {("d", "u"): ["O", "B-PER", "O"]}


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["d,Anna Berg,u,0,9,PER", "d,,u,5,9,LOC"], "line 3: the span 5..9 of .* overlaps another"),
        (["d,Anna,u,0,5,PER"], r"line 2: the span 0\.\.5 is not within 0\.\.4 characters"),
        (["d,Anna,u,3,3,PER"], r"the span 3\.\.3 is not within"),
        (["d,a  b,u,1,2,PER"], "has no token, only white space"),
        (["d,Anna,u,-1,2,PER"], "'-1' is not a whole number"),
        (["d,Anna,u,0,,PER"], "line 2: a span needs an annotator, a start, an end"),
        (["d,Anna,,0,4,PER"], "line 2: a span needs an annotator"),
        (["d,Anna,u,0,4,PER", "d,Berg,v,0,4,PER"], "line 3: the document 'd' has another text"),
        (["d,,u,0,4,PER"], "no row gives its text"),
        ([",Anna,u,0,4,PER"], "line 2: the document is blank"),
        (["d,Anna,u,0,4,CITY"], "line 2: the label 'CITY' is not among LOC, PER"),
    ],
)
def test_rows_that_cannot_be_used_are_refused_by_place(tmp_path, rows, why):
    with pytest.raises(DataError, match=why):
        read_spans(table(tmp_path, rows), types=["PER", "LOC"])


def test_two_annotators_may_overlap(tmp_path):
    rows = ["d,Anna Berg,u,0,9,PER", "d,,v,5,9,LOC"]
    assert len(tags_by(read_spans(table(tmp_path, rows)).labels)) == 2


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("seed", range(4))
def test_a_written_table_reads_the_same(tmp_path, suffix, seed):
    rng = np.random.default_rng(seed)
    words = ["Anna", "sang", ",", '"so"', "l'été", "\n", "7"]
    texts = [" ".join(rng.choice(words, rng.integers(1, 6))) for _ in range(5)]
    alignment = TokenizedTexts.of(texts, names=[f"d{each}" for each in range(5)])
    token, who, label = [], [], []
    for s in range(4):  # nobody looks at the last
        for a in rng.choice(3, 2, replace=False):
            mine = alignment.sentences.tokens_of(s)
            drawn = rng.choice(TAGS, len(mine)).tolist()
            tags = spans_to_tags(tags_to_spans(drawn), len(drawn))
            token += mine.tolist()
            who += [a] * len(mine)
            label += [TAGS.index(tag) for tag in tags]
    labels = TokenLabels.from_codes(alignment.sentences, token, who, label, ["u", "v", "w"], TAGS)
    path = tmp_path / f"spans.{suffix}"
    write_spans(TextLabels(alignment, labels), path)
    again = read_spans(path, types=["LOC", "PER"])
    assert again.texts.texts.tolist() == texts
    assert again.texts.start.tolist() == alignment.start.tolist()
    assert tags_by(again.labels) == tags_by(labels)


def test_documents_that_were_labelled_in_part_are_not_written(tmp_path):
    alignment = TokenizedTexts.of(["Anna sang"])
    labels = TokenLabels.from_codes(alignment.sentences, [1], [0], [0], ["u"], TAGS)
    with pytest.raises(DataError, match="document 0, annotator u: only some tokens"):
        write_spans(TextLabels(alignment, labels), tmp_path / "spans.csv")


def test_frames_write_whole_numbers_with_a_point_where_some_are_blank(tmp_path):
    rows = ["d,Ada sang,u,0.0,3.0,PER", "e,nobody,u,,,"]
    labels = read_spans(table(tmp_path, rows)).labels
    assert tags_by(labels)["d", "u"] == ["B-PER", "O"]


def test_a_label_of_blanks_is_no_label(tmp_path):
    with pytest.raises(DataError, match="line 2: a span needs an annotator, a start, an end and a"):
        read_spans(table(tmp_path, ["d,Ada sang,u,0,3,  "]))


@pytest.mark.parametrize("space", [" ", "\x85", "\u2028", "\x1f", "\xa0"], ids=ascii)
def test_names_that_would_be_read_as_blank_are_not_written(tmp_path, space):
    cut = TokenizedTexts.of([f"Ada{space}sang"], names=["d"])
    for names, annotator, kind in (
        ([space], "u", "PER"), (["d"], space, "PER"), (["d"], "u", f"PER{space}"),
    ):  # fmt: skip
        named = TokenizedTexts.of([f"Ada{space}sang"], names=names)
        labels = TokenLabels.from_codes(
            named.sentences, [0, 1], [0, 0], [1, 0], [annotator], ["O", f"B-{kind}"]
        )
        with pytest.raises(DataError, match="cannot stand in a table of spans"):
            write_spans(TextLabels(named, labels), tmp_path / "spans.csv")
    assert not list(tmp_path.iterdir())
    labels = TokenLabels.from_codes(
        cut.sentences, [0, 1], [0, 0], [1, 0], [f"{space}u{space}"], ["O", "B-P R"]
    )
    write_spans(TextLabels(cut, labels), tmp_path / "spans.csv")
    again = read_spans(tmp_path / "spans.csv")
    assert again.texts.texts.tolist() == [f"Ada{space}sang"]
    assert tags_by(again.labels) == tags_by(labels)
