"""The benchmark of many seeds, on a small crowd."""

import json

import numpy as np
from benchmarks import many_seeds


def test_the_benchmark_prints_its_record(monkeypatch, capsys):
    sizes = {"N_ITEMS": 120, "N_FEATURES": 6, "N_ANNOTATORS": 9, "N_LABELS": 310, "N_CLASSES": 3}
    for name, size in sizes.items():
        monkeypatch.setattr(many_seeds, name, size)
    many_seeds.main(["--device", "cpu", "--seeds", "2", "--epochs", "2", "--methods", "speelfc"])
    shown = capsys.readouterr()
    record = json.loads(shown.out)
    (row,) = record["rows"]
    assert row["seeds"] == 2
    assert row["same_epochs"]
    assert row["max_difference"] < 1e-4
    assert (
        row["ratio"] == round(row["separate_s"] / row["together_s"], 2) or row["together_s"] < 0.1
    )
    assert "2 seeds" in shown.err


def test_the_crowd_has_the_size_of_labelme():
    features, annotations = many_seeds.labelme_like()
    assert features.shape == (1000, 512)
    assert annotations.n_annotations == 2547
    assert (annotations.n_annotators, annotations.n_classes) == (59, 8)
    assert np.bincount(annotations.labels_per_item).tolist()[2:] == [453, 547]
