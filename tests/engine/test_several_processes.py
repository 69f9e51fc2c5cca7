"""Training over processes equals training in one; one failure is one line."""

import copy
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import warnings
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import trained_together as fits
from safetensors.numpy import load_file
from torch.multiprocessing.spawn import ProcessExitedException

import manyhands as mh
from featured_crowds import featured, weights
from manyhands.cli import app
from manyhands.core.errors import DataError, SettingError
from manyhands.engine import launch
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.mapped import MappedInputs, is_mapped
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.torchrun import is_first, joins_torchrun, started_by_torchrun
from manyhands.methods.network_method import NetworkMethod
from manyhands.methods.two_stage import TrainOnTruth, TwoStage
from manyhands.networks.batch_norm import BatchNorm2d, share_statistics
from rated_crowds import rated

TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
TESTS = Path(__file__).parents[1]
CPU = "--device cpu --epochs 2 --validation-fraction 0"
COMMANDS = f"""\
train {{home}}/x.npy {{home}}/labels.csv --out {{home}}/classes {CPU} --method speelfc --network logistic --sparse
train {{home}}/numbers.csv {{home}}/ratings.csv --out {{home}}/numbers {CPU} --network logistic --sparse
train {{home}}/tokens.conll --out {{home}}/tags {CPU} --sparse --network-setting dropout=0
train {{home}}/numbers.parquet {{home}}/ratings.csv --out {{home}}/parquet {CPU} --network logistic
"""  # noqa: E501
TASKS = ["classes", "numbers", "tags", "parquet"]
TOKENS = """\
Anna B-PER B-PER
went O O
to O B-LOC
Oslo B-LOC B-LOC

Ben B-PER ?
left O ?
"""


def run(*arguments, **environment):
    """Run Python as a user does; the process and what it printed."""
    paths = os.pathsep.join(str(each) for each in (TESTS, TESTS / "engine", *sys.path))
    environment = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def arrays_of(model):
    found = {key: each.numpy() for key, each in weights(model).items()}
    return found | {"loss": np.array([entry["loss"] for entry in model.history_])}


def assert_close(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """The folder of everything that two processes of torchrun made, and what they printed."""
    home = tmp_path_factory.mktemp("together")
    crowd, numbers = featured(n_items=41), rated(n_items=41)
    np.save(home / "x.npy", crowd.x)
    crowd.annotations.to_frame().to_csv(home / "labels.csv", index=False)
    numbers.annotations.to_frame().to_csv(home / "ratings.csv", index=False)
    rows = [",".join(map(str, (i, *row))) for i, row in enumerate(numbers.x.tolist())]
    (home / "numbers.csv").write_text("\n".join(["item,a,b,c,d", *rows]) + "\n")
    pd.read_csv(home / "numbers.csv").to_parquet(home / "numbers.parquet", index=False)
    (home / "tokens.conll").write_text(TOKENS)
    (home / "commands.txt").write_text(COMMANDS.format(home=home))
    fits.interrupted(home / "by-one")
    process = run(*TORCHRUN, fits.__file__, home)
    printed, errors = process.communicate()
    assert process.returncode == 0, errors
    return home, printed, errors


def test_every_method_that_has_steps_of_its_own_is_compared():
    """Those of two stages differ only in the targets that one kind of step learns."""
    compared = {settings.get("method", "multilabel-layer") for _, settings in fits.FITS.values()}
    for name, method in mh.METHODS.items():
        trained = isinstance(method, NetworkMethod) and name not in compared
        assert not trained or isinstance(method, TwoStage | TrainOnTruth), name


@pytest.mark.slow
@pytest.mark.parametrize("name", fits.FITS)
def test_two_processes_train_what_one_trains(together, name):
    """Every noise model, dense and sparse, and what else has its own part in a step."""
    place = list(fits.FITS).index(name)
    first, second = (load_file(together[0] / f"{place}-{rank}") for rank in (0, 1))
    assert all(np.array_equal(second[key], value) for key, value in first.items())
    assert_close(first, arrays_of(fits.fitted(name)))


@pytest.mark.slow
def test_runs_are_resumed_by_any_number_of_processes(together):
    whole = arrays_of(fits._classes(**fits.RESUMED))
    assert_close(load_file(together[0] / "resumed-0"), whole)  # one process, then two
    assert len((together[0] / "by-one" / "log.jsonl").read_text().splitlines()) == 4
    half = json.loads((together[0] / "by-two" / "checkpoint.json").read_text())
    assert half["epoch"] == 2
    assert_close(arrays_of(fits.resumed(together[0] / "by-two")), whole)  # two, then one


@pytest.mark.slow
def test_no_process_reads_all_features_to_train(together):
    model, alone = fits.mapped(together[0] / "x.npy")
    assert_close(load_file(together[0] / "mapped-0"), arrays_of(model))
    assert_close(arrays_of(model), arrays_of(fits._classes(method="speelfc")))
    epochs = []
    for rank in (0, 1):
        reads = json.loads((together[0] / f"reads-{rank}.json").read_text())
        steps = [each for each in reads if len(each) in (3, 4)]  # the shares of 7 items
        assert len(steps) == 12  # six in each of two epochs
        epochs.append([sorted(chain(*steps[:6])), sorted(chain(*steps[6:]))])
    labelled = sorted({each for step in alone if len(step) in (6, 7) for each in step})
    for first, second in zip(*epochs, strict=True):
        assert not set(first) & set(second)
        assert sorted(first + second) == labelled


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_command_line_trains_by_torchrun(together, task, monkeypatch):
    home, printed, errors = together
    command = COMMANDS.format(home=home).splitlines()[TASKS.index(task)].split()
    assert printed.count(f"model in {home}/{task}: ") == 1  # one process tells
    assert "Traceback" not in errors
    command[command.index("--out") + 1] = str(home / f"{task}-alone")
    monkeypatch.setattr(sys, "argv", ["manyhands", *command])
    with pytest.raises(SystemExit, match="0"):
        app.main()
    assert_close(arrays_of(mh.load(home / task)), arrays_of(mh.load(home / f"{task}-alone")))


# --- failures ---


class Failing(torch.nn.Linear):
    """A network whose second process is killed."""

    def forward(self, rows):
        if self.training and os.environ.get("LOCAL_RANK") == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(rows)


GONE = ProcessExitedException("gone", 1, 0, exit_code=1)


def test_the_error_of_the_first_process_to_fail_is_raised(tmp_path):
    launch._leave(DataError("a bad row"), 1, tmp_path)
    launch._leave(DataError("another"), 0, tmp_path)
    error = launch._failure(tmp_path, 2, GONE)
    assert (type(error), str(error)) == (DataError, "process 2 of 2: a bad row")


def test_an_error_that_cannot_be_sent_is_told(tmp_path):
    class LocalError(Exception):
        pass

    launch._leave(LocalError("a reason\nand more"), 0, tmp_path)
    assert str(launch._failure(tmp_path, 2, GONE)) == "LocalError: a reason"


def test_a_process_that_lost_the_others_does_not_tell_why(tmp_path):
    assert launch._is_lost(RuntimeError("[../third_party/gloo/x.cc] Connection closed by peer"))
    assert not launch._is_lost(RuntimeError("shapes do not match"))
    found = launch._failure(tmp_path, 3, GONE)
    assert str(found) == "another of 3 training processes has ended; its own output says why"


@pytest.mark.slow
def test_a_process_that_is_ended_ends_the_run(monkeypatch, capfd):
    crowd = featured()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    model = mh.CrowdClassifier(Failing(5, 3), method="speelfc", devices=2, **fits.ALONE)
    told = "one of 2 training processes was ended by SIGKILL, as happens when memory runs out"
    warnings.simplefilter("ignore")  # of the launcher; pytest restores the filters
    with pytest.raises(ChildProcessError, match=told):
        model.fit(crowd.x, crowd.annotations)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_wrong_request_is_told_once_by_the_processes_of_torchrun(tmp_path):
    """They find the mistake at the same time."""
    process = run(*TORCHRUN, "-m", "manyhands", "train", "no.npy", "no.csv", "--out", tmp_path)
    _, errors = process.communicate()
    assert process.returncode == 1
    told = [line for line in errors.splitlines() if line.startswith("manyhands: ")]
    assert len(told) == 1, errors


@pytest.mark.slow
def test_machines_train_together(tmp_path, together):
    """Two commands, as on two machines; the first one writes and prints."""
    home = together[0]
    port = free_port()
    command = COMMANDS.format(home=home).splitlines()[0].split()
    command[command.index("--out") + 1] = str(tmp_path / "model")
    machines = [
        run(
            "-m", "manyhands", *command, "--nodes", "2", NODE_RANK=str(rank),
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
        )
        for rank in (0, 1)
    ]  # fmt: skip
    told = [each.communicate() for each in machines]
    assert [each.returncode for each in machines] == [0, 0], told
    assert "model in" in told[0][0]
    assert told[1][0] == ""
    assert_close(arrays_of(mh.load(tmp_path / "model")), arrays_of(mh.load(home / "classes")))


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


# --- who takes part ---


@pytest.fixture
def second_of_four(monkeypatch):
    told = {"TORCHELASTIC_RUN_ID": "x", "RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}
    for name, value in told.items():
        monkeypatch.setenv(name, value)


def test_the_processes_of_torchrun_are_those_it_started(second_of_four):
    started = started_by_torchrun()
    assert (started.rank, started.devices, started.nodes) == (1, 2, 2)
    assert joins_torchrun(2, 2)
    assert not joins_torchrun(1, 1)  # a model of its own
    assert not is_first()
    with pytest.raises(SettingError, match="devices must be 2, as many as torchrun started; got 4"):
        joins_torchrun(4, 1)


def test_without_torchrun_one_process_is_the_first(monkeypatch):
    assert started_by_torchrun() is None
    assert not joins_torchrun(2, 1)
    monkeypatch.setenv("NODE_RANK", "1")
    assert is_first()
    assert not is_first(nodes=2)


def test_other_processes_than_those_of_torchrun_are_refused(second_of_four, monkeypatch, capsys):
    command = ["manyhands", "train", "x.npy", "y.csv", "--out", "model", "--devices", "1"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit, match="2"):
        app.main()
    assert "--devices must be 2, as many as torchrun started" in capsys.readouterr().err


def test_machines_must_know_of_each_other(monkeypatch):
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    settings = TrainingSettings(nodes=2)
    with pytest.raises(SettingError, match=r"nodes must be 1 unless torchrun.*no MASTER_ADDR"):
        launch.launch(settings, list, write=print, read=list)


# --- batch statistics and mapped files ---


@pytest.mark.parametrize("n_items", [1, 6])
def test_shared_statistics_of_one_process_are_its_own(n_items):
    shape = (n_items, 3, 1, 2 if n_items > 1 else 1)
    rows = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    first, found = BatchNorm2d(3), []
    first.load_state_dict(first.state_dict() | {"weight": torch.tensor([0.5, 1.0, 2.0])})
    for shared in (False, True):
        layer, given = copy.deepcopy(first), rows.clone().requires_grad_()
        if shared:
            share_statistics(layer, lambda total: total)
        outputs = layer(given)
        (outputs * torch.arange(outputs.numel()).reshape(outputs.shape)).sum().backward()
        found.append([outputs, given.grad, layer.weight.grad, *layer.state_dict().values()])
    torch.testing.assert_close(*found)


@pytest.fixture
def mapped(tmp_path):
    values = np.random.default_rng(2).normal(size=(50, 2, 3)) * [1.0, 2.0, 0.0] + 5.0
    np.save(tmp_path / "x.npy", values)
    return values.astype(np.float32), np.load(tmp_path / "x.npy", mmap_mode="r")


def test_mapped_inputs_are_those_in_memory(mapped, monkeypatch):
    values, array = mapped
    monkeypatch.setattr("manyhands.engine.mapped._CHUNK", 7 * 48)  # seven rows
    found, expected = MappedInputs(array), TensorInputs(torch.from_numpy(values))
    some = torch.tensor([3, 49, 3])
    assert torch.equal(found.rows(some), expected.rows(some))
    assert (len(found), found.shape) == (50, (2, 3))
    for name in ("mean", "deviation"):
        torch.testing.assert_close(
            getattr(found.moments(), name), getattr(expected.moments(), name)
        )
    assert found.moments().rms == pytest.approx(expected.moments().rms)


def test_a_mapped_file_is_sent_by_its_name(mapped):
    values, array = mapped
    sent = pickle.dumps(MappedInputs(array))
    assert len(sent) < values.nbytes
    assert torch.equal(pickle.loads(sent).rows(torch.tensor([7]))[0], torch.from_numpy(values[7]))


def test_a_mapped_file_is_never_read_whole(mapped, monkeypatch):
    monkeypatch.setattr("manyhands.engine.mapped._CHUNK", 7 * 48)
    sizes, read = [], MappedInputs._read

    def noted(inputs, rows):
        found = read(inputs, rows)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(MappedInputs, "_read", noted)
    inputs = MappedInputs(mapped[1])
    assert sizes == [7] * 7 + [1]
    inputs.rows(torch.tensor([1, 2]))
    assert sizes[-1] == 2


def test_a_number_that_is_not_finite_is_found_in_a_mapped_file(tmp_path, monkeypatch):
    values = np.zeros((50, 4))
    values[33, 2] = np.nan
    np.save(tmp_path / "x.npy", values)
    monkeypatch.setattr("manyhands.engine.mapped._CHUNK", 320)
    with pytest.raises(DataError, match="row 33, column 2 is NaN"):
        MappedInputs(np.load(tmp_path / "x.npy", mmap_mode="r"))


def test_a_part_of_a_mapped_file_is_an_array(mapped):
    assert is_mapped(mapped[1])
    assert not is_mapped(mapped[1][3:])
    assert not is_mapped(mapped[0])
