"""A Parquet table of numbers that is mapped has the items and numbers that reading it gives."""

import gc
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import manyhands as mh
from featured_crowds import featured, weights
from manyhands.core.errors import DataError
from manyhands.engine.mapped import is_mapped
from manyhands.io import mapped_tables


def table(n_items=50):
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "x": rng.normal(size=n_items), "item": [f"i{row:02d}" for row in range(n_items)][::-1],
        "count": rng.integers(0, 9, n_items), "single": rng.normal(size=n_items).astype("float32"),
    })  # fmt: skip


def test_items_and_numbers_are_those_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped_tables, "_ROWS", 7)
    table().to_parquet(tmp_path / "x.parquet", index=False, row_group_size=20)
    found = mh.read_features(tmp_path / "x.parquet", mmap=True)
    expected = mh.read_features(tmp_path / "x.parquet")
    assert is_mapped(found.X)
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_array_equal(found.X, expected.values.astype(np.float32))


def test_an_array_is_mapped_unless_it_is_packed(tmp_path):
    values = np.random.default_rng(0).normal(size=(5, 2))
    np.save(tmp_path / "x.npy", values)
    (tmp_path / "y.npy.gz").write_bytes(gzip.compress((tmp_path / "x.npy").read_bytes()))
    for name, mapped in (("x.npy", True), ("y.npy.gz", False)):
        found = mh.read_features(tmp_path / name, mmap=True).values
        assert is_mapped(found) == mapped
        np.testing.assert_array_equal(found, values)


def test_the_copy_is_removed_with_the_array(tmp_path):
    table().to_parquet(tmp_path / "x.parquet", index=False)
    found = mh.read_features(tmp_path / "x.parquet", mmap=True)
    copy = Path(found.values.filename)
    assert copy.exists()
    del found
    gc.collect()
    assert not copy.exists()


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda each: each.assign(x=np.where(each.index == 9, np.nan, 0.0)), "column 'x'"),
        (lambda each: each.assign(item=each["item"].where(each.index != 9, " ")), "blank"),
        (lambda each: each.assign(item="one"), "more than one row for"),
        (lambda each: each.rename(columns={"item": "what"}), "item"),
    ],
)
def test_what_cannot_be_used_is_told_as_in_memory(damage, text, tmp_path):
    damage(table()).to_parquet(tmp_path / "x.parquet", index=False)
    errors = []
    for mmap in (False, True):
        with pytest.raises(DataError, match=text) as found:
            mh.read_features(tmp_path / "x.parquet", mmap=mmap)
        errors.append(str(found.value))
    assert errors[0] == errors[1]


def test_texts_are_read(tmp_path):
    frame = pd.DataFrame({"item": [1, 2], "text": ["a b", "c"]})
    frame.to_parquet(tmp_path / "x.parquet", index=False)
    assert mh.read_features(tmp_path / "x.parquet", mmap=True).are_texts


def test_a_model_of_mapped_rows_is_that_of_the_array(tmp_path):
    crowd = featured(n_items=30)
    names = [f"item {row}" for row in range(30)]
    order = np.random.default_rng(1).permutation(30)
    columns = {f"x{j}": crowd.x[order, j] for j in range(crowd.x.shape[1])}
    frame = pd.DataFrame({"item": [names[row] for row in order], **columns})
    frame.to_parquet(tmp_path / "x.parquet", index=False)
    labels = crowd.annotations.to_frame()
    labels["item"] = [names[row] for row in labels["item"]]
    settings = {"method": "speelfc", "network": "logistic", "epochs": 2, "progress": False,
                "device": "cpu", "threads": 1}  # fmt: skip
    found = []
    for mmap in (True, False):
        features = mh.read_features(tmp_path / "x.parquet", mmap=mmap)
        model = mh.CrowdClassifier(**settings)
        found.append(weights(model.fit(features.values, labels, X_items=features.items)))
    for name, value in found[1].items():
        np.testing.assert_allclose(found[0][name], value, rtol=1e-5, atol=1e-5)
