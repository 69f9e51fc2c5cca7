"""Image sets on tiny files of the same formats: people's labels, and items nobody labelled."""

import dataclasses
import json
import sys

import numpy as np
import pytest
from image_files import write_cifar10, write_dogs_cats

import manyhands as mh
from manyhands.core.errors import DataError, SettingError, UnknownNameError
from manyhands.datasets import DATASETS, ITEM_SETS, dogs_cats

TEST = "test_10000_from_jpeg.npz"
LABELS = "answers_idx9500-9999_by_worker.json"
COUNTS = "cifar10h-counts.npy"


@pytest.fixture
def data(tmp_path):
    write_cifar10(tmp_path / "cifar10")
    write_dogs_cats(tmp_path / "dogs-cats")
    return tmp_path


def test_labelled_images_train_and_the_others_test(data):
    corpus = DATASETS["cifar10"].read(data)
    assert corpus.annotations.items.tolist() == [1, 3]
    assert corpus.features[:, 0, 0, 0].tolist() == [1, 3]
    assert corpus.features[:, 2, 0, 0].tolist() == [101, 103]
    assert corpus.truth.tolist() == ["bird", "deer"]
    assert corpus.annotations.annotators.tolist() == [7, 40]
    assert corpus.annotations.classes[[0, 3, 9]].tolist() == ["airplane", "cat", "truck"]
    frame = corpus.annotations.to_frame().sort_values(["item", "annotator"])
    assert frame["label"].tolist() == ["automobile", "cat", "dog"]
    assert corpus.test.features.shape == (3, 3, 32, 32)
    assert corpus.test.features[:, 0, 0, 0].tolist() == [0, 2, 4]
    assert corpus.test.truth.tolist() == ["automobile", "cat", "dog"]


def test_shares_tell_how_people_labelled_the_test_images(data):
    test = DATASETS["cifar10"].read(data).test
    assert test.label_distribution.shape == (3, 10)
    assert test.label_distribution.sum(axis=1) == pytest.approx(1.0)
    assert test.label_distribution[1, [3, 4]] == pytest.approx([4 / 13, 1 / 13])
    assert test.label_distribution.argmax(axis=1).tolist() == [1, 3, 5]


def test_shares_of_other_items_are_refused(data):
    corpus = DATASETS["cifar10"].read(data)
    for shares in (np.ones((2, 10)), np.ones((3, 9))):
        with pytest.raises(
            DataError, match=r"test label distribution .* for 3 truths and 10 classes"
        ):
            dataclasses.replace(
                corpus, test=dataclasses.replace(corpus.test, label_distribution=shares)
            )


def test_a_classifier_takes_the_images_as_they_are(data):
    corpus = DATASETS["cifar10"].read(data)
    made = mh.CrowdClassifier(method="crowd-layer-mw", epochs=1, seed=0)
    made.fit(corpus.features, corpus.annotations)
    assert made.predict_proba(corpus.test.features).shape == (3, 10)


@pytest.mark.parametrize("name", sorted(ITEM_SETS))
def test_every_item_set_gives_bytes_and_codes(name, data):
    assert ITEM_SETS[name].missing(data) == []
    items = ITEM_SETS[name].read(data)
    for part in (items, items.test):
        assert part.features.dtype == np.uint8
        assert part.features.flags.c_contiguous
        assert part.features.shape[1] == 3
        assert len(part.features) == len(part.truth) == len(part.flat_features)
        assert part.truth.dtype == np.int64
    again = ITEM_SETS[name].read(data, seed=0)
    assert np.array_equal(items.features, again.features)


@pytest.mark.parametrize("name", sorted(ITEM_SETS))
def test_files_that_are_not_there_are_named(name, tmp_path):
    items = ITEM_SETS[name]
    assert items.missing(tmp_path) == [str(tmp_path / items.folder / each) for each in items.files]
    with pytest.raises(DataError, match=f"no such file and 1 more; {items.folder} needs"):
        items.read(tmp_path)


def test_an_unknown_item_set_lists_the_known():
    with pytest.raises(UnknownNameError, match="no item set 'dogs-cat'; did you mean dogs-cats"):
        ITEM_SETS["dogs-cat"]


def test_cats_and_dogs_of_cifar10_are_two_classes(data):
    items = ITEM_SETS["cifar10-cats-dogs"].read(data)
    assert items.truth.tolist() == [0, 1, 1, 0]
    assert items.features[:, 1, 5, 5].tolist() == [0, 1, 3, 4]
    assert items.test.truth.tolist() == [0, 1]
    assert ITEM_SETS["cifar10"].read(data).truth.tolist() == [3, 5, 0, 5, 3, 9]


def test_photographs_are_split_in_halves_by_the_seed(data):
    sets = [dogs_cats(size=8).read(data, seed=seed) for seed in (0, 0, 1)]
    for part in (sets[0], sets[0].test):
        assert part.features.shape == (12, 3, 8, 8)
        assert np.bincount(part.truth).tolist() == [6, 6]
        red = part.features[:, 0].mean(axis=(1, 2)) > 150
        assert np.array_equal(part.truth == 0, red)
    assert np.array_equal(sets[0].truth, sets[1].truth)
    assert not np.array_equal(sets[0].truth, sets[2].truth)


def test_no_photograph_is_in_both_halves(tmp_path):
    from PIL import Image

    home = tmp_path / "dogs-cats"
    home.mkdir()
    for number in range(20):
        for kind in ("cat", "dog"):
            shade = 10 * number + 5 * (kind == "dog")
            Image.new("L", (8, 8), shade).save(home / f"{kind}.{number}.jpg")
    items = dogs_cats(size=4).read(tmp_path, seed=3)
    shades = [part.features[:, 0, 0, 0].tolist() for part in (items, items.test)]
    assert len({*shades[0], *shades[1]}) == 40
    assert set(shades[0]).isdisjoint(shades[1])


def test_photographs_may_lie_in_a_folder_of_their_own(tmp_path):
    write_dogs_cats(tmp_path / "dogs-cats/train", n_each=3)
    items = ITEM_SETS["dogs-cats"].read(tmp_path)
    assert items.features.shape == (2, 3, 150, 150)
    assert items.test.features.shape == (4, 3, 150, 150)


def test_a_broken_photograph_is_named(data):
    path = data / "dogs-cats/cat.5.jpg"
    whole = path.read_bytes()
    for broken in (b"", b"no image", whole[: len(whole) - 40]):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"cat\.5\.jpg: not a readable image"):
            dogs_cats(size=4).read(data)


def test_too_few_photographs_and_a_wrong_size_are_refused(tmp_path):
    write_dogs_cats(tmp_path / "dogs-cats", n_each=1)
    with pytest.raises(DataError, match="needs two images or more to split; got 1"):
        ITEM_SETS["dogs-cats"].read(tmp_path)
    with pytest.raises(SettingError, match="size must be a whole number"):
        dogs_cats(size=0)


def test_photographs_need_pillow(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DataError, match="pip install pillow"):
        ITEM_SETS["dogs-cats"].read(data)
    assert DATASETS["cifar10"].read(data).features.dtype == np.uint8


def broken_archive(path):
    """A member whose compressed bytes are spoilt, in an archive that opens."""
    spoilt = bytearray(path.read_bytes())
    spoilt[60:90] = bytes(30)
    return bytes(spoilt)


@pytest.mark.parametrize("how", ["half", "empty", "text", "array", "spoilt"])
def test_images_cut_short_are_refused(how, data):
    path = data / "cifar10" / TEST
    whole = path.read_bytes()
    array = (data / "cifar10" / COUNTS).read_bytes()
    made = {"half": whole[: len(whole) // 2], "empty": b"", "text": b"x,y", "array": array}
    path.write_bytes(broken_archive(path) if how == "spoilt" else made[how])
    for entry in (DATASETS["cifar10"], ITEM_SETS["cifar10"]):
        with pytest.raises(DataError, match=rf"{TEST}: not an \.npz archive, or cut short"):
            entry.read(data)


IMAGE = np.zeros((2, 32, 32, 3), dtype=np.uint8)
CODE = np.zeros(2, dtype=np.uint8)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": IMAGE}, "has no array 'y'; known: x"),
        ({"x": IMAGE, "y": np.array(3)}, "'y' is not an array of rows"),
        ({"x": IMAGE.transpose(0, 3, 1, 2), "y": CODE}, "images as bytes"),
        ({"x": IMAGE.astype(np.float32), "y": CODE}, "got float32"),
        ({"x": IMAGE[:0], "y": CODE[:0]}, "images as bytes"),
        ({"x": IMAGE, "y": CODE[:1]}, "a class code per image"),
        ({"x": IMAGE, "y": CODE.astype(float)}, "got float64"),
        ({"x": IMAGE, "y": CODE + 10}, r"must be 0\.\.9; got 10\.\.10"),
    ],
)
def test_other_arrays_than_images_are_refused(arrays, said, data):
    np.savez(data / "cifar10" / TEST, **arrays)
    with pytest.raises(DataError, match=f"{TEST}: .*{said}"):
        ITEM_SETS["cifar10"].read(data)


def test_no_cats_and_no_dogs_is_told(data):
    np.savez(data / "cifar10" / TEST, x=IMAGE, y=CODE)
    with pytest.raises(DataError, match=f"{TEST}: holds no cat"):
        ITEM_SETS["cifar10-cats-dogs"].read(data)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"3": {"7": 3', "not JSON, or cut short"),
        ("[1, 2]", "expected an object"),
        ("{}", "expected an object"),
        ('{"5": {"7": 3}}', r"image '5' is not a row of the test images; rows are 0\.\.4"),
        ('{"-1": {"7": 3}}', "image '-1' is not a row"),
        ('{"03": {"7": 3}}', "image '03' is not a row"),
        ('{"3": [3]}', "image 3: expected"),
        ('{"3": {"7": 10}}', "image 3, annotator '7': a label must be a class code"),
        ('{"3": {"7": "cat"}}', "got 'cat'"),
        ('{"3": {"7": true}}', "got True"),
    ],
)
def test_wrong_labels_are_refused(text, said, data):
    (data / "cifar10" / LABELS).write_text(text)
    with pytest.raises(DataError, match=f"{LABELS}: .*{said}"):
        DATASETS["cifar10"].read(data)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (np.ones((4, 10)), r"expected counts of shape \(5, 10\); got float64 of shape \(4, 10\)"),
        (np.ones((5, 9), dtype=int), "expected counts of shape"),
        (np.full((5, 10), "1"), "expected counts of shape"),
        (np.diag([1.0, 1, 0, 1, 1]) @ np.ones((5, 10)), "row 2 must hold counts"),
        (np.ones((5, 10)) - 2 * np.eye(5, 10, k=1), "row 0 must hold counts"),
        (np.full((5, 10), np.nan), "row 0 must hold counts"),
    ],
)
def test_counts_of_other_images_are_refused(counts, said, data):
    np.save(data / "cifar10" / COUNTS, counts)
    with pytest.raises(DataError, match=f"{COUNTS}: {said}"):
        DATASETS["cifar10"].read(data)


def test_the_command_tells_which_items_are_there(data, monkeypatch, capsys):
    from manyhands.cli import app

    (data / "cifar10/train_15000.npz").unlink()
    said = {}
    for end in ([], ["--json"]):
        monkeypatch.setattr("sys.argv", ["manyhands", "datasets", "check", str(data), *end])
        with pytest.raises(SystemExit) as stop:
            app.main()
        assert stop.value.code == 0
        said[bool(end)] = capsys.readouterr().out
    found = json.loads(said[True])
    assert found["cifar10"]["features"] == {"images": ["complete"]}
    assert found["item_sets"]["dogs-cats"]["files"] == ["complete"]
    assert "train_15000.npz" in found["item_sets"]["cifar10"]["files"][0]
    assert "Items for simulated crowds:" in said[False]
