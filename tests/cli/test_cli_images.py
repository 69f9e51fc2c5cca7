"""manyhands train, predict and compare on folders of photos and tables of paths."""

import csv
import shutil

import pandas as pd
import pytest
from command_line import call, plain_json

from photos import crowd_of, write_photos

QUICK = ("--method", "speelfc", "--epochs", 3, "--batch-size", 8, "--threads", 1)


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    """Photos in two folders, labels by file name without suffix, the truth, and a model."""
    home = tmp_path_factory.mktemp("album")
    truth = write_photos(home / "photos")
    (home / "photos" / "more").mkdir()
    for number in range(12):
        shutil.move(home / "photos" / f"photo{number}.png", home / "photos" / "more")
    (home / "photos" / "readme.txt").write_text("x")
    labelled = {name: truth[name] for name in list(truth)[:20]}
    crowd_of(labelled).to_frame().to_csv(home / "labels.csv", index=False)
    pd.DataFrame(truth.items(), columns=["item", "truth"]).to_csv(home / "truth.csv", index=False)
    done = call("train", home / "photos", home / "labels.csv", *QUICK, "--augment", "flip,crop",
                "--truth", home / "truth.csv", "--out", home / "model")  # fmt: skip
    assert done.code == 0, done
    return home, done


def assert_refused(outcome, text):
    *before, said = outcome.err.splitlines()
    assert (outcome.code, outcome.out) == (2, "")
    assert said.startswith("manyhands: ")
    assert text in said
    assert all(line.startswith(("items: ", "note: ")) for line in before)


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_a_folder_of_photos_is_trained_on_and_it_is_said_how(album):
    _, done = album
    assert "24 images, whose items are named by file name without suffix" in done.err
    assert "; 4 images have no labels" in done.err
    assert "1 other file is not read (.txt)" in done.err
    assert "60 labels of 20 items" in done.out
    assert "accuracy" in done.out  # of the four photos that nobody labelled


def test_predictions_have_the_names_of_training(album):
    home, _ = album
    found = rows_of(call("predict", home / "model", home / "photos").out)
    assert sorted(row["item"] for row in found) == sorted(f"photo{n}" for n in range(24))
    with_labels = call(
        "predict", home / "model", home / "photos", "--labels", home / "labels.csv", "--json"
    )
    assert len(plain_json(with_labels.out)["predictions"]) == 24


def test_a_table_of_paths_is_a_folder_with_names_of_its_own(album, tmp_path):
    home, _ = album
    names = [f"photo{n}" for n in range(24)]
    where = {name: "more/" if n < 12 else "" for n, name in enumerate(names)}
    table = pd.DataFrame({"id": names, "width": 16, "where": [
        f"{home}/photos/{where[name]}{name}.png" for name in names]})  # fmt: skip
    table.to_csv(tmp_path / "photos.csv", index=False)
    found = call("predict", home / "model", tmp_path / "photos.csv", "--image", "where")
    assert "only its images are used, not width" in found.err
    by_folder = rows_of(call("predict", home / "model", home / "photos").out)
    by_table = rows_of(found.out)
    key = lambda row: row["item"]  # noqa: E731
    assert sorted(by_table, key=key) == sorted(by_folder, key=key)
    assert_refused(call("predict", home / "model", tmp_path / "photos.csv"), "--image")


def test_methods_are_compared_on_photos(album):
    home, _ = album
    done = call("compare", home / "labels.csv", "--features", home / "photos", "--methods",
                "speelfc,two-stage-majority", "--epochs", 1, "--threads", 1, "--jobs", 1,
                "--json")  # fmt: skip
    assert done.code == 0, done
    assert {row["method"] for row in plain_json(done.out)["methods"]} == {
        "speelfc", "two-stage-majority",
    }  # fmt: skip


def test_wrong_photos_are_one_line(album, tmp_path):
    home, _ = album
    write_photos(tmp_path / "photos", 20)
    train = ("train", tmp_path / "photos", home / "labels.csv", *QUICK, "--out", tmp_path / "m")
    (tmp_path / "photos" / "photo5.png").write_bytes(b"")
    assert_refused(call(*train), "photo5.png: the file is empty")
    assert not (tmp_path / "m").exists()
    (tmp_path / "photos" / "photo5.jpg").write_bytes(b"")
    assert_refused(call(*train), "the item 'photo5' may be 'photo5.jpg' or 'photo5.png'")
    assert_refused(call("train", home, home / "labels.csv", "--augment", "mirror", "--out", "m"),
                   "--augment must be names among flip, crop")  # fmt: skip
    (tmp_path / "none").mkdir()
    assert_refused(call("train", tmp_path / "none", home / "labels.csv", "--out", "m"),
                   "has no images")  # fmt: skip
    (tmp_path / "numbers.csv").write_text("item,x\nphoto1,2\n")
    assert_refused(call("predict", home / "model", tmp_path / "numbers.csv"),
                   "has numbers, and the model was trained on images")  # fmt: skip
