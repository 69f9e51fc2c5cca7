"""manyhands predict and train --resume: columns of features are matched by their names."""

import numpy as np
import pandas as pd
import pytest
from command_line import assert_refused, call, plain_json

import manyhands as mh

N = 240
CODES = np.array(["ant", "bee", "cow"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Features, labels of five people, the truth, and a model that was trained on them."""
    home = tmp_path_factory.mktemp("columns")
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, N)
    values = np.eye(3)[truth] * 3 + rng.normal(size=(N, 3)) * 0.7
    table = pd.DataFrame(values, columns=["x0", "x1", "x2"])
    table.insert(0, "item", [f"i{row}" for row in range(N)])
    table.to_csv(home / "features.csv", index=False)
    item, annotator = np.repeat(np.arange(N), 3), np.tile(np.arange(5), N)[: 3 * N]
    right = rng.random(3 * N) < 0.8
    label = CODES[np.where(right, truth[item], rng.integers(0, 3, 3 * N))]
    labels = {"item": [f"i{row}" for row in item], "annotator": annotator, "label": label}
    pd.DataFrame(labels).to_csv(home / "labels.csv", index=False)
    pd.DataFrame({"item": table["item"], "truth": CODES[truth]}).to_csv(
        home / "truth.csv", index=False
    )
    assert train(home, home / "features.csv", home / "model").code == 0
    return home


def train(folder, features, out, *more):
    return call("train", features, folder / "labels.csv", "--out", out, "--method", "speelfc",
                "--learning-rate", 0.02, "--epochs", 10, *more)  # fmt: skip


def changed(folder, path, change):
    """The features with a change, in a file."""
    table = change(pd.read_csv(folder / "features.csv"))
    getattr(table, {"csv": "to_csv", "parquet": "to_parquet"}[path.suffix[1:]])(path, index=False)
    return path


def labels_of(outcome):
    assert outcome.code == 0, outcome
    return [row["label"] for row in plain_json(outcome.out)["predictions"]]


def accuracy(folder, labels):
    return np.mean(np.array(labels) == pd.read_csv(folder / "truth.csv")["truth"])


ORDERS = [["item", "x2", "x0", "x1"], ["x1", "item", "x0", "x2"], ["x2", "x1", "x0", "item"]]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_in_another_order_are_put_right_and_told(order, suffix, folder, tmp_path):
    right = call("predict", folder / "model", folder / "features.csv", "--json")
    assert right.err == ""
    path = changed(folder, tmp_path / f"moved.{suffix}", lambda table: table[order])
    moved = call("predict", folder / "model", path, "--json")
    assert moved.err == (
        f"note: {path}: columns are in another order than in training; put right\n"
    )
    assert labels_of(moved) == labels_of(right)
    assert accuracy(folder, labels_of(moved)) > 0.9
    with_labels = [
        call("predict", folder / "model", each, "--labels", folder / "labels.csv")
        for each in (path, folder / "features.csv")
    ]
    assert with_labels[0].out == with_labels[1].out


def test_the_item_column_may_have_another_name(folder, tmp_path):
    path = changed(folder, tmp_path / "x.csv", lambda table: table.rename(columns={"item": "id"}))
    assert accuracy(folder, labels_of(call("predict", folder / "model", path, "--json"))) > 0.9


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda table: table.rename(columns={"x0": "a", "x2": "b"}),
         "missing: 'x0', 'x2'; unexpected: 'a', 'b'"),
        (lambda table: table.drop(columns="x1"), "missing: 'x1'"),
        (lambda table: table.assign(x3=0.0, x4=1.0), "unexpected: 'x3', 'x4'"),
    ],
)  # fmt: skip
def test_other_columns_are_refused_with_the_difference(change, text, labels, folder, tmp_path):
    path = changed(folder, tmp_path / "other.csv", change)
    more = ("--labels", folder / "labels.csv") if labels else ()
    refused = call("predict", folder / "model", path, *more, "--out", tmp_path / "said.csv")
    assert_refused(refused)
    assert f"{path}: the columns are not those of training; {text}; name them" in refused.err
    assert not (tmp_path / "said.csv").exists()


def test_an_array_is_matched_by_its_order_and_that_is_told(folder, tmp_path):
    table = mh.read_features(folder / "features.csv")
    np.savez(tmp_path / "x.npz", x=table.values, items=table.items.astype(str))
    outcome = call("predict", folder / "model", tmp_path / "x.npz", "--json")
    assert accuracy(folder, labels_of(outcome)) > 0.9
    assert outcome.err == (
        f"note: {tmp_path}/x.npz has no names of columns; they are matched by their order\n"
    )
    assert train(folder, tmp_path / "x.npz", tmp_path / "m").code == 0
    assert call("predict", tmp_path / "m", tmp_path / "x.npz").err == ""
    outcome = call("predict", tmp_path / "m", folder / "features.csv", "--json")
    assert accuracy(folder, labels_of(outcome)) > 0.9
    assert "note: the model has no names of columns" in outcome.err
    np.savez(tmp_path / "few.npz", x=table.values[:, :2], items=table.items.astype(str))
    for model in (folder / "model", tmp_path / "m"):
        refused = call("predict", model, tmp_path / "few.npz")
        assert refused.code == 2
        assert "X has 2 features, but model is expecting 3 features as input" in refused.err


def test_a_model_of_a_frame_reads_files(folder, tmp_path):
    table = mh.read_features(folder / "features.csv")
    ann = mh.read_annotations(folder / "labels.csv")
    frame = table.X
    assert list(frame.columns) == table.names == ["x0", "x1", "x2"]
    model = mh.CrowdClassifier(method="speelfc", epochs=3, progress=False)
    model.fit(frame[["x1", "x2", "x0"]], ann, X_items=table.items).save(tmp_path / "m")
    outcome = call("predict", tmp_path / "m", folder / "features.csv", "--json")
    assert labels_of(outcome) == model.predict(frame).tolist()
    assert "another order" in outcome.err


def test_training_resumes_with_the_same_features_only(folder, tmp_path):
    path, out = tmp_path / "x.csv", tmp_path / "m"
    changed(folder, path, lambda table: table)
    assert train(folder, path, out).code == 0
    assert train(folder, path, out, "--resume").code == 0
    swapped = {"i1": "i2", "i2": "i1"}
    for change, text in (
        (lambda table: table.assign(x1=table["x1"].where(table.index != 121, 0.5)),
         "set of features"),
        (lambda table: table[["item", "x2", "x0", "x1"]], "list of columns"),
        (lambda table: table.rename(columns={"x1": "y"}), "list of columns"),
        (lambda table: table.assign(item=table["item"].replace(swapped)), "set of labels"),
    ):  # fmt: skip
        changed(folder, path, change)
        refused = train(folder, path, out, "--resume")
        assert_refused(refused)
        assert f"made with another {text}" in refused.err


@pytest.mark.parametrize("name", ["x.csv", "x.npz", "texts.csv"])
def test_an_item_with_two_rows_is_refused_by_name(name, folder, tmp_path):
    items, path = ["a", "b", "b", "c", "c", "d"], tmp_path / name
    if name == "x.npz":
        np.savez(path, x=np.zeros((6, 3)), items=items)
    else:
        column = "text" if name == "texts.csv" else "x0"
        cells = ["word"] * 6 if name == "texts.csv" else [0.0] * 6
        pd.DataFrame({"item": items, column: cells}).to_csv(path, index=False)
    for refused in (
        call("predict", folder / "model", path),
        call("train", path, folder / "labels.csv", "--out", tmp_path / "m"),
    ):
        assert_refused(refused)
        assert f"{path}: more than one row for 'b', 'c'; an item has one row" in refused.err
