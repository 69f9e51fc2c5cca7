"""Aggregation on a GPU: the laws of its passes, on the GPU or else on tensors of the CPU.

On a machine without a GPU `device="cuda"` is forced onto the CPU by plain torch, and in a process
of its own by the interpreter of Triton, which runs the kernels themselves.
"""

import importlib.util
import io
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from command_line import call
from hypothesis import given, settings
from hypothesis import strategies as st

import manyhands as mh
from manyhands.aggregation import AGGREGATORS, DawidSkene, Ebcc, Glad, OneCoin, device
from manyhands.aggregation.kernels import sum_plan, torch_steps
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError

ON_DEVICE = [name for name, each in AGGREGATORS.items() if each.has_device_pass]
OTHERS = [name for name in AGGREGATORS if name not in ON_DEVICE]
QUICK = {"ebcc": {"n_subtypes": 3, "max_iter": 20}, "common-noise": {"max_iter": 50}}


@pytest.fixture(autouse=True)
def torch_device(request, monkeypatch):
    """Without a GPU let "cuda" be the CPU, by passes of plain torch."""
    if "without_device" not in request.keywords and not torch.cuda.is_available():
        monkeypatch.setattr(device, "open_device", lambda: ("cpu", torch_steps))


def crowd(seed, n_items=40, n_annotators=7, n_classes=3, n_labels=200, right=0.6):
    """Labels of a crowd, with two items and two annotators that have none."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    item, annotator = (rng.integers(n, size=n_labels) for n in (n_items, n_annotators))
    guess = rng.integers(n_classes, size=n_labels)
    label = np.where(rng.random(n_labels) < right, truth[item], guess)
    return Annotations.from_arrays(
        item, annotator, label,
        items=range(n_items + 2), annotators=range(n_annotators + 2), classes=range(n_classes),
    )  # fmt: skip


def fitted(name, ann, known=None, **more):
    chosen = QUICK.get(name, {}) | more
    model = AGGREGATORS[name]
    return [model(device=where, **chosen).fit(ann, known) for where in ("cpu", "cuda")]


def assert_same(here, there):
    np.testing.assert_allclose(there.probabilities, here.probabilities, rtol=0, atol=1e-6)
    np.testing.assert_allclose(there.objective, here.objective, rtol=1e-9)
    np.testing.assert_allclose(there.annotator_quality, here.annotator_quality, atol=1e-6)
    if here.confusion is not None:
        np.testing.assert_allclose(there.confusion, here.confusion, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ON_DEVICE)
@pytest.mark.parametrize(
    "size",
    [{}, {"n_classes": 1}, {"n_classes": 2, "n_annotators": 1}, {"n_classes": 6, "n_labels": 500}],
    ids=str,
)
def test_a_device_gives_the_same_posterior(name, size):
    ann = crowd(1, **size)
    assert_same(*fitted(name, ann))
    assert_same(*fitted(name, ann, {0: 0, 40: 0}))  # item 40 has no label


@pytest.mark.parametrize("model", [DawidSkene, OneCoin])
@settings(max_examples=25)
@given(data=st.data())
def test_any_small_table_gives_the_same_posterior(model, data):
    n = data.draw(st.integers(1, 30))
    columns = [
        np.array(data.draw(st.lists(st.integers(0, most), min_size=n, max_size=n)))
        for most in (7, 4, 3)
    ]
    ann = Annotations.from_arrays(*columns, classes=range(4))
    assert_same(*fitted(model.name, ann))


def test_settings_of_dawid_skene_hold_on_a_device():
    ann = crowd(2, n_items=80, n_labels=800, right=0.9)
    for chosen in (
        {"prior": "flat"},
        {"prior_strength": 0.0, "max_iter": 10},
        {"start": "spectral"},
        {"prior_confusions": {0: np.full((3, 3), 1 / 3)}},
    ):
        assert_same(*fitted("dawid-skene", ann, **chosen))


@pytest.mark.parametrize("name", [name for name in ON_DEVICE if name != "majority"])
def test_objectives_never_fall_on_a_device(name):
    chosen = {"tol": 0.0, "max_iter": 25} | ({"n_subtypes": 3} if name == "ebcc" else {})
    for seed in range(3):
        ann = crowd(seed, n_labels=120, right=0.3)
        objective = AGGREGATORS[name](device="cuda", **chosen).fit(ann).objective
        for before, after in itertools.pairwise(objective):
            assert after >= before - 1e-9 * max(1.0, abs(before))


@pytest.mark.parametrize("name", ON_DEVICE)
def test_the_order_of_labels_changes_nothing(name):
    ann = crowd(3)
    order = np.random.default_rng(0).permutation(ann.n_annotations)
    shuffled = Annotations.from_arrays(
        ann.item[order], ann.annotator[order], ann.label[order],
        items=ann.items, annotators=ann.annotators, classes=ann.classes,
    )  # fmt: skip
    model = AGGREGATORS[name](device="cuda", **QUICK.get(name, {}))
    found, other = model.fit(ann), model.fit(shuffled)
    np.testing.assert_allclose(other.probabilities, found.probabilities, atol=1e-9)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_a_fit_gives_the_same_bits_again(name):
    model = AGGREGATORS[name](device="cuda", **QUICK.get(name, {}))
    first, second = (model.fit(crowd(9, n_items=300, n_labels=3000)) for _ in range(2))
    np.testing.assert_array_equal(second.probabilities, first.probabilities)
    assert second.objective == first.objective


def test_a_consensus_of_a_device_continues_and_is_saved_without_it(tmp_path):
    ann, more = crowd(4), crowd(5)
    for name in ON_DEVICE:
        here, there = fitted(name, ann)
        np.testing.assert_allclose(
            there.predict(more).probabilities, here.predict(more).probabilities, atol=1e-6
        )
        assert_same(here.update(more), there.update(more))
        there.save(tmp_path / name)
        assert mh.load(tmp_path / name).method.device == "cpu"


def test_codes_are_moved_once(monkeypatch):
    from manyhands.aggregation.kernels.device_labels import DeviceLabels

    made = []
    first = DeviceLabels.__init__
    monkeypatch.setattr(
        DeviceLabels, "__init__", lambda self, *given: made.append(1) or first(self, *given)
    )
    mh.aggregate(crowd(6), device="cuda")  # annotator-types, with three starts
    assert len(made) == 1


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(("chunk", "tile"), [(64, 1 << 24), (2, 64), (3, 200)])
def test_planned_sums_are_sums(monkeypatch, columns, chunk, tile):
    monkeypatch.setattr(sum_plan, "_CHUNK", chunk)
    monkeypatch.setattr(sum_plan, "_TILE_BYTES", tile)
    monkeypatch.setattr(sum_plan, "_TILE_VALUES", 1)
    rng = np.random.default_rng(columns)
    for n, n_rows, n_values in ((300, 7, 50), (40, 60, 9), (500, 1, 100), (0, 3, 4)):
        row, index = rng.integers(n_rows, size=n), rng.integers(n_values, size=n)
        values = rng.random((n_values, columns))
        plan = sum_plan.plan_sums(torch.from_numpy(row), torch.from_numpy(index), n_rows, columns)
        expected = np.zeros((n_rows, columns))
        np.add.at(expected, row, values[index])
        found = torch_steps.gather_sums(plan, torch.from_numpy(values))
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
        longest = max(int((level.offsets[1:] - level.offsets[:-1]).max()) for level in plan)
        assert longest <= chunk


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_without_a_pass_names_those_that_have_one(name):
    with pytest.raises(SettingError, match=f"{name} runs on the CPU only; use device='cpu'") as got:
        AGGREGATORS[name](device="cuda")
    assert all(each in str(got.value) for each in ON_DEVICE)


def test_unknown_devices_are_refused():
    with pytest.raises(SettingError, match="device must be one of cpu, cuda; got 'tpu'"):
        DawidSkene(device="tpu")


@pytest.mark.without_device
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("model", [DawidSkene, OneCoin, Glad, Ebcc])
def test_without_a_gpu_the_error_tells_what_to_do(model):
    with pytest.raises(SettingError, match="no CUDA device was found; use device='cpu'"):
        model(device="cuda").fit(crowd(7))


@pytest.mark.without_device
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_the_command_line_spells_the_remedy(tmp_path):
    mh.io.write_annotations(crowd(8), tmp_path / "labels.csv")
    done = call("aggregate", str(tmp_path / "labels.csv"), "--device", "cuda")
    assert done.code == 2
    assert "no CUDA device was found; use --device cpu" in done.err


def test_the_command_line_takes_a_device(tmp_path):
    labels = str(tmp_path / "labels.csv")
    mh.io.write_annotations(crowd(8), labels)
    here, there = (
        pd.read_csv(
            io.StringIO(call("aggregate", labels, "--method", "one-coin", "--device", where).out)
        )
        for where in ("cpu", "cuda")
    )
    pd.testing.assert_frame_equal(there, here, rtol=0, atol=1e-6)
    done = call("aggregate", labels, "--method", "auto", "--device", "cuda")
    assert (done.code, "--device goes with a named method" in done.err) == (2, True)


@pytest.mark.slow
def test_kernels_of_triton_give_the_same_posterior():
    """In a process of its own; see `triton_interpreter`."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton is not installed; there is none for this system")
    script = Path(__file__).with_name("triton_interpreter.py")
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["method"] for row in rows} == set(ON_DEVICE)
    for row in rows:
        assert row["difference"] < 1e-9, row
        assert row["objective"] < 1e-6, row
