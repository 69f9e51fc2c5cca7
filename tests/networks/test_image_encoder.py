"""Pretrained encoders of images: from a folder, frozen or trained, saved and read back."""

import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional

from featured_crowds import assert_same_bits, featured, fit
from manyhands.core.errors import DataError, SettingError
from manyhands.estimators import CrowdClassifier, load
from manyhands.io import Images
from manyhands.networks import ImageEncoder
from manyhands.networks.pretrained import read_image_moments

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.slow  # importing transformers takes seconds
SHAPE = (3, 8, 8)


def small(kind):
    if kind == "resnet":
        config = transformers.ResNetConfig(
            embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic"
        )
        return transformers.ResNetForImageClassification(config)
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        image_size=8, patch_size=4,
    )  # fmt: skip
    return transformers.ViTForImageClassification(config)


@pytest.fixture(scope="module", params=["resnet", "vit"])
def folder(request, tmp_path_factory):
    torch.manual_seed(0)
    home = tmp_path_factory.mktemp(request.param)
    small(request.param).eval().save_pretrained(home)
    return home


@pytest.fixture(scope="module")
def images():
    return torch.randn(6, *SHAPE, generator=torch.Generator().manual_seed(0))


def test_the_features_are_those_of_the_pretrained_model(folder, images):
    network = ImageEncoder(SHAPE, 3, folder=folder).eval()
    body = transformers.AutoModel.from_pretrained(folder).eval()
    states = body(pixel_values=images).last_hidden_state
    expected = states.mean(dim=(2, 3)) if states.dim() == 4 else states[:, 0]
    torch.testing.assert_close(network.features(images), expected)
    assert network(images).shape == (6, 3)
    assert network(images[:0]).shape == (0, 3)


def test_gradients_reach_the_trained_part(folder, images):
    for freeze in (False, True):
        network = ImageEncoder(SHAPE, 3, folder=folder, freeze=freeze).train()
        before = {name: each.clone() for name, each in network.state_dict().items()}
        functional.cross_entropy(network(images), torch.arange(6) % 3).backward()
        trained = {name for name, each in network.named_parameters() if each.grad is not None}
        wanted = (
            {"output.weight", "output.bias"} if freeze else set(dict(network.named_parameters()))
        )
        assert trained == wanted
        if freeze:  # neither dropout nor batch statistics
            for name, each in network.state_dict().items():
                assert torch.equal(each, before[name]), name


@pytest.mark.parametrize("freeze", [False, True])
def test_a_saved_model_does_not_need_the_folder(folder, freeze, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "encoder")
    crowd = featured(n_features=3 * 8 * 8)
    x = crowd.x.reshape(-1, *SHAPE)
    settings = {"network": "image-encoder", "network_settings": {"folder": str(copied)}}
    settings["network_settings"]["freeze"] = freeze
    model = fit("speelfc", crowd, x=x, **settings)
    model.save(tmp_path / "model")
    shutil.rmtree(copied)
    found = load(tmp_path / "model")
    np.testing.assert_array_equal(found.predict_proba(x), model.predict_proba(x))
    assert found.network_settings == settings["network_settings"]
    with pytest.raises(DataError, match=r"there is no config.json"):  # never from random weights
        found.fit(x, crowd.annotations)
    shutil.copytree(folder, copied)
    assert_same_bits(found.fit(x, crowd.annotations), model)


def test_heads_of_annotators_stand_on_an_encoder(folder, tmp_path):
    crowd = featured(n_features=3 * 8 * 8)
    x = crowd.x.reshape(-1, *SHAPE)
    settings = {"folder": str(folder), "freeze": True}
    model = fit("doctor-net", crowd, x=x, network="image-encoder", network_settings=settings)
    model.save(tmp_path)
    np.testing.assert_array_equal(load(tmp_path).predict_proba(x), model.predict_proba(x))


def test_images_are_normalised_as_the_encoder_expects(folder, tmp_path):
    home = shutil.copytree(folder, tmp_path / "encoder")
    rng = np.random.default_rng(0)
    photos = [Image.fromarray(each) for each in rng.integers(0, 256, (12, 8, 8, 3), np.uint8)]
    labels = (np.arange(12) % 2)[:, None].repeat(3, axis=1)
    settings = {"network": "image-encoder", "network_settings": {"folder": str(home)}, "epochs": 1}

    def fitted():
        model = CrowdClassifier(method="two-stage-majority", progress=False, **settings)
        return model.fit(Images.from_list(photos), labels)

    own = fitted().encoder_
    moments = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.25, 0.5]}
    (home / "preprocessor_config.json").write_text(json.dumps(moments))
    model = fitted()
    assert own.mean.tolist() != pytest.approx(moments["image_mean"], abs=1e-3)
    assert model.encoder_.mean.tolist() == pytest.approx(moments["image_mean"])
    assert model.encoder_.deviation.tolist() == pytest.approx(moments["image_std"])
    model.save(tmp_path / "model")
    shutil.rmtree(home)  # a saved model has the moments
    found = load(tmp_path / "model").predict_proba(Images.from_list(photos))
    np.testing.assert_array_equal(found, model.predict_proba(Images.from_list(photos)))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([1], "expected settings by name"),
        ({"image_mean": [0.5] * 3, "image_std": [0.5, 0.5, 0]}, "must have three numbers each"),
        ({"image_mean": [0.5], "image_std": [0.5] * 3}, "must have three numbers each"),
        ({"image_mean": ["0"] * 3, "image_std": [0.5] * 3}, "must have three numbers each"),
        ({"image_mean": [0.5] * 3, "image_std": [1] * 3, "rescale_factor": 1}, "must be 1/255"),
    ],
)
def test_a_wrong_normalisation_is_refused(given, reason, tmp_path):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(given))
    with pytest.raises(DataError, match=f"{reason}.*without this file images are normalised by"):
        read_image_moments(tmp_path)


def test_a_normalisation_that_is_off_or_not_given(tmp_path):
    assert read_image_moments(tmp_path) is None
    for given, found in (({"size": 8}, None), ({"do_normalize": False}, ([0.0] * 3, [1.0] * 3))):
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(given))
        assert read_image_moments(tmp_path) == found


def test_weights_of_16_bits_are_trained_in_32(folder, images, tmp_path):
    body = transformers.AutoModel.from_pretrained(folder, dtype=torch.float16)
    body.save_pretrained(tmp_path)
    network = ImageEncoder(SHAPE, 3, folder=tmp_path).eval()
    assert {each.dtype for each in network.parameters()} == {torch.float32}
    whole = ImageEncoder(SHAPE, 3, folder=folder).eval()
    torch.testing.assert_close(
        network.features(images), whole.features(images), rtol=0.02, atol=0.02
    )
    assert (
        ImageEncoder(SHAPE, 3, config=network.pretrained_config).output.weight.dtype
        == torch.float32
    )


def test_folders_that_cannot_be_used_are_named(folder, tmp_path):
    with pytest.raises(DataError, match=r"there is no config.json; give a folder"):
        ImageEncoder(SHAPE, 3, folder=tmp_path)
    shutil.copy(folder / "config.json", tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(DataError, match="a pickle, which can run any code"):
        ImageEncoder(SHAPE, 3, folder=tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no tensors" * 1000)
    with pytest.raises(DataError, match="no encoder can be read"):
        ImageEncoder(SHAPE, 3, folder=tmp_path)
    with pytest.raises(SettingError, match="folder must be a folder with a pretrained encoder"):
        ImageEncoder(SHAPE, 3)
    with pytest.raises(SettingError, match="freeze must be true or false"):
        ImageEncoder(SHAPE, 3, folder=folder, freeze="yes")
    with pytest.raises(DataError, match=r"the encoder cannot take images of shape \(1, 8, 8\)"):
        ImageEncoder((1, 8, 8), 3, folder=folder)


def test_weights_of_another_encoder_are_refused(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "other")
    config = json.loads((copied / "config.json").read_text())
    more = {"num_hidden_layers": 2} if config["model_type"] == "vit" else {"depths": [1, 2]}
    (copied / "config.json").write_text(json.dumps(config | more))
    with pytest.raises(DataError, match=r"the weights lack \d+ tensors of the encoder"):
        ImageEncoder(SHAPE, 3, folder=copied)
