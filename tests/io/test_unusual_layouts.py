"""Files in layouts that are easily taken for others: read right, or refused with the remedy."""

import pytest

import manyhands as mh
from manyhands.core.errors import DataError


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("suffix", ["txt", "conll"])
@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_column_of_parts_of_speech_is_no_annotator_and_no_label(suffix, blank, tmp_path):
    lines = "John NN B-PER B-PER\nlives VB O O\n\nAnn NN B-PER O\n".replace(" ", blank)
    with pytest.raises(DataError, match=r"column 2 holds no tags \(NN, VB\); leave it out"):
        mh.read(written(tmp_path, f"tokens.{suffix}", lines))
    marked = "-DOCSTART- -X- O O\n\nJohn NN B-PER O\nSmith NN I-PER O\n"
    with pytest.raises(DataError, match=r"column 2 holds no tags \(NN\)"):
        mh.read(written(tmp_path, f"marked.{suffix}", marked))


def test_a_matrix_of_words_stays_one(tmp_path):
    ann = mh.read(written(tmp_path, "matrix.txt", "a b a\nb b O\n\nO a a\n"))
    assert (ann.n_items, ann.n_annotators) == (3, 3)
