"""Folders that are not ours, files that are not what they say, and two writers at once."""

import hashlib
import json
import multiprocessing
import os
import threading

import numpy as np
import pytest
import torch

import manyhands as mh
from featured_crowds import assert_same_bits, featured, fit
from manyhands.core.errors import DataError, ManyhandsError
from manyhands.estimators import load
from manyhands.io.bundle import read_bundle, write_bundle
from manyhands.io.folders import locked_folder

RUN = {"epochs": 2, "noise": {"accuracy": 0.7}}
OTHERS = {
    "model-00001-of-00002.safetensors": b"shard one",
    "model-00002-of-00002.safetensors": b"shard two",
    "model-0123456789ab.safetensors": b"named like ours, with other content",
    "notes.txt": b"mine",
}


@pytest.fixture(scope="module")
def crowd():
    return featured()


@pytest.fixture(scope="module")
def model(crowd):
    return fit("speelfc", crowd)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def put(folder, files):
    for name, content in files.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    "files", [OTHERS, {"model.json": b'{"weights": 1}'}, {"log.jsonl": b"a diary\n"}]
)
def test_a_folder_of_others_is_refused_and_left_alone(files, model, crowd, tmp_path):
    put(tmp_path, files)
    for write in (model.save, lambda folder: fit("speelfc", crowd, checkpoint=folder)):
        with pytest.raises(DataError, match="has other files and nothing of manyhands"):
            write(tmp_path)
        assert contents(tmp_path) == files


def test_files_of_others_beside_a_model_stay(model, crowd, tmp_path):
    model.save(tmp_path)
    put(tmp_path, OTHERS)
    fit("conal", crowd).save(tmp_path)
    assert contents(tmp_path).items() >= OTHERS.items()
    assert len(contents(tmp_path)) == len(OTHERS) + 2  # the old model is gone


def test_a_header_of_others_is_not_overwritten(model, crowd, tmp_path):
    fit("speelfc", crowd, checkpoint=tmp_path)
    (tmp_path / "model.json").write_text('{"mine": true}')
    with pytest.raises(DataError, match=r"model.json: is not the header of a model"):
        model.save(tmp_path)
    assert (tmp_path / "model.json").read_text() == '{"mine": true}'


def test_an_empty_name_is_refused(model):
    with pytest.raises(DataError, match="the name of the folder is empty"):
        model.save("")


def test_a_link_is_not_followed(model, crowd, tmp_path):
    diary = tmp_path / "diary"
    diary.write_text("dear diary")
    (tmp_path / "run").mkdir()
    fit("speelfc", crowd, checkpoint=tmp_path / "run", **RUN)
    (tmp_path / "run" / "log.jsonl").unlink()
    (tmp_path / "run" / "log.jsonl").symlink_to(diary)
    with pytest.raises(DataError, match=r"log.jsonl: is a link"):
        fit("speelfc", crowd, checkpoint=tmp_path / "run", resume=True, **RUN)
    assert diary.read_text() == "dear diary"


def test_a_pipe_is_not_written_to(model, crowd, tmp_path):
    fit("speelfc", crowd, checkpoint=tmp_path / "run", **RUN)
    (tmp_path / "run" / "log.jsonl").unlink()
    os.mkfifo(tmp_path / "run" / "log.jsonl")
    with pytest.raises(DataError, match=r"log.jsonl: is not a file"):
        fit("speelfc", crowd, checkpoint=tmp_path / "run", resume=True, **RUN)
    model.save(tmp_path / "model")
    weights = tmp_path / "model" / header_of(tmp_path / "model")["tensors"]
    weights.unlink()
    os.mkfifo(weights)
    with pytest.raises(DataError, match=r"safetensors: is not a file"):
        model.save(tmp_path / "model")


# --- checkpoints ---


def changed_checkpoint(crowd, folder, change):
    fit("speelfc", crowd, checkpoint=folder, **RUN)
    tensors, header = read_bundle(folder, "checkpoint")
    tensors, header = dict(tensors), header | {"finished": False, "epoch": 1}
    header["history"] = header["history"][:1]
    change(tensors, header)
    write_bundle(folder, "checkpoint", tensors, header)


def _set(name, value):
    return lambda tensors, header: tensors.update({name: value})


def _head(**entries):
    return lambda tensors, header: header.update(entries)


@pytest.mark.parametrize(
    "change",
    [
        _set("optimiser.0.0.exp_avg", np.zeros(1, np.float32)),
        _set("optimiser.0.0.exp_avg", np.zeros((7, 7, 7), np.float32)),
        _set("optimiser.0.0.exp_avg_sq", np.zeros((128, 5), np.int64)),
        _set("optimiser.0.0.step", np.array(-5.0, np.float32)),
        _set("optimiser.0.0.surprise", np.zeros(3, np.float32)),
        _set("optimiser.0.99.exp_avg", np.zeros(3, np.float32)),
        _set("optimiser.0.-1.exp_avg", np.zeros(3, np.float32)),
        _set("optimiser.0.x.exp_avg", np.zeros(3, np.float32)),
        lambda tensors, header: tensors.pop("optimiser.0.0.exp_avg"),
        _set("learner.network.layers.0.weight", np.zeros((3, 3), np.float32)),
        _set("best.network.layers.0.weight", np.zeros((3, 3), np.float32)),
        _head(epoch="one"),
        _head(epoch=10**9),
        _head(history="long"),
        _head(history=[{"epoch": "x"}]),
        _head(best_epoch="x"),
        _head(finished="no"),
        _head(numbers=[1]),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(change, crowd, tmp_path):
    changed_checkpoint(crowd, tmp_path, change)
    before = contents(tmp_path)
    with pytest.raises(DataError, match="does not fit its description"):
        fit("speelfc", crowd, checkpoint=tmp_path, resume=True, **RUN)
    assert contents(tmp_path) == before


# --- models ---


def changed_header(folder, **entries):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def header_of(folder):
    return json.loads((folder / "model.json").read_text())


def test_a_pipe_or_a_device_is_not_read(model, tmp_path):
    model.save(tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match="no such file; the model is not complete"):
        load(tmp_path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="no such file; the model is not complete"):
        load(tmp_path)


@pytest.mark.parametrize("size", [10_000_000, 10**15])
def test_memory_is_not_taken_for_a_size_in_the_header(size, model, tmp_path):
    model.save(tmp_path)
    changed_header(
        tmp_path, encoder_settings=header_of(tmp_path)["encoder_settings"] | {"shape": [size]}
    )
    with pytest.raises(DataError, match="the model does not fit its description"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("section", "entries"),
    [
        ("training", {"threads": 1_000_000}),
        ("training", {"epochs": "many"}),
        ("options", {"threads": 1_000_000}),
        ("options", {"scale": 5}),
        ("options", {"epochs": [1]}),
        ("scaler", {"mean": "high"}),
        ("scaler", {"mean": [1.0]}),
        ("encoder_settings", {"shape": "wide"}),
        ("encoder_settings", {"shape": [-5]}),
        ("encoder_settings", {"names": 3}),
        ("noise_settings", {"accuracy": "high"}),
    ],
)
def test_a_header_of_other_types_is_refused_in_one_line(section, entries, model, crowd, tmp_path):
    model.save(tmp_path)
    found = header_of(tmp_path)[section]
    changed_header(tmp_path, **{section: found | entries})
    with pytest.raises(ManyhandsError) as error:
        load(tmp_path).predict(crowd.x)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("entry", ["task", "method", "classes", "annotators", "history", "epoch",
                                   "annotator_columns", "network", "noise", "encoder"])  # fmt: skip
@pytest.mark.parametrize("value", [None, 3, "x", [[]], {"a": 1}])
def test_any_entry_may_be_anything(entry, value, model, crowd, tmp_path):
    model.save(tmp_path)
    changed_header(tmp_path, **{entry: value})
    said = ""
    try:  # it may be what the model needs, and then it is used
        load(tmp_path).predict(crowd.x)
    except ManyhandsError as error:
        said = str(error)
    assert "\n" not in said


def test_weights_that_are_not_finite_are_refused(model, tmp_path):
    model.save(tmp_path)
    tensors, header = read_bundle(tmp_path, "model")
    broken = tensors["network.layers.0.weight"].copy()
    broken[0, 0] = np.nan
    write_bundle(tmp_path, "model", tensors | {"network.layers.0.weight": broken}, header)
    with pytest.raises(DataError, match=r"'layers.0.weight' has numbers that are not finite"):
        load(tmp_path)


def test_features_too_large_are_refused(model, crowd):
    x = crowd.x.copy()
    x[3] = 3e38
    with pytest.raises(DataError, match="no finite number for row 3"):
        model.predict(x)
    with pytest.raises(DataError, match="no finite number for row 3"):
        model.infer(x, crowd.annotations)


def test_a_checksum_says_nothing_about_what_is_in_a_file(model, tmp_path):
    model.save(tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    content = path.read_bytes()[:200]
    path.write_bytes(content)
    changed_header(tmp_path, sha256=hashlib.sha256(content).hexdigest())
    with pytest.raises(DataError, match="is not a safetensors file"):
        load(tmp_path)


# --- two writers ---


def _save_often(folder, seed, barrier):
    torch.set_num_threads(1)
    crowd = featured()
    model = fit("speelfc", crowd, seed=seed)
    barrier.wait()
    for _ in range(10):
        model.save(folder)


@pytest.mark.slow
def test_two_processes_that_save_leave_a_whole_model(crowd, tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    writers = [
        context.Process(target=_save_often, args=(tmp_path / "model", seed, barrier))
        for seed in (0, 1)
    ]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert [each.exitcode for each in writers] == [0, 0]
    found = load(tmp_path / "model")
    assert_same_bits(found, fit("speelfc", crowd, seed=found.seed))
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_a_second_run_in_the_same_folder_is_refused(crowd, tmp_path):
    tmp_path.joinpath("run").mkdir()
    inside, done = threading.Event(), threading.Event()

    def hold():
        with locked_folder(tmp_path / "run"):
            inside.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()
    inside.wait()
    try:
        with pytest.raises(DataError, match="another process writes to this folder"):
            fit("speelfc", crowd, checkpoint=tmp_path / "run", **RUN)
    finally:
        done.set()
        other.join()
    assert list((tmp_path / "run").iterdir()) == []
    fit("speelfc", crowd, checkpoint=tmp_path / "run", **RUN)


@pytest.mark.slow
def test_a_folder_is_free_when_its_process_is_killed(tmp_path):
    context = multiprocessing.get_context("spawn")
    there, here = context.Pipe()
    holder = context.Process(target=_hold_forever, args=(tmp_path, there))
    holder.start()
    assert here.recv() == "held"
    with pytest.raises(DataError, match="another process"), locked_folder(tmp_path):
        pass
    holder.kill()
    holder.join()
    with locked_folder(tmp_path):
        mh.io.write_table({"item": [1]}, tmp_path / "free.csv")


def _hold_forever(folder, pipe):
    with locked_folder(folder):
        pipe.send("held")
        pipe.recv()
