"""The benchmark of several processes on a GPU, at tiny size on the CPU."""

import pytest
from benchmarks import gpu_page, gpu_processes
from benchmarks.benchmark import GPU_PROCESSES

TRAININGS = [
    "classification, dense tables", "classification, sparse tables", "regression, sparse tables",
]  # fmt: skip


def rows():
    yield {"kind": "run", "command": "python -m benchmarks.x", "device": "a card"}
    sizes = {"n_items": 50_000, "n_annotators": 2000, "batch_size": 512, "epochs": 3}
    yield {"kind": "processes", "training": TRAININGS[0], "processes": 4, "alone_s": 2.0,
           "together_s": 0.625, "difference": 2.5e-7, **sizes}  # fmt: skip


def test_the_page_has_what_was_recorded(tmp_path):
    assert gpu_page._processes([]) == []
    GPU_PROCESSES.keep(rows(), tmp_path)
    page = "\n".join(gpu_page._processes(GPU_PROCESSES.read(tmp_path)))
    assert "on a card:\n50 thousand items of 2 thousand annotators" in page
    assert "| classification, dense tables | 4 | 2.000 | 0.625 | 2.5e-07 |" in page


@pytest.mark.slow
def test_it_trains_by_torchrun_and_compares(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    words = ["--quick", "--device", "cpu", "--processes", "2", "--docs", str(tmp_path)]
    assert gpu_processes.main(words) == 0
    measured = [row for row in GPU_PROCESSES.read(tmp_path) if row["kind"] == "processes"]
    assert [row["training"] for row in measured] == TRAININGS
    assert all(0 < row["difference"] < 1e-5 for row in measured)
    assert "## Several processes" in (tmp_path / "gpu-speed.md").read_text()
