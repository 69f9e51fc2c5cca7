"""The benchmark of many seeds, on a small crowd."""

import numpy as np
from benchmarks import many_seeds
from benchmarks.benchmark import MANY_SEEDS


def test_rows_are_recorded_and_shown(monkeypatch, tmp_path):
    sizes = {"N_ITEMS": 120, "N_FEATURES": 6, "N_ANNOTATORS": 9, "N_LABELS": 310, "N_CLASSES": 3}
    for name, size in sizes.items():
        monkeypatch.setattr(many_seeds, name, size)
    asked = ["--device", "cpu", "--seeds", "2", "--epochs", "2", "--methods", "speelfc"]
    assert many_seeds.main([*asked, "--docs", str(tmp_path)]) == 0
    run, row = MANY_SEEDS.read(tmp_path)
    assert run["command"] == f"python -m benchmarks.many_seeds {' '.join(asked)}"
    assert (row["method"], row["seeds"]) == ("speelfc", 2)
    assert row["same_epochs"]
    assert row["max_difference"] < 1e-4
    assert row["ratio"] > 0
    page = (tmp_path / "gpu-speed.md").read_text()
    assert "with 2 seeds" in page
    assert f"{row['max_difference']:.1e}" in page


def test_the_crowd_has_the_size_of_labelme():
    features, annotations = many_seeds.labelme_like()
    assert features.shape == (1000, 512)
    assert annotations.n_annotations == 2547
    assert (annotations.n_annotators, annotations.n_classes) == (59, 8)
    assert np.bincount(annotations.labels_per_item).tolist()[2:] == [453, 547]
