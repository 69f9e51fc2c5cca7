"""A run that is killed, stopped or out of disk goes on, and ends with the same bits."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset

from engine import killed_again_and_again as killed
from featured_crowds import QUICK, assert_same_bits, featured, fit
from manyhands.engine import checkpoint
from manyhands.estimators import CrowdClassifier, load

TESTS = Path(__file__).parents[1]
RUN = {**QUICK, "method": "speelfc", "epochs": 6, "validation_fraction": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_runs_killed_at_any_moment_end_with_the_same_bits(tmp_path, seed):
    one_thread = {**os.environ, "MANYHANDS_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "engine.killed_again_and_again", str(tmp_path), str(seed)],
        cwd=TESTS,
        env=one_thread,
        capture_output=True,
        text=True,
        timeout=1800,  # against a hang alone
        check=False,
    )
    assert run.returncode == 0, f"seed {seed}: {run.stderr}"
    deaths = dict(line.split() for line in run.stdout.splitlines())
    assert deaths.keys() == killed.RUNS.keys()
    assert sum(map(int, deaths.values())) >= len(deaths), deaths
    for name in killed.RUNS:
        found, whole = load(tmp_path / name / "model"), killed.train(name)
        assert_same_bits(found, whole)
        assert found.epoch_ == whole.epoch_
        lines = (tmp_path / name / "checkpoint" / "log.jsonl").read_text().splitlines()
        assert [json.loads(line)["epoch"] for line in lines] == [
            entry["epoch"] for entry in whole.history_
        ]
        left = {path.suffix for path in (tmp_path / name / "checkpoint").glob("*.*")}
        assert left == {".json", ".jsonl", ".safetensors"}, "half-written files are cleared away"


class Interrupting(Dataset):
    """Features whose owner loses patience after a number of looks."""

    def __init__(self, x, looks, interrupt):
        self.x, self.looks, self.interrupt = torch.from_numpy(x), looks, interrupt

    def __len__(self):
        return len(self.x)

    def __getitem__(self, item):
        self.looks -= 1
        if self.looks == 0:
            self.interrupt()
        return self.x[item]


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def _heeds_ctrl_c():
    """Programs that are started in the background ignore it, these tests among them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def crowd():
    return featured()


def whole_run(crowd):
    return CrowdClassifier(**RUN).fit(Interrupting(crowd.x, 0, None), crowd.annotations)


def part_of_a_run(crowd, folder, interrupt=ctrl_c, error=KeyboardInterrupt):
    """Stopped in the middle of the fourth epoch."""
    data = Interrupting(crowd.x, 8 + 1 + int(3.5 * len(crowd.x)), interrupt)
    with pytest.raises(error):
        CrowdClassifier(**RUN, checkpoint=folder).fit(data, crowd.annotations)


def resumed(crowd, folder, **changed):
    model = CrowdClassifier(**(RUN | changed), checkpoint=folder)
    return model.fit(Interrupting(crowd.x, 0, None), crowd.annotations, resume=True)


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(crowd, tmp_path):
    part_of_a_run(crowd, tmp_path)
    assert json.loads((tmp_path / "checkpoint.json").read_text())["epoch"] == 3
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 3
    model = resumed(crowd, tmp_path)
    assert_same_bits(model, whole_run(crowd))
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3, 4, 5, 6]
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 6


@pytest.mark.parametrize(("second", "third", "saved"), [(5, 10, 1), (5, 11, 3), (11, 14, 2)])
def test_saving_again_waits_for_its_turn(crowd, tmp_path, monkeypatch, second, third, saved):
    clock = iter([0, 1, 1, second] + ([second + 1] * 2 if second >= 11 else []) + [third] * 3)
    monkeypatch.setattr(checkpoint, "_REST", 10.0)  # saving took 1: again at 1 + 10, or later
    monkeypatch.setattr(checkpoint, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    part_of_a_run(crowd, tmp_path)
    monkeypatch.undo()
    assert json.loads((tmp_path / "checkpoint.json").read_text())["epoch"] == saved
    assert_same_bits(resumed(crowd, tmp_path), whole_run(crowd))


def test_a_finished_run_is_not_made_again(crowd, tmp_path):
    model = resumed(crowd, tmp_path)
    again = resumed(crowd, tmp_path)
    assert_same_bits(again, model)
    assert again.history_ == model.history_
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 6


def test_a_run_that_is_not_resumed_starts_afresh(crowd, tmp_path):
    part_of_a_run(crowd, tmp_path)
    model = CrowdClassifier(**RUN, checkpoint=tmp_path)
    assert_same_bits(model.fit(crowd.x, crowd.annotations), fit("speelfc", crowd, **{
        key: value for key, value in RUN.items() if key != "method"}))  # fmt: skip
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 6


def test_devices_and_threads_may_change_on_the_way(crowd, tmp_path):
    part_of_a_run(crowd, tmp_path)
    assert_same_bits(resumed(crowd, tmp_path, threads=1, device="auto"), whole_run(crowd))


@pytest.fixture
def small_disk():
    """No file may be longer than this, as when the disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft if size is None else size, hard))

    yield limit
    limit(None)


def test_a_full_disk_spares_the_last_checkpoint(crowd, tmp_path, small_disk):
    part_of_a_run(crowd, tmp_path, lambda: small_disk(2000), OSError)
    small_disk(None)
    assert json.loads((tmp_path / "checkpoint.json").read_text())["epoch"] == 3
    assert not list(tmp_path.glob(".*"))
    assert_same_bits(resumed(crowd, tmp_path), whole_run(crowd))


def test_a_full_disk_spares_the_last_model(crowd, tmp_path, small_disk):
    old, new = fit("speelfc", crowd), fit("speelfc", crowd, seed=1)
    old.save(tmp_path)
    for size in (100, 2000):
        small_disk(size)
        with pytest.raises(OSError, match="File too large"):
            new.save(tmp_path)
        small_disk(None)
        assert_same_bits(load(tmp_path), old)
    new.save(tmp_path)
    assert_same_bits(load(tmp_path), new)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_header_that_cannot_be_written_spares_the_last_model(crowd, tmp_path, monkeypatch):
    old, new = fit("speelfc", crowd), fit("speelfc", crowd, seed=1)
    old.save(tmp_path)
    real, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        new.save(tmp_path)
    assert_same_bits(load(tmp_path), old)
    new.save(tmp_path)
    assert_same_bits(load(tmp_path), new)
    assert len(list(tmp_path.iterdir())) == 2, "what was left over is cleared away"


def test_tied_weights_are_saved(crowd, tmp_path):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(5, 5), torch.nn.Linear(5, 3)
            self.again = self.first

        def forward(self, inputs):
            return self.last(self.again(self.first(inputs).tanh()).tanh())

    model = fit("speelfc", crowd, network=Tied(), checkpoint=tmp_path / "checkpoint")
    model.save(tmp_path / "model")
    found = load(tmp_path / "model", network=Tied())
    np.testing.assert_array_equal(found.predict_proba(crowd.x), model.predict_proba(crowd.x))
    assert found.network_.again is found.network_.first
