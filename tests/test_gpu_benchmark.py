"""The benchmark of training on a GPU at tiny size on the CPU, and the page made from its rows."""

from dataclasses import replace

import pytest
from benchmarks import gpu_page, gpu_training
from benchmarks.benchmark import GPU_TRAINING

TINY = replace(gpu_training.QUICK, n_items=24, n_annotators=5, batch_sizes=(12,))


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    GPU_TRAINING.keep(gpu_training.measure_all(TINY, "cpu", "python -m benchmarks.x"), folder)
    return folder


def test_every_variant_is_measured_beside_ordinary_training(docs):
    rows = [row for row in GPU_TRAINING.read(docs) if row["kind"] == "epoch"]
    assert [row["variant"] for row in rows] == [
        "ordinary training", "crowd layer", "ordinary training, SAM", "crowd layer, SAM",
    ]  # fmt: skip
    assert all(
        row["images_per_second"] == pytest.approx(24 / row["seconds"], rel=0.02) for row in rows
    )


def test_the_page_compares_with_ordinary_training(docs):
    times = {"ordinary training": 2.0, "crowd layer": 2.08, "ordinary training, SAM": 4.4,
             "crowd layer, SAM": 4.2}  # fmt: skip
    rows = [
        row | {"seconds": times[row["variant"]]} if row["kind"] == "epoch" else row
        for row in GPU_TRAINING.read(docs)
    ]
    GPU_TRAINING.keep(rows, docs)
    page = gpu_page.gpu_page(docs)
    assert "| crowd layer, batch 12: a crowd layer costs at most 5 % more | 1.040 | yes |" in page
    assert (
        "| crowd layer, SAM, batch 12: SAM takes at most 2.1 times as long | 2.019 | yes |" in page
    )
    assert "2.200 | **no** |" in page


def test_operations_are_those_of_the_network():
    one = gpu_training._operations(TINY)
    twice = gpu_training._operations(replace(TINY, width=2))
    assert 3 < twice / one < 4  # convolutions between wide layers have four times as many
