"""Files with a line per token: read, refused by place, written and read again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyhands.annotations import Sentences, TaggedSentences, TagScheme, TokenLabels
from manyhands.core.errors import DataError
from manyhands.io import read_bio, read_conll, write_bio, write_conll

TAGS = TagScheme.of_types(["PER", "LOC"]).names
SPACES = [
    chr(code) for code in range(0x110000) if chr(code).isspace() and chr(code) not in " \t\n\r"
]
WORDS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters=["#", " ", *SPACES]),
    min_size=1,
).filter(lambda word: word.strip(" ") and word != "-DOCSTART-")


def saved(tmp_path, text, name="labels.conll"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def said(labels):
    ann = labels.annotations
    columns = (ann.items[ann.item], ann.annotators[ann.annotator], ann.label_names())
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_columns_are_annotators_and_unlabelled_sentences_stay(tmp_path):
    text = "Anna B-PER ?\nsang O O\n\n\nyes ? ?\n"
    labels = read_conll(saved(tmp_path, text))
    assert labels.sentences.to_lists() == [["Anna", "sang"], ["yes"]]
    assert said(labels) == [("0:0", 0, "B-PER"), ("0:1", 0, "O"), ("0:1", 1, "O")]
    assert labels.annotations.n_annotators == 2
    assert labels.annotations.classes.tolist() == ["O", "B-PER", "I-PER"]


def test_annotators_are_named_by_the_first_line_or_by_the_caller(tmp_path):
    path = saved(tmp_path, "#token u v\nAnna O ?\n")
    assert read_conll(path).annotations.annotators.tolist() == ["u", "v"]
    assert read_conll(path, annotators=["x", "y"]).annotations.annotators.tolist() == ["x", "y"]
    with pytest.raises(DataError, match="3 annotators are named for 2 columns"):
        read_conll(path, annotators="xyz")
    hash_token = saved(tmp_path, "# O ?\n1 O O\n")
    assert read_conll(hash_token).sentences.to_lists() == [["#", "1"]]


def test_document_breaks_and_tabs_and_line_ends(tmp_path):
    text = "-DOCSTART-\t-X-\r\n\r\nNew York\tB-LOC\r\n-DOCSTART-\t-X-\r\n!\tO\r\n"
    assert read_conll(saved(tmp_path, text)).sentences.to_lists() == [["New York"], ["!"]]
    marked = saved(tmp_path, b"\xef\xbb\xbfAnna O\n")
    assert read_conll(marked).sentences.words(0) == ["Anna"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a O O\nb O\n", r"line 2: 2 columns where the lines before have 3"),
        ("a O O\n\nb O O O\n", r"line 3: 4 columns"),
        ("#token u v\na O\n", r"line 2: 2 columns where the lines before have 3"),
        ("a O O\nb O B_PER\n", r"line 2, column 3: the tag 'B_PER' is outside the scheme"),
        ("a\nb\n", "no column of tags"),
        ("", "the file is empty"),
        ("\n \n", "holds no token"),
        (b"a O\n\xe9t\xe9 O\n", r"line 2: byte 0xe9 is not utf-8 text; save the file as UTF-8"),
    ],
)
def test_broken_files_are_refused_by_place(tmp_path, text, place):
    with pytest.raises(DataError, match=place):
        read_conll(saved(tmp_path, text))


def test_an_encoding_can_be_named(tmp_path):
    path = saved(tmp_path, "été O\n".encode("latin-1"))
    assert read_conll(path, encoding="latin-1").sentences.words(0) == ["été"]


def test_given_tags_are_the_scheme_whatever_they_are(tmp_path):
    path = saved(tmp_path, "runs V ?\nfast A N\n")
    labels = read_conll(path, tags=["N", "V", "A"])
    assert labels.annotations.classes.tolist() == ["N", "V", "A"]
    with pytest.raises(DataError, match=r"line 2, column 2: the tag 'A' .* expected N, V, or \?"):
        read_conll(path, tags=["N", "V"])


def test_an_inside_tag_that_follows_nothing(tmp_path):
    path = saved(tmp_path, "a O O\n\nb I-PER O\nc I-PER I-LOC\n")
    tags = ["O", "O", "I-PER", "O", "I-PER", "I-LOC"]
    assert read_conll(path).annotations.label_names().tolist() == tags
    fixed = read_conll(path, orphan_tags="repair").annotations.label_names().tolist()
    assert fixed == ["O", "O", "B-PER", "O", "I-PER", "B-LOC"]
    with pytest.raises(DataError, match=r"conll: annotator 0: sentence 1, token 0 \('b'\): I-PER"):
        read_conll(path, orphan_tags="refuse")
    gold = saved(tmp_path, "a O\nb I-PER\n")
    assert read_bio(gold, orphan_tags="repair").tags.tolist() == ["O", "B-PER"]
    with pytest.raises(DataError, match=r"sentence 0, token 1 \('b'\): I-PER follows no entity"):
        read_bio(gold, orphan_tags="refuse")


def test_truth_stands_in_the_last_column_or_in_another(tmp_path):
    path = saved(tmp_path, "Anna NNP B-NP B-PER\nsang VB O O\n")
    assert read_bio(path).tags.tolist() == ["B-PER", "O"]
    assert read_bio(path, column=2).tags.tolist() == ["B-NP", "O"]
    with pytest.raises(DataError, match="line 1, column 2: the tag 'NNP'"):
        read_bio(path, column=1)


@settings(max_examples=40)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_a_written_file_reads_the_same(tmp_path, lists, data):
    sentences = Sentences.from_lists(lists)
    cells = [(t, a) for t in range(sentences.n_tokens) for a in range(3)]
    kept = data.draw(st.lists(st.sampled_from(cells), unique=True))
    codes = data.draw(st.lists(st.integers(0, 4), min_size=len(kept), max_size=len(kept)))
    token, who = np.array(sorted(kept), dtype=int).reshape(-1, 2).T
    names = ["u v", "w", "?"]
    labels = TokenLabels.from_codes(sentences, token, who, codes, names, TAGS)
    write_conll(labels, tmp_path / "crowd.conll")
    again = read_conll(tmp_path / "crowd.conll", tags=TAGS)
    assert again.sentences.to_lists() == lists
    assert said(again) == said(labels)
    assert again.annotations.annotators.tolist() == names
    tags = np.array(TAGS, dtype=object)[data.draw(st.integers(0, 4))]
    tagged = TaggedSentences(sentences, np.full(sentences.n_tokens, tags, dtype=object))
    write_bio(tagged, tmp_path / "gold.bio")
    gold = read_bio(tmp_path / "gold.bio")
    assert gold.sentences.to_lists() == lists
    assert gold.tags.tolist() == tagged.tags.tolist()


def test_there_are_25_kinds_of_white_space_that_part_nothing():
    assert len(SPACES) == 25


@pytest.mark.parametrize("space", SPACES, ids=ascii)
def test_a_token_may_hold_or_be_white_space_that_parts_nothing(tmp_path, space):
    lists = [[space, f"{space}a"], [f"a{space}", f"a{space}b"]]
    sentences = Sentences.from_lists(lists)
    names = [f"{space}u", f"v{space}w"]
    labels = TokenLabels.from_codes(sentences, [0, 1, 2, 3], [0, 1, 0, 1], [0] * 4, names, ["O"])
    write_conll(labels, tmp_path / "crowd.conll")
    again = read_conll(tmp_path / "crowd.conll", tags=["O"])
    assert again.sentences.to_lists() == lists
    assert said(again) == said(labels)
    assert again.annotations.annotators.tolist() == names
    write_bio(TaggedSentences(sentences, np.full(4, "O", dtype=object)), tmp_path / "gold.bio")
    assert read_bio(tmp_path / "gold.bio").sentences.to_lists() == lists


@pytest.mark.parametrize(
    "blank", [" ", "  ", "\t", "\n", "\r", "a\rb", "a\nb", "\ud800"], ids=ascii
)
def test_what_parts_cells_or_lines_is_no_token_and_no_name(tmp_path, blank):
    for word, name in ((blank, "u"), ("a", blank)):
        sentences = Sentences.from_lists([[word]])
        labels = TokenLabels.from_codes(sentences, [0], [0], [0], [name], ["O"])
        with pytest.raises(DataError, match="cannot stand in a column"):
            write_conll(labels, tmp_path / "crowd.conll")
    assert not list(tmp_path.iterdir())


def test_a_token_that_begins_with_a_byte_order_mark_is_kept(tmp_path):
    sentences = Sentences.from_lists([["\ufeffAnna"]])
    write_bio(TaggedSentences(sentences, np.array(["O"], dtype=object)), tmp_path / "gold.bio")
    assert read_bio(tmp_path / "gold.bio").sentences.to_lists() == [["\ufeffAnna"]]
    (tmp_path / "marked.bio").write_text("Anna O\n\ufeffsang O\n", encoding="utf-8-sig")
    assert read_bio(tmp_path / "marked.bio").sentences.to_lists() == [["Anna", "\ufeffsang"]]
    labels = TokenLabels.from_codes(sentences, [0], [0], [0], ["u"], ["O"])
    write_conll(labels, tmp_path / "crowd.conll")  # names stand first there
    assert read_conll(tmp_path / "crowd.conll").sentences.to_lists() == [["\ufeffAnna"]]


@pytest.mark.parametrize("missing", ["O", "\t", "a\nb"], ids=ascii)
def test_a_mark_for_no_label_that_would_be_read_otherwise_is_refused(tmp_path, missing):
    labels = TokenLabels.from_codes(Sentences.from_lists([["a"]]), [0], [0], [0], ["u"], ["O"])
    with pytest.raises(DataError, match="choose another mark"):
        write_conll(labels, tmp_path / "crowd.conll", missing=missing)


def test_annotators_called_as_the_tags_of_another_scheme_are_not_written(tmp_path):
    sentences = Sentences.from_lists([["a"]])
    labels = TokenLabels.from_codes(sentences, [0], [0], [0], ["NOUN"], ["NOUN"])
    with pytest.raises(DataError, match="called as tags are"):
        write_conll(labels, tmp_path / "crowd.conll")


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ([["a\tb"]], "cannot stand in a column"),
        ([["a"], []], "sentence 1: it has no token"),
        ([["-DOCSTART-"]], "parts documents"),
    ],
)
def test_what_a_file_cannot_hold_is_not_written(tmp_path, lists, why):
    sentences = Sentences.from_lists(lists)
    labels = TokenLabels.from_codes(sentences, [0], [0], [0], ["u"], ["O"])
    with pytest.raises(DataError, match=why):
        write_conll(labels, tmp_path / "crowd.conll")
    assert not (tmp_path / "crowd.conll").exists()


def test_repeated_labels_and_annotators_called_as_tags_are_not_written(tmp_path):
    sentences = Sentences.from_lists([["a"]])
    twice = TokenLabels.from_codes(sentences, [0, 0], [0, 0], [0, 0], ["u"], ["O"])
    with pytest.raises(DataError, match="labelled a token twice"):
        write_conll(twice, tmp_path / "crowd.conll")
    odd = TokenLabels.from_codes(sentences, [0], [0], [0], ["B-PER"], ["O"])
    with pytest.raises(DataError, match="called as tags are"):
        write_conll(odd, tmp_path / "crowd.conll")


def test_a_first_token_with_a_hash_is_no_header(tmp_path):
    path = saved(tmp_path, "#tag NOUN VERB\nrun VERB VERB\n")
    labels = read_conll(path, tags=["NOUN", "VERB"])
    assert labels.sentences.words(0) == ["#tag", "run"]
    assert read_bio(saved(tmp_path, "#Ada O\nwent O\n")).sentences.words(0) == ["#Ada", "went"]


def test_blank_tokens_and_columns_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(DataError, match="line 2: the token is blank"):
        read_conll(saved(tmp_path, "Ada\tO\n\tO\n"))
    path = saved(tmp_path, "Ada B-NP B-PER\n")
    assert read_bio(path, column=1).tags.tolist() == ["B-NP"]
    for column in (3, -4):
        with pytest.raises(DataError, match=f"line 1: no column {column}; there are 3"):
            read_bio(path, column=column)
