"""Sets of comparisons, on tiny files of the same formats."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.core.errors import DataError
from manyhands.datasets import PAIR_SETS, PairCorpus

HEADER = "Worker ID\tAnswer\tText A\tText B\n"
ROWS = (
    'W2\tA\ta pun about lemons\tan apple a day\n'
    'W1\tX\tan apple a day\t"a ""good"" pun about an apple"\n'
    'W1\tB\tan apple a day\ta pun about lemons\n'
)  # fmt: skip


def write_humour(home, text=HEADER + ROWS):
    home.mkdir()
    (home / "results.tsv").write_text(text, encoding="utf-8")


def test_texts_are_items_and_x_is_a_tie(tmp_path):
    write_humour(tmp_path / "humour")
    found = PAIR_SETS["humour"].read(tmp_path, "texts")
    pairs = found.comparisons
    assert found.features.tolist() == pairs.items.tolist()
    assert set(found.features) == {
        "a pun about lemons",
        "an apple a day",
        'a "good" pun about an apple',
    }
    said = zip(
        pairs.items[pairs.left], pairs.items[pairs.right], pairs.annotators[pairs.annotator],
        pairs.winners, strict=True,
    )  # fmt: skip
    assert set(said) == {
        ("a pun about lemons", "an apple a day", "W2", "a pun about lemons"),
        ("an apple a day", 'a "good" pun about an apple', "W1", None),
        ("an apple a day", "a pun about lemons", "W1", "a pun about lemons"),
    }
    assert pairs.n_ties == 1


def test_features_by_words_rank_texts(tmp_path):
    write_humour(tmp_path / "humour")
    found = PAIR_SETS["humour"].read(tmp_path)
    assert found.features.dtype == np.float32
    assert len(found.features) == found.comparisons.n_items == 3
    ranker = mh.CrowdRanker(method="softmax-crowd-layer", epochs=2, progress=False)
    scores = ranker.fit(found.features, found.comparisons).predict(found.features)
    assert scores.shape == (3,)


def test_columns_are_read_by_their_order(tmp_path):
    write_humour(tmp_path / "humour", "who\tsaid\tone\tother\n" + ROWS)
    assert len(PAIR_SETS["humour"].read(tmp_path, "texts").comparisons) == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Worker ID\tAnswer\tText A\nw\tA\tx\n", "text A and text B; it has 3"),
        (HEADER + "w\tC\tx\ty\n", r"results\.tsv, line 2: the winner 'C' is neither"),
        (HEADER + "w\tA\tx\tx\n", "compared with itself"),
    ],
)
def test_a_wrong_file_is_told(tmp_path, text, error):
    write_humour(tmp_path / "humour", text)
    with pytest.raises(DataError, match=error):
        PAIR_SETS["humour"].read(tmp_path)


def test_a_missing_file_and_unknown_features_are_named(tmp_path):
    with pytest.raises(DataError, match=r"results\.tsv: no such file"):
        PAIR_SETS["humour"].read(tmp_path)
    with pytest.raises(DataError, match="known: tfidf, texts"):
        PAIR_SETS["humour"].read(tmp_path, "nonsense")


def test_rows_of_features_are_those_of_the_items():
    pairs = mh.Comparisons.from_arrays(["a"], ["b"], ["u"], ["left"])
    with pytest.raises(DataError, match="few: 1 rows of features for 2 items"):
        PairCorpus("few", np.ones((1, 2)), pairs)


def test_the_command_lists_comparisons_apart(tmp_path, monkeypatch, capsys):
    from manyhands.cli import app

    write_humour(tmp_path / "humour")
    monkeypatch.setattr("sys.argv", ["manyhands", "datasets", "check", str(tmp_path)])
    with pytest.raises(SystemExit) as stopped:
        app.main()
    assert stopped.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("Comparisons of two items, for mh.CrowdRanker:")
    assert lines[at + 1].startswith("humour: ")
    assert lines[at + 2] == "    tfidf: complete"
