"""Readers of public corpora, on tiny files of the same formats."""

import json

import numpy as np
import pytest
from disagreement_files import WRITERS as DISAGREEMENT_WRITERS
from image_files import write_archive, write_cifar10
from text_files import write_moviereviews, write_moviereviews_words, write_ner

from manyhands.core.errors import DataError
from manyhands.datasets import DATASETS
from manyhands.datasets.corpus import n_rows


def write_labelme(home):
    rng = np.random.default_rng(0)
    home.mkdir()
    sizes = {"train": 6, "valid": 3, "test": 4}
    for part, size in sizes.items():
        np.save(home / f"LabelMe_VGG_avg_{part}.npy", rng.random((size, 5), dtype=np.float32))
        (home / f"LabelMe_Z_{part}.txt").write_text("\n".join(map(str, range(size))) + "\n")
    labels = np.array([[0, -1], [1, 1], [-1, 2], [3, 3], [4, -1], [-1, -1]])
    np.savetxt(home / "answers.txt", labels, fmt="%d")
    np.savez(
        home / "efflite0_gap_1280.npz",
        **{f"x_{part}": rng.random((size, 7)).astype(np.float16) for part, size in sizes.items()},
    )
    write_archive(home, sizes)


def write_music(home):
    home.mkdir()
    (home / "music_genre_mturk.csv").write_text(
        "id,annotator,feature0,feature1,class\nb.mp3,1,0.5,1,pop\na.mp3,1,0.1,2,rock\na.mp3,2,0.1,2,pop\n"
    )
    (home / "music_genre_gold.csv").write_text(
        "id,feature0,feature1,class\nb.mp3,0.5,1,pop\na.mp3,0.1,2,rock\n"
    )
    (home / "music_genre_test.csv").write_text("id,feature0,feature1,class\nc.mp3,0.2,3,rock\n")


def write_sentiment(home):
    home.mkdir()
    (home / "answers.txt").write_text("1 -1\n0 0\n-1 1\n")
    (home / "Sentiment_text_train.txt").write_text("good fun film\nbad film\na good fun film")
    (home / "Sentiment_Z_train.txt").write_text("1\n0\n1\n")
    (home / "test_answer.csv").write_text(
        'Input.original_sentence,Input.true_sent\n"good, ""fun""",1\nbad film,0\n'
    )
    np.savez(home / "minilm_emb.npz", train=np.ones((3, 4)), test=np.zeros((2, 4)))


WRITERS = DISAGREEMENT_WRITERS | {
    "cifar10": write_cifar10,
    "labelme": write_labelme,
    "moviereviews": write_moviereviews,
    "moviereviews-words": write_moviereviews_words,
    "music": write_music,
    "ner": write_ner,
    "sentiment": write_sentiment,
}


@pytest.fixture(params=sorted(DATASETS))
def corpus_folder(request, tmp_path):
    WRITERS[request.param](tmp_path / DATASETS[request.param].folder)
    return request.param, tmp_path


def test_rows_belong_to_items_in_every_corpus(corpus_folder):
    name, folder = corpus_folder
    for features in DATASETS[name].feature_sets:
        corpus = DATASETS[name].read(folder, features)
        assert n_rows(corpus.features) == corpus.annotations.n_items == len(corpus.truth)
        assert n_rows(corpus.test.features) == len(corpus.test.truth)
        assert type(corpus.test.features) is type(corpus.features)
        if not isinstance(corpus.features, np.ndarray):
            continue
        if corpus.features.dtype == object:
            assert {type(text) for text in corpus.features} == {str}
            continue
        assert corpus.features.dtype == (np.uint8 if features == "images" else np.float32)
        assert corpus.test.features.shape[1:] == corpus.features.shape[1:]


def test_files_of_features_that_are_not_asked_for_may_be_absent(tmp_path):
    write_sentiment(tmp_path / "sentiment")
    (tmp_path / "sentiment/minilm_emb.npz").unlink()
    assert DATASETS["sentiment"].missing(tmp_path, "tfidf") == []
    with pytest.raises(DataError, match="no such file"):
        DATASETS["sentiment"].read(tmp_path)


def test_a_missing_file_is_named_with_what_is_needed(corpus_folder):
    name, folder = corpus_folder
    first = DATASETS[name].files[0]
    (folder / DATASETS[name].folder / first).unlink()
    with pytest.raises(DataError, match=f"{first}: no such file"):
        DATASETS[name].read(folder)
    assert len(DATASETS[name].missing(folder)) == 1


def test_unknown_features_list_the_known(corpus_folder):
    name, folder = corpus_folder
    with pytest.raises(DataError, match=f"known: {next(iter(DATASETS[name].feature_sets))}"):
        DATASETS[name].read(folder, "nonsense")
    with pytest.raises(DataError, match="has no features 'nonsense'"):
        DATASETS[name].missing(folder, "nonsense")


def test_labelme_holds_labels_and_splits(tmp_path):
    write_labelme(tmp_path / "labelme")
    corpus = DATASETS["labelme"].read(tmp_path)
    assert corpus.annotations.n_annotations == 7
    assert corpus.annotations.labels_per_item.tolist() == [1, 2, 1, 2, 1, 0]
    assert corpus.valid is not None
    assert DATASETS["labelme"].read(tmp_path, "efficientnet").features.shape == (6, 7)


def test_songs_keep_the_order_of_the_truth(tmp_path):
    write_music(tmp_path / "music")
    corpus = DATASETS["music"].read(tmp_path)
    assert corpus.annotations.items.tolist() == ["b.mp3", "a.mp3"]
    assert corpus.truth.tolist() == ["pop", "rock"]
    assert corpus.features.tolist() == [[0.5, 1.0], [pytest.approx(0.1), 2.0]]


def test_features_of_other_items_are_refused(tmp_path):
    write_labelme(tmp_path / "labelme")
    np.save(tmp_path / "labelme/LabelMe_VGG_avg_train.npy", np.ones((5, 2)))
    with pytest.raises(DataError, match="5 rows of features for 6 items"):
        DATASETS["labelme"].read(tmp_path)
    (tmp_path / "labelme/LabelMe_VGG_avg_train.npy").write_bytes(b"\x93NUMPY cut")
    with pytest.raises(DataError, match="cut short"):
        DATASETS["labelme"].read(tmp_path)


def test_the_command_tells_what_is_there(tmp_path, monkeypatch, capsys):
    from manyhands.cli import app

    write_music(tmp_path / "music")
    monkeypatch.setattr("sys.argv", ["manyhands", "datasets", "check", str(tmp_path), "--json"])
    with pytest.raises(SystemExit) as stop:
        app.main()
    assert stop.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["music"]["features"] == {"published": ["complete"]}
    assert len(found["labelme"]["features"]["vgg"]) == 7
    monkeypatch.setattr("sys.argv", ["manyhands", "datasets", "check", str(tmp_path / "no")])
    with pytest.raises(SystemExit) as stop:
        app.main()
    assert stop.value.code == 2
