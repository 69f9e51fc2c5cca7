"""Texts, word counts and word vectors."""

import numpy as np
import pytest

from manyhands.core.errors import DataError
from manyhands.io import read_texts, read_word_counts, read_word_vectors


def saved(tmp_path, text, name="file.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_text_per_line(tmp_path):
    path = saved(tmp_path, "one\r\n\r\nthree \u2028\x0c more\nlast")
    assert read_texts(path).tolist() == ["one", "", "three \u2028\x0c more", "last"]


@pytest.mark.parametrize("read", [read_texts, read_word_counts, read_word_vectors])
def test_files_that_are_no_text_or_empty_are_refused(tmp_path, read):
    with pytest.raises(DataError, match="the file is empty"):
        read(saved(tmp_path, ""))
    with pytest.raises(DataError, match="line 1: byte 0xff is not utf-8 text; save the file as"):
        read(saved(tmp_path, b"\xff 1 2\n"))
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nowhere.txt")


def test_counts_are_a_sparse_matrix(tmp_path):
    path = saved(tmp_path, "2 3:1 0:4\n0\n1 1:2\n")
    assert read_word_counts(path).toarray().tolist() == [[4, 0, 0, 1], [0] * 4, [0, 2, 0, 0]]
    assert read_word_counts(path, n_words=6).shape == (3, 6)
    with pytest.raises(DataError, match="contains the word 3, but n_words is 3"):
        read_word_counts(path, n_words=3)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("2 0:1", "1 words where 2 are announced"),
        ("1 0:x", "expected"),
        ("1 0", "expected"),
        ("", "expected"),
        ("1 -1:2", "counted from 0"),
        ("1 1:0", "counts are 1 or more"),
        ("2 1:1 1:2", "named twice"),
    ],
)
def test_a_broken_line_of_counts_is_named(tmp_path, line, why):
    with pytest.raises(DataError, match=rf"line 2: .*{why}"):
        read_word_counts(saved(tmp_path, f"1 0:1\n{line}\n1 0:1\n"))


def test_vectors_of_text_files(tmp_path):
    path = saved(tmp_path, "the 1 2.5\n. . . 3 4\nthe 9 9\n\u00a0x 5 6\n")
    found = read_word_vectors(path)
    assert found.words.tolist() == ["the", ". . .", "\u00a0x"]
    assert found.vectors.tolist() == [[1, 2.5], [3, 4], [5, 6]]
    assert found.vectors.dtype == np.float32
    some = read_word_vectors(path, words=["\u00a0x", "absent"], dimension=2)
    assert (some.words.tolist(), some.vectors.tolist()) == (["\u00a0x"], [[5, 6]])
    assert read_word_vectors(path, words=[]).vectors.shape == (0, 2)


def test_a_first_line_of_sizes_is_passed_over(tmp_path):
    found = read_word_vectors(saved(tmp_path, "2 3\na 1 2 3\n7 4 5 6 \n"))
    assert found.words.tolist() == ["a", "7"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a 1 2\n" * 120 + "b 1\n", r"line 121: 1 numbers where 2 are expected"),
        ("a 1 2\nb 1 x\n", "line 2: a vector must have numbers only"),
        ("a 1 2\nb 1 nan\n", "the vector of 'b' is not finite"),
        ("word\n", "line 1: expected a word"),
        ("\n\n", "has no word"),
    ],
)
def test_broken_vectors_are_refused_by_place(tmp_path, text, why):
    with pytest.raises(DataError, match=why):
        read_word_vectors(saved(tmp_path, text))
    with pytest.raises(DataError, match="where"):
        read_word_vectors(saved(tmp_path, "a 1 2\n"), dimension=3)


def test_vectors_of_archives(tmp_path):
    path = tmp_path / "vectors.npz"
    np.savez(path, words=["a", "b", "a"], vec=np.arange(6, dtype=np.float16).reshape(3, 2))
    found = read_word_vectors(path)
    assert (found.words.tolist(), found.vectors.tolist()) == (["a", "b"], [[0, 1], [2, 3]])
    assert found.vectors.dtype == np.float32
    assert read_word_vectors(path, words={"b"}).words.tolist() == ["b"]
    with pytest.raises(DataError, match="vectors have 2 numbers; expected dimension=3"):
        read_word_vectors(path, dimension=3)
    np.savez(path, words=["a"], vectors=np.ones((1, 2)))
    with pytest.raises(DataError, match="expected 'words' and 'vec'"):
        read_word_vectors(path)
    np.savez(path, words=["a"], vec=np.ones((2, 2)))
    with pytest.raises(DataError, match=r"shape \(2, 2\)"):
        read_word_vectors(path)
    np.savez(path, words=np.array(["a"], dtype=object), vec=np.ones((1, 2)))
    with pytest.raises(DataError, match=r"not a plain \.npz archive"):
        read_word_vectors(path)
    path.write_bytes(b"PK cut")
    with pytest.raises(DataError, match="cut short"):
        read_word_vectors(path)


def test_a_short_line_near_the_top_does_not_set_the_size_of_vectors(tmp_path):
    lines = [f"w{i} 1 2 3" for i in range(9)]
    path = saved(tmp_path, "\n".join([lines[0], "cut 1 2", *lines[1:]]) + "\n")
    with pytest.raises(DataError, match="line 2: 2 numbers where 3 are expected"):
        read_word_vectors(path)
    path = saved(tmp_path, "\n".join([". . 4 5 6", *lines]) + "\n")  # a word with a blank in it
    assert read_word_vectors(path).words.tolist()[0] == ". ."
