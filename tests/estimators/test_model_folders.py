"""Models in folders: what is loaded, what is refused, and that nothing is run."""

import hashlib
import json
import pickle

import numpy as np
import pytest
import torch
from torch import nn

import manyhands as mh
from featured_crowds import assert_same_bits, columns, featured, fit
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.estimators import load
from manyhands.io.bundle import read_bundle, write_bundle
from manyhands.methods import EndToEnd
from manyhands.networks import MLP


@pytest.fixture(scope="module")
def crowd():
    return featured()


@pytest.fixture
def folder(crowd, tmp_path):
    fit("speelfc", crowd).save(tmp_path)
    return tmp_path


def make(shape=(5,), n_classes=3):
    return MLP(shape[0], n_classes, hidden=(4,))


def refused(folder, text, **how):
    with pytest.raises(DataError, match=text) as error:
        load(folder, **how)
    assert "\n" not in str(error.value)


def changed_header(folder, **entries):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def test_a_model_is_two_files_that_anything_can_read(folder):
    header = json.loads((folder / "model.json").read_text())
    assert header["classes"] == [0, 1, 2]
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", ".safetensors"]
    assert type(mh.load(folder)) is type(load(folder))


def test_saving_again_leaves_no_old_files(crowd, folder):
    other = fit("conal", crowd)
    other.save(folder)
    assert len(list(folder.iterdir())) == 2
    assert_same_bits(load(folder), other)


def test_a_model_may_stand_beside_its_checkpoint(crowd, tmp_path):
    model = fit("speelfc", crowd, checkpoint=tmp_path)
    model.save(tmp_path)
    assert_same_bits(load(tmp_path), model)
    again = fit("speelfc", crowd, checkpoint=tmp_path, resume=True)
    assert_same_bits(again, model)


def test_a_network_of_ones_own_is_asked_for(crowd, tmp_path):
    own = make()
    model = fit("speelfc", crowd, network=own)
    model.save(tmp_path)
    refused(tmp_path, r"a network of your own \(MLP\), which is not in the files.*network=")
    before = {name: each.clone() for name, each in own.state_dict().items()}
    for given in (own, make):
        found = load(tmp_path, network=given)
        assert (found.predict_proba(crowd.x) == model.predict_proba(crowd.x)).all()
    assert all(torch.equal(each, before[name]) for name, each in own.state_dict().items())


def test_a_network_that_was_made_is_asked_for_too(crowd, tmp_path):
    fit("speelfc", crowd, network=make).save(tmp_path)
    refused(tmp_path, "a network of your own")
    assert load(tmp_path, network=make).predict(crowd.x).shape == (60,)


@pytest.mark.parametrize("other", [nn.Linear(5, 3), MLP(5, 3, hidden=(9,)), MLP(5, 4, hidden=(4,))])
def test_another_network_is_refused(other, crowd, tmp_path):
    fit("speelfc", crowd, network=make()).save(tmp_path)
    refused(tmp_path, "the model does not fit its description", network=other)


def test_settings_with_tensors_are_kept(crowd, tmp_path):
    people = torch.randn(6, 2, generator=torch.Generator().manual_seed(0))
    model = fit("conal", crowd, noise={"annotator_features": people, "n_dimensions": 3})
    model.save(tmp_path)
    found = load(tmp_path)
    assert_same_bits(found, model)
    assert torch.equal(found.noise["annotator_features"], people)


def test_a_method_of_ones_own_is_kept_in_words(crowd, tmp_path):
    model = fit(EndToEnd("speelfc", {"accuracy": 0.9}), crowd)
    model.save(tmp_path)
    found = load(tmp_path)
    assert (found.predict_proba(crowd.x) == model.predict_proba(crowd.x)).all()


def test_loading_leaves_random_numbers_alone(folder):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    load(folder)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_loaded_model_goes_on_being_used(crowd, folder, tmp_path):
    model = load(folder)
    model.save(tmp_path / "copy")
    assert_same_bits(load(tmp_path / "copy"), model)
    assert model.get_params()["method"] == "speelfc"
    assert "CrowdClassifier" in repr(model)


# --- what is not a model ---


def test_folders_without_a_model_are_named(tmp_path):
    refused(tmp_path, "model.json: no such file; there is no model in this folder")
    refused(tmp_path / "nowhere", "there is no model in this folder")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "there is no model in this folder")


def test_a_checkpoint_is_no_model(crowd, tmp_path):
    fit("speelfc", crowd, checkpoint=tmp_path)
    refused(tmp_path, "there is no model in this folder")
    (tmp_path / "checkpoint.json").rename(tmp_path / "model.json")
    refused(tmp_path, "does not fit its description: 'task' is missing")


class Bomb:
    """What runs code when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


def test_pickles_are_never_opened(folder):
    (path,) = folder.glob("*.safetensors")
    bomb = pickle.dumps(Bomb())
    path.write_bytes(bomb)
    refused(folder, "is truncated or corrupted")
    changed_header(folder, sha256=hashlib.sha256(bomb).hexdigest())
    refused(folder, "is not a safetensors file")
    (folder / "model.json").write_bytes(bomb)
    refused(folder, "is not JSON")


def test_torn_files_are_named(folder):
    (path,) = folder.glob("*.safetensors")
    whole = path.read_bytes()
    for content in (b"", whole[:-1], whole[:50] + b"\x01" + whole[51:]):
        path.write_bytes(content)
        refused(folder, "is truncated or corrupted: its checksum is another")
    path.unlink()
    refused(folder, "no such file; the model is not complete")
    header = (folder / "model.json").read_text()
    (folder / "model.json").write_text(header[: len(header) // 2])
    refused(folder, "is not JSON; the model is truncated or corrupted")


@pytest.mark.parametrize("other", [1, 3])
def test_another_format_is_named(folder, other):
    changed_header(folder, format=other)
    refused(folder, f"is of format {other}, and this version of manyhands reads format 2")


@pytest.mark.parametrize(
    "entries",
    [
        {"network": "transformer-9000"},
        {"noise": "telepathy"},
        {"noise_settings": {"volume": 11}},
        {"classes": [0, 1]},
        {"annotators": [0, 1]},
        {"encoder_settings": {"shape": [4], "names": None, "keep_integers": False}},
        {"training": {"epochs": 3, "rocket": True}},
    ],
)
def test_a_description_of_another_model_is_refused(entries, folder):
    changed_header(folder, **entries)
    with pytest.raises(mh.ManyhandsError):
        load(folder)


def test_lost_entries_are_refused(folder):
    tensors, header = read_bundle(folder, "model")
    for lost in ("classes", "annotators", "encoder", "training", "noise", "history", "scaler"):
        kept = {name: value for name, value in header.items() if name != lost}
        write_bundle(folder, "model", tensors, kept)
        refused(folder, "the model does not fit its description")
    for lost in ("network.layers.0.weight", "noise.table.weight", "annotators.quality"):
        write_bundle(folder, "model", {k: v for k, v in tensors.items() if k != lost}, header)
        refused(folder, "the model does not fit its description")


def test_classes_and_people_keep_their_names(crowd, tmp_path):
    item, annotator, label = columns(crowd.annotations)
    ann = Annotations.from_arrays(
        item,
        np.array([f"persönlich/{a}" for a in range(6)], dtype=object)[annotator],
        np.array(["a b", "ü", "x.y"], dtype=object)[label],
    )
    model = fit("speelfc", crowd, annotations=ann)
    model.save(tmp_path)
    found = load(tmp_path)
    assert found.predict(crowd.x).tolist() == model.predict(crowd.x).tolist()
    assert found.annotators_frame().equals(model.annotators_frame())
    assert (found.profile("persönlich/3") == model.profile("persönlich/3")).all()
