"""What a checkpoint does not go on from: one line says why."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featured_crowds import columns, featured, fit
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.io.bundle import read_bundle, write_bundle
from manyhands.networks import MLP

RUN = {"epochs": 2, "noise": {"accuracy": 0.7}}


@pytest.fixture(scope="module")
def crowd():
    return featured()


@pytest.fixture(scope="module")
def finished(crowd, tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    fit("speelfc", crowd, checkpoint=folder, **RUN)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copy")


def refused(crowd, folder, text, method="speelfc", **changed):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(DataError, match=text) as error:
        fit(method, crowd, checkpoint=folder, resume=True, **(RUN | changed))
    said = str(error.value)
    assert "\n" not in said
    assert len(said) < 400
    assert said.startswith(str(folder))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_same_run_is_not_refused(crowd, folder):
    assert fit("speelfc", crowd, checkpoint=folder, resume=True, **RUN).epoch_ == 2


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"method": "trace-reg"}, r"another method \('speelfc', now 'trace-reg'\)"),
        ({"epochs": 3}, r"another epochs \(2, now 3\); use the same, or start afresh"),
        ({"batch_size": 8}, "another batch_size"),
        ({"learning_rate": 0.5}, r"another learning_rate \(0.001, now 0.5\)"),
        ({"seed": 1}, "another seed"),
        ({"sam_rho": 0.1}, "another sam"),
        ({"schedule": "cosine"}, "another schedule"),
        ({"validation_fraction": 0.2, "refit": False}, "another validation_fraction"),
        ({"noise": {"accuracy": 0.8}}, "another noise"),
        ({"init": "own"}, "another init"),
        ({"network": "logistic"}, "another network"),
        ({"network_settings": {"dropout": 0.5}}, "another network_settings"),
        ({"optimizer": "sgd"}, "another optimizer"),
        ({"ema_decay": 0.5}, "another ema_decay"),
        ({"network": MLP(5, 3, hidden=(16,) * 40)}, "another network"),
        ({"scale": "none"}, "another"),
    ],
)
def test_other_settings_are_named(changed, text, crowd, folder):
    refused(crowd, folder, text, **changed)


def test_other_data_are_named(crowd, folder):
    ann = crowd.annotations
    item, annotator, label = columns(ann)
    other = Annotations.from_arrays(item, annotator, (label + 1) % 3)
    refused(crowd._replace(annotations=other), folder, "another set of labels")
    refused(crowd._replace(annotations=ann.only(np.arange(170))), folder, "another set of labels")
    refused(crowd._replace(x=crowd.x[:, ::-1].copy()), folder, "another set of features")
    refused(crowd._replace(x=crowd.x[:, :4]), folder, "another network")
    longer = crowd._replace(
        x=np.concatenate([crowd.x, crowd.x[:1]]),
        annotations=Annotations.from_arrays(item, annotator, label, items=range(61)),
    )
    refused(longer, folder, "another number of items")


@pytest.fixture(scope="module")
def large():
    return featured(n_items=3000, labels_per_item=2)


FORMS = {"array": np.array, "sparse": sparse.csr_array, "frame": pd.DataFrame}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", ["none", "rms"])
def test_one_value_among_thousands_is_seen(form, scale, large, tmp_path):
    once = {"epochs": 1, "scale": scale, "checkpoint": tmp_path, "validation_fraction": 0.2}
    fit("speelfc", large, x=FORMS[form](large.x), **once)
    for row, column in ((1501, 2), (1, 0), (2999, 4)):
        x = large.x.copy()
        x[row, column] = np.nextafter(x[row, column], np.float32(np.inf))
        with pytest.raises(DataError, match="another set of features"):
            fit("speelfc", large, x=FORMS[form](x), resume=True, **once)
    assert fit("speelfc", large, x=FORMS[form](large.x), resume=True, **once).epoch_ == 1


def test_one_word_among_thousands_is_seen(large, tmp_path):
    texts = [f"a film of class {code}" for code in large.truth]
    once = {"epochs": 1, "checkpoint": tmp_path}
    fit("speelfc", large, x=texts, **once)
    swapped = [*texts[:1500], "a film of class 0 a film", *texts[1501:]]
    with pytest.raises(DataError, match="another set of features"):
        fit("speelfc", large, x=swapped, resume=True, **once)
    renamed = [text.replace("film", "song") for text in texts]  # the codes of words are the same
    with pytest.raises(DataError, match="another set of words"):
        fit("speelfc", large, x=renamed, resume=True, **once)


def test_other_columns_are_named(crowd, tmp_path):
    frame = pd.DataFrame(crowd.x, columns=list("abcde"))
    fit("speelfc", crowd, x=frame, checkpoint=tmp_path, **RUN)
    again = {"checkpoint": tmp_path, "resume": True, **RUN}
    assert fit("speelfc", crowd, x=frame, **again).epoch_ == 2
    for other in (frame[list("edcba")], frame.rename(columns={"a": "z"}), crowd.x):
        with pytest.raises(DataError, match=r"another list of columns \(\['a', 'b', 'c'"):
            fit("speelfc", crowd, x=other, **again)


def test_other_names_are_named(crowd, folder):
    item, annotator, label = columns(crowd.annotations)
    for part, changed in (
        ("items", (item + 1000, annotator, label)),
        ("annotators", (item, annotator + 1000, label)),
        ("classes", (item, annotator, label + 1)),
    ):
        other = crowd._replace(annotations=Annotations.from_arrays(*changed))
        refused(other, folder, f"another list of {part}")


def test_another_truth_is_named(crowd, tmp_path):
    fit("truth", crowd, checkpoint=tmp_path)
    with pytest.raises(DataError, match="another truth"):
        fit("truth", crowd, truth=(crowd.truth + 1) % 3, checkpoint=tmp_path, resume=True)


def weights_of(folder):
    (path,) = folder.glob("*.safetensors")
    return path


def changed_header(folder, **entries):
    path = folder / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def test_a_newer_format_is_named(crowd, folder):
    changed_header(folder, format=99)
    refused(crowd, folder, r"checkpoint.json: is of format 99, and this version .* reads format 2")


@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 2}', b"[1, 2]", b"\xff\xfe", b"null"])
def test_a_header_that_is_none_is_named(content, crowd, folder):
    (folder / "checkpoint.json").write_bytes(content)
    refused(crowd, folder, "checkpoint.json: is not")


def test_a_truncated_header_is_named(crowd, folder):
    path = folder / "checkpoint.json"
    whole = path.read_bytes()
    for length in (10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        refused(crowd, folder, "is not JSON; the checkpoint is truncated or corrupted")


def test_truncated_and_flipped_tensors_are_named(crowd, folder):
    path = weights_of(folder)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for content in (b"", whole[:100], whole[:-1], bytes(flipped), whole + b"\0"):
        path.write_bytes(content)
        refused(crowd, folder, "safetensors: is truncated or corrupted: its checksum is another")


def test_missing_tensors_are_named(crowd, folder):
    weights_of(folder).unlink()
    refused(crowd, folder, "safetensors: no such file; the checkpoint is not complete")


@pytest.mark.parametrize("name", ["..", "/", ".", "/etc/passwd", 7])
def test_only_files_of_the_folder_are_read(name, crowd, folder):
    changed_header(folder, tensors=name)
    refused(crowd, folder, "no such file; the checkpoint is not complete|'tensors' must be text")


@pytest.mark.parametrize("lost", ["history", "numbers", "epoch", "best_epoch", "finished"])
def test_a_header_without_an_entry_is_refused(lost, crowd, folder):
    path = folder / "checkpoint.json"
    header = json.loads(path.read_text())
    del header[lost]
    path.write_text(json.dumps(header))
    refused(crowd, folder, f"the checkpoint does not fit its description: '{lost}' is missing")


def test_tensors_of_another_shape_are_refused(crowd, folder):
    tensors, header = read_bundle(folder, "checkpoint")
    changes = [
        {name: each for name, each in tensors.items() if "table" not in name},
        {name: each[:1] if "table" in name else each for name, each in tensors.items()},
    ]
    for changed in changes:
        write_bundle(folder, "checkpoint", changed, header)
        _, found = read_bundle(folder, "checkpoint")
        assert found["epoch"] == 2
        refused(crowd, folder, "the checkpoint does not fit its description")


def test_resuming_needs_a_folder(crowd):
    with pytest.raises(SettingError, match="checkpoint must be a folder to resume from"):
        fit("speelfc", crowd, resume=True)


def test_a_file_is_no_folder(crowd, tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(DataError, match="taken: is a file; name a folder"):
        fit("speelfc", crowd, checkpoint=tmp_path / "taken")
    with pytest.raises(DataError, match="taken: is a file; name a folder"):
        fit("speelfc", crowd).save(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_an_empty_folder_is_a_fresh_start(crowd, tmp_path):
    assert fit("speelfc", crowd, checkpoint=tmp_path / "none", resume=True, **RUN).epoch_ == 2
