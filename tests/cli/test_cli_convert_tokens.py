"""Tagged tokens between columns of tags and tables of spans, on the command line."""

import json

import pandas as pd
import pytest
from command_line import assert_refused, call, plain_json

import manyhands as mh
from manyhands.datasets import load_sentences_demo

TEXT = "Ada  Berg sang in Oslo 🎶."
SPANS = f"""document,text,annotator,start,end,label
d,{TEXT},u,0,9,PER
d,,u,18,22,LOC
d,,v,0,9,PER
d,,v,18,22,LOC
e,Nobody,u,,,
"""


@pytest.fixture
def spans(tmp_path):
    path = tmp_path / "spans.csv"
    path.write_text(SPANS)
    return path


def test_columns_of_tags_and_spans_are_each_others_inverse(tmp_path):
    there, back = tmp_path / "spans.jsonl", tmp_path / "back.conll"
    tokens = tmp_path / "tokens.conll"
    mh.io.write_conll(load_sentences_demo(seed=2, n_sentences=40, n_test=1).labels, tokens)
    told = call("convert", tokens, there)
    assert told.code == 0, told.err
    n_tags = mh.read_conll(tokens).annotations.n_annotations
    assert told.out == f"{there}: {n_tags} tags written\n"
    found = pd.read_json(there, lines=True)
    text = found["text"].ffill()
    for words, row in zip(text, found.itertuples(), strict=True):
        if pd.notna(row.label):
            excerpt = words[int(row.start) : int(row.end)]
            assert excerpt.strip() == excerpt != ""
    told = plain_json(call("convert", there, back, "--json").out)
    assert (told["out"], told["rows"]) == (str(back), n_tags)
    assert back.read_text() == tokens.read_text()


def test_a_consensus_of_spans_counts_characters_of_their_texts(spans, tmp_path):
    out = tmp_path / "found.csv"
    outcome = call("aggregate", spans, "--out", tmp_path / "found.bio", "--spans", out)
    assert outcome.code == 0, outcome.err
    found = pd.read_csv(out)
    assert list(found) == ["document", "start", "end", "label", "confidence", "words"]
    assert found[["document", "start", "end", "words"]].to_numpy().tolist() == [
        ["d", 0, 9, "Ada  Berg"],
        ["d", 18, 22, "Oslo"],
    ]


def test_spans_counted_in_tokens_come_out_in_tokens(tmp_path):
    path, out = tmp_path / "spans.jsonl", tmp_path / "found.csv"
    row = {"document": "d", "tokens": '["Ada", "Berg", "sang"]', "start": 0, "end": 2}
    rows = [json.dumps(row | {"annotator": who, "label": "PER"}) + "\n" for who in "uv"]
    path.write_text("".join(rows))
    outcome = call("aggregate", path, "--out", tmp_path / "found.bio", "--spans", out)
    assert outcome.code == 0, outcome.err
    found = pd.read_csv(out)
    assert found[["sentence", "first", "end", "words"]].to_numpy().tolist() == [
        ["d", 0, 2, "Ada Berg"]
    ]


def test_a_table_of_spans_is_copied_as_it_stands(spans, tmp_path):
    told = call("convert", spans, tmp_path / "copy.csv")
    assert (told.code, told.out) == (0, f"{tmp_path}/copy.csv: 5 rows with all columns written\n")
    assert pd.read_csv(tmp_path / "copy.csv").equals(pd.read_csv(spans))


def test_orphan_tags_are_kept_by_default(tmp_path):
    path, out = tmp_path / "a.conll", tmp_path / "b.conll"
    path.write_text("#token\tu\nAda\tI-PER\nBerg\tI-PER\n\n")
    told = call("convert", path, out)
    assert "1 tags I- that follow no entity are kept" in told.err
    assert out.read_text() == path.read_text()
    assert call("convert", path, out, "--orphan-tags", "repair").code == 0
    assert out.read_text() == "#token\tu\nAda\tB-PER\nBerg\tI-PER\n\n"
    assert_refused(call("convert", path, out, "--orphan-tags", "refuse"))


@pytest.mark.parametrize(
    "words",
    [("x.npy",), ("x.conll", "--to", "wide"), ("x.conll", "--duplicates", "first"), ("spans.csv",)],
)
def test_what_tokens_cannot_become_is_refused(spans, tmp_path, words):
    name, *others = words
    outcome = call("convert", spans, tmp_path / name, *others, "--task", "tagging")
    assert_refused(outcome)
    assert spans.read_text() == SPANS
    assert not (tmp_path / "x.conll").exists()


def test_check_takes_every_token_for_an_item(spans):
    outcome = call("check", spans)
    assert outcome.code == 0
    assert "8 items, 2 annotators" in outcome.out
