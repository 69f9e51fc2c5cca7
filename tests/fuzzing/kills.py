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
    for chain in range(-(-n_kills // _PER_CHAIN)):
        name = sorted(_TRAINING)[chain % len(_TRAINING)]
        words = ["train", *_TRAINING[name], "--epochs", _EPOCHS]
        if name not in references:
            began = time.monotonic()
            _finish([*words, "--out", str(work / name)], valid)
            references[name] = _model(work / name), time.monotonic() - began
        wanted, seconds = references[name]
        home = work / f"chain-{chain}"
        command = [*words, "--out", str(home), "--resume"]
        epochs = []
        for _ in range(_PER_CHAIN):
            resumes = has_bundle(home / "checkpoint", "checkpoint")
            _kill_after(rng.random() * seconds, command if resumes else command[:-1], valid)
            epochs.append(_require_whole(home))
        finished = has_bundle(home / "checkpoint", "checkpoint")
        _finish(command if finished else command[:-1], valid)
        assert _model(home) == wanted, f"chain {chain} of {name} ended with other bits"
        yield f"train {name}: {_PER_CHAIN} kills, checkpoints of epochs {epochs}, same bits"


def kill_reproduce(n_kills, seed, valid, work):
    """Runs of an experiment, killed again and again: every record once, with the same scores."""
    rng = random.Random(seed)
    words = ["reproduce", "p0/table-3", "--data", "corpora", "--runs", "1", "--jobs", "2"]
    began = time.monotonic()
    _finish([*words, "--out", str(work / "whole")], valid)
    seconds, wanted = time.monotonic() - began, _records(work / "whole")
    for chain in range(-(-n_kills // _PER_CHAIN)):
        home = work / f"reproduce-{chain}"
        counts = []
        for _ in range(_PER_CHAIN):
            _kill_after(rng.random() * seconds / 3, [*words, "--out", str(home)], valid)
            counts.append(len(_lines(home / "records.jsonl")))
        _finish([*words, "--out", str(home)], valid)
        assert _records(home) == wanted, f"chain {chain} of reproduce has other records"
        yield f"reproduce: {_PER_CHAIN} kills, records {counts}, each once at the end"


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


def _kill_after(seconds, words, folder):
    process = start(words, folder, os.devnull, limited=False)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)


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
