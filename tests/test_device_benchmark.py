"""The benchmark of aggregation on a GPU, with a tiny crowd and tensors of the CPU."""

import pytest
from benchmarks import device_aggregation
from benchmarks.benchmark import GPU_AGGREGATION
from benchmarks.crowds import CrowdSize

from manyhands.aggregation import AGGREGATORS, device
from manyhands.aggregation.kernels import torch_steps


@pytest.fixture(autouse=True)
def torch_device(monkeypatch):
    monkeypatch.setattr(device, "open_device", lambda: ("cpu", torch_steps))


def test_it_measures_bandwidth_steps_and_differences(tmp_path):
    words = ["--labels", "1000", "--annotators", "20", "--classes", "2,3"]
    words += ["--agree-labels", "2000", "--copy-bytes", "8000", "--docs", str(tmp_path)]
    assert device_aggregation.main(words) == 0
    rows = GPU_AGGREGATION.read(tmp_path)
    copy, *steps = [row for row in rows if row["kind"] != "difference"]
    assert copy["bytes_per_s"] > 0
    assert [row["n_classes"] for row in steps] == [2, 3]
    for row in steps:
        rate = row["bytes"] / row["step_s"]
        assert row["share"] == pytest.approx(rate / copy["bytes_per_s"])
        assert row["share_packed"] < row["share"]
    found = [row for row in rows if row["kind"] == "difference"]
    assert [row["method"] for row in found] == [
        name for name, each in AGGREGATORS.items() if each.has_device_pass
    ]
    assert all(row["difference"] < 1e-6 and row["same_bits_again"] for row in found)
    page = (tmp_path / "gpu-speed.md").read_text()
    assert all(f"| `{row['method']}` |" in page for row in found)


def test_necessary_bytes_are_codes_offsets_and_posterior():
    size = CrowdSize(n_labels=1000, n_classes=3, n_annotators=20)
    assert device_aggregation.necessary_bytes(size, code_bytes=8) == 8000 + 400 + 2400
