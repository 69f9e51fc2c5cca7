"""Kills at random moments, and two writers of one folder: nothing lost, nothing twice."""

import contextlib
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import manyhands as mh
from fuzzing.sandbox import start
from manyhands.io.bundle import has_bundle, read_bundle

_PER_CHAIN = 10  # kills of one run, before it is let to its end
_EPOCHS = "300"
_TRAINING = {
    "conal": ["features/features.csv", "labels/long.csv", "--method", "conal"],
    "validated": ["features/features.csv", "labels/long.csv", "--validation-fraction", "0.2"],
    "refit": [
        "features/features.csv", "labels/long.csv", "--validation-fraction", "0.2", "--refit",
        "--monitor", "ranks",
    ],
    "numbers": ["features/features.csv", "ratings/ratings.csv"],
    "tagger": ["tokens/tags.conll"],
}  # fmt: skip


def kill_training(n_kills, seed, valid, work):
    """Runs of training, killed again and again, end as if they never were; yields lines."""
    rng = random.Random(seed)
    references = {}
    made, chain = 0, 0
    while made < n_kills:
        name = sorted(_TRAINING)[chain % len(_TRAINING)]
        words = ["train", *_TRAINING[name], "--epochs", _EPOCHS]
        if name not in references:
            _finish([*words, "--out", str(work / name)], valid)
            references[name] = _model(work / name)
        home = work / f"chain-{chain}"
        command = [*words, "--out", str(home)]
        epochs = []
        while len(epochs) < _PER_CHAIN:
            wait = rng.choice([0, 0, 1, 10, 20]), rng.random() * 0.1
            if not _kill(_resumed(command, home), valid, home, *wait):
                break
            epochs.append(_require_whole(home))
        _finish(_resumed(command, home), valid)
        assert _model(home) == references[name], f"chain {chain} of {name} ended with other bits"
        yield f"train {name}: {len(epochs)} kills, checkpoints of epochs {epochs}, same bits"
        made, chain = made + len(epochs), chain + 1


def kill_reproduce(n_kills, seed, valid, work):
    """Runs of an experiment, killed again and again: every record once, with the same scores."""
    rng = random.Random(seed)
    words = ["reproduce", "p0/table-3", "--data", "corpora", "--runs", "1", "--jobs", "2"]
    _finish([*words, "--out", str(work / "whole")], valid)
    wanted = _records(work / "whole")
    made, chain = 0, 0
    while made < n_kills:
        home = work / f"reproduce-{chain}"
        counts = []
        while len(counts) < _PER_CHAIN:
            wait = rng.choice([0, 1, 1, 2]), rng.random() * 0.1
            if not _kill([*words, "--out", str(home)], valid, home, *wait):
                break
            counts.append(len(_lines(home / "records.jsonl")))
        _finish([*words, "--out", str(home)], valid)
        assert _records(home) == wanted, f"chain {chain} of reproduce has other records"
        yield f"reproduce: {len(counts)} kills, records {counts}, each once at the end"
        made, chain = made + len(counts), chain + 1


def pairs_of_writers(n_pairs, seed, valid, work):
    """Two commands that write one folder or file at the same moment."""
    rng = random.Random(seed)
    for pair in range(n_pairs):
        kind = ("train", "aggregate", "reproduce")[pair % 3]
        target = work / f"pair-{pair}"
        commands = {
            "train": ["train", *_TRAINING["conal"], "--epochs", "5", "--out", str(target)],
            "aggregate": ["aggregate", "labels/long.csv", "--out", f"{target}.csv"],
            "reproduce": ["reproduce", "p0/table-3", "--data", "corpora", "--runs", "1",
                          "--jobs", "1", "--out", str(target)],
        }  # fmt: skip
        first = start(commands[kind], valid, str(target) + ".first", limited=False)
        time.sleep(rng.random() * 0.5)
        second = start(commands[kind], valid, str(target) + ".second", limited=False)
        codes = [os.waitstatus_to_exitcode(os.waitpid(each.pid, 0)[1]) for each in (first, second)]
        assert 0 in codes, f"pair {pair} of {kind}: neither ended well: {codes}"
        assert set(codes) <= {0, 2}, f"pair {pair} of {kind}: {codes}"
        if kind == "train":
            mh.load(target)
            assert not list(target.rglob(".*")), "a temporary file was left"
        elif kind == "reproduce":
            _records(target)
        else:
            assert len(_lines(f"{target}.csv")) == 41
        yield f"two of {kind}: ended with {codes}"


def _kill(words, folder, home, n_lines, seconds):
    """Kill a command some time after it wrote lines to its logs; false if it ended first.

    Moments by the clock alone would nearly all lie before anything is written: most of the time
    of a short run is its start. Without lines to wait for, the moment is one of the start.
    """
    process = start(words, folder, os.devnull, limited=False)
    seconds = seconds if n_lines else 40 * seconds
    wanted = _n_lines(home) + n_lines
    while n_lines and _n_lines(home) < wanted:
        if os.waitpid(process.pid, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(process.pid, 0)[1])


def _n_lines(home):
    """Lines of all logs: a search for the best epoch has its own."""
    return sum(len(_lines(path)) for path in home.rglob("*.jsonl"))


def _resumed(command, home):
    return [*command, "--resume"] if has_bundle(home / "checkpoint", "checkpoint") else command


def _finish(words, folder):
    process = start(words, folder, os.devnull, limited=False)
    code = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
    assert code == 0, f"{words} ended with {code}"


def _require_whole(home):
    """The epoch of the checkpoint; whatever is in the folder is complete."""
    if has_bundle(home, "model"):
        mh.load(home)
    if not has_bundle(home / "checkpoint", "checkpoint"):
        return 0
    return read_bundle(home / "checkpoint", "checkpoint")[1]["epoch"]


def _model(home):
    """The arrays of a model, its header, and the epochs of its log."""
    arrays, header = read_bundle(home, "model")
    log = [json.loads(line) for line in _lines(home / "checkpoint" / "log.jsonl")]
    values = {name: each.tobytes() for name, each in arrays.items()}
    return values, header, [each["epoch"] for each in log]


def _records(home):
    """The scores of every record by its key, which occurs once."""
    records = [json.loads(line) for line in _lines(home / "records.jsonl")]
    keys = [each["key"] for each in records if "error" not in each]  # failed runs are made again
    assert len(keys) == len(set(keys)), f"{home}: a run was made twice"
    return {each["key"]: each.get("scores", each.get("error")) for each in records}


def _lines(path):
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def run_kills(seed, kept, n_training=100, n_reproduce=50, n_pairs=20):
    """All of it; yields a line for each step."""
    from fuzzing.valid_files import write_valid_files

    work = kept / "kills"
    shutil.rmtree(work, ignore_errors=True)
    valid = work / "valid"
    write_valid_files(valid)
    for step, number in (
        (kill_training, n_training), (kill_reproduce, n_reproduce), (pairs_of_writers, n_pairs),
    ):  # fmt: skip
        yield from step(number, seed, valid, work)
