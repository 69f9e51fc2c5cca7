"""Networks trained on images: sizes, normalisation, augmentation, files, and broken images."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import Dataset

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.engine import images as engine_images
from manyhands.engine.features import EncoderOptions
from manyhands.engine.images import ImageEncoder
from photos import crowd_of, write_photos

SETTINGS = {
    "method": "speelfc",
    "epochs": 3,
    "batch_size": 8,
    "progress": False,
    "seed": 1,
    "threads": 1,
}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("album") / "photos"
    truth = write_photos(folder)
    return mh.read_images(folder), crowd_of(truth), truth


def classifier(**settings):
    return mh.CrowdClassifier(**(SETTINGS | settings))


def weights(model):
    return {name: each.clone() for name, each in model.network_.state_dict().items()}


def require_same(one, other):
    assert one.keys() == other.keys()
    for name, each in one.items():
        assert torch.equal(each, other[name]), name


def test_photos_are_learnt_by_name(photos, tmp_path):
    images, ann, truth = photos
    model = classifier(epochs=8, augment="flip,crop").fit(images, ann)
    named = images.matched(ann.items.tolist())
    right = np.array([truth[name] for name in named.items])
    assert (model.predict(images) == right).mean() > 0.9
    assert (model.encoder_.size, model.encoder_.default_network) == ((16, 16), "cnn")
    together = model.infer(images, ann)
    assert set(together.to_frame()["item"]) == truth.keys()
    model.save(tmp_path / "model")
    loaded = mh.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(images), model.predict_proba(images))
    assert loaded.encoder_.naming == "file name without suffix"
    assert loaded.augment == "flip,crop"


def test_channels_are_normalised_and_images_of_other_sizes_resized(photos):
    images, _, _ = photos
    encoder, inputs = ImageEncoder.fit_transform(images, EncoderOptions())
    rows = inputs.rows(torch.arange(len(images)))
    torch.testing.assert_close(rows.mean((0, 2, 3)), torch.zeros(3), atol=1e-4, rtol=0)
    torch.testing.assert_close(rows.std((0, 2, 3)), torch.ones(3), atol=1e-3, rtol=0)
    wide = Image.fromarray(np.full((20, 50, 3), 255, dtype=np.uint8))
    white = encoder.transform(mh.io.Images.from_list([wide])).rows(torch.tensor([0]))
    expected = (1.0 - encoder.mean) / encoder.deviation
    torch.testing.assert_close(white, expected.view(1, 3, 1, 1).expand(1, 3, 16, 16))
    plain, _ = ImageEncoder.fit_transform(images, EncoderOptions(normalize=False))
    one = plain.transform(images).rows(torch.tensor([0]))
    assert (one.min() >= 0.0, one.max() <= 1.0) == (True, True)


def test_batches_decoded_on_the_way_are_those_kept_in_memory(photos, monkeypatch):
    images, ann, _ = photos
    kept = classifier(augment=["crop", "rotate"]).fit(images, ann)
    monkeypatch.setattr(engine_images, "_memory", lambda: 0)
    monkeypatch.setitem(engine_images._AT_ONCE, "cpu", 1)
    read = classifier(augment=["crop", "rotate"]).fit(images, ann)
    require_same(weights(kept), weights(read))


def test_the_seed_decides_augmentation_and_a_stopped_run_continues(photos, tmp_path):
    images, ann, _ = photos
    settings = {"augment": "flip,crop,shear,rescale,rotate", "checkpoint": tmp_path / "run"}
    whole = classifier(augment=settings["augment"]).fit(images, ann)
    plain = classifier().fit(images, ann)
    name = "blocks.0.0.weight"
    assert not torch.equal(weights(whole)[name], weights(plain)[name])

    def stop(predict, calls=[]):  # noqa: B006 - it counts
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        classifier(**settings).fit(images, ann, callback=stop)
    continued = classifier(**settings).fit(images, ann, resume=True)
    require_same(weights(whole), weights(continued))
    with pytest.raises(DataError, match="made with another augment"):
        classifier(**settings | {"augment": "flip"}).fit(images, ann, resume=True)


def test_different_sizes_are_resized_and_it_is_said(tmp_path):
    sides = (12, 20, 24)
    for number, side in enumerate(sides):
        Image.new("RGB", (side, side + 4), (80 * number, 9, 9)).save(tmp_path / f"{number}.png")
    images = mh.read_images(tmp_path)
    with pytest.warns(UserWarning, match=r"heights 16 to 28 and widths 12 to 24 are resized to 20"):
        encoder, _ = ImageEncoder.fit_transform(images, EncoderOptions())
    assert encoder.shape == (3, 20, 20)
    encoder, _ = ImageEncoder.fit_transform(images, EncoderOptions(image_size=9))
    assert encoder.shape == (3, 9, 9)
    large = mh.io.Images.from_list([Image.new("RGB", (300, 200))])
    with pytest.warns(UserWarning, match="images of 200 x 300 are resized to 128 x 128 pixels"):
        ImageEncoder.fit_transform(large, EncoderOptions())
    with pytest.raises(SettingError, match=r"image_size must be a whole number in 1\.\.4096"):
        classifier(image_size=0).fit(images, [[0, 1], [1, 0], [0, 0]])


def test_an_image_that_is_cut_short_stops_the_fit_before_training(tmp_path):
    truth = write_photos(tmp_path / "photos", 8)
    ann = crowd_of(truth)
    path = tmp_path / "photos" / "photo3.png"
    path.write_bytes(path.read_bytes()[:-300])
    images = mh.read_images(tmp_path / "photos")
    with pytest.raises(DataError, match=r"photo3.png: is cut short or corrupt"):
        classifier(checkpoint=tmp_path / "run").fit(images, ann)
    assert not (tmp_path / "run").exists()
    labelled = [name for name in truth if name != "photo3"]
    rest = ann[np.flatnonzero(np.isin(ann.items, labelled))]
    classifier(epochs=1).fit(images, rest)  # an image without labels is not looked at


def test_images_without_labels_and_labels_without_images(photos, tmp_path):
    images, ann, _ = photos
    model = classifier(epochs=1).fit(images, ann[:10])
    assert len(model.predict(images)) == len(images)
    with pytest.raises(DataError, match=r"4 items have labels but no features: .*photo"):
        classifier().fit(images[4:], ann)
    with pytest.raises(DataError, match="no image is called as an item; items are called '0'"):
        classifier().fit(images, ann.to_dense())


def test_labels_to_score_against_are_matched_by_name(photos):
    images, ann, truth = photos
    model = classifier(epochs=4).fit(images, ann)
    majority = dict(zip(ann.items, ann.classes[np.asarray(ann)], strict=True))
    for labels in (ann, ann[:10]):
        some = images.matched(ann.items.tolist())
        some = some[np.isin(some.items, labels.items)]
        right = model.predict(some) == [majority[name] for name in some.items]
        assert model.score(images[::-1], labels) == pytest.approx(right.mean())
    rows = [(name, who, float(kind == "sky")) for name, kind in truth.items() for who in "ab"]
    ratings = mh.Annotations.from_arrays(*zip(*rows, strict=True), kind="numbers")
    regressor = mh.CrowdRegressor(**SETTINGS | {"method": "crowd-layer-b", "epochs": 8})
    assert regressor.fit(images, ratings).score(images[::-1], ratings) > 0.5
    assert regressor.predict_spread([images[0]]).shape == (1,)


def test_models_of_images_refuse_other_features(photos, tmp_path):
    images, ann, _ = photos
    model = classifier(epochs=1).fit(images, ann)
    with pytest.raises(DataError, match=r"reads images \(read_images\); got ndarray"):
        model.predict(np.zeros((2, 3, 16, 16)))
    with pytest.raises(DataError, match="augment is for images"):
        classifier(augment="flip").fit(np.zeros((4, 3)), [[0, 1], [1, 0], [0, 0], [1, 1]])
    model.save(tmp_path / "model")
    header = json.loads((tmp_path / "model" / "model.json").read_text())
    header["encoder_settings"]["size"] = [0, 4]
    (tmp_path / "model" / "model.json").write_text(json.dumps(header))
    with pytest.raises(DataError, match="the size or the moments of its images are wrong"):
        mh.load(tmp_path / "model")


def test_images_of_pillow_in_a_list_and_scikit_learn(photos):
    from sklearn.model_selection import cross_val_score

    images, ann, _ = photos
    listed = [images[row] for row in range(len(images))]
    names = images.matched(ann.items.tolist()).items
    by_name = classifier(epochs=2).fit(images, ann)
    by_row = classifier(epochs=2).fit(listed, ann, X_items=names)
    require_same(weights(by_name), weights(by_row))
    ordered = images.matched(ann.items.tolist())[np.argsort(names)]
    scores = cross_val_score(classifier(epochs=1), ordered, ann, cv=2)
    assert scores.shape == (2,)


def test_names_of_files_and_datasets_of_images_are_read(photos):
    images, ann, _ = photos
    model = classifier(epochs=1).fit(images, ann)
    expected = model.predict_proba(images)

    class Photos(Dataset):
        def __len__(self):
            return len(images)

        def __getitem__(self, item):
            return images[item], item

    files = images.sources.tolist()
    for features in (files, list(map(Path, files)), np.array(files), Photos()):
        np.testing.assert_array_equal(model.predict_proba(features), expected)
    with pytest.raises(DataError, match=r"nothing.png: no such file"):
        model.predict(["nothing.png"])


class Entries(Dataset):
    def __init__(self, *entries):
        self.entries = entries

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, item):
        return self.entries[item]


def test_entries_of_a_dataset_that_are_no_tensors_are_refused():
    labels = [[0, 1], [1, 0]]
    with pytest.raises(DataError, match="entry 0 of the Dataset is str, not a tensor"):
        classifier().fit(Entries("a", "b"), labels)
    with pytest.raises(DataError, match=r"entry 1 of the Dataset has shape \(3,\), and entry 0"):
        classifier().fit(Entries(torch.zeros(2), torch.zeros(3)), labels)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_images_stay_on_the_gpu(photos):
    images, ann, _ = photos
    settings = {"augment": "flip,crop,shear", "device": "cuda"}
    model = classifier(**settings).fit(images, ann)
    again = classifier(**settings).fit(images, ann)
    require_same(weights(model), weights(again))
    _, inputs = ImageEncoder.fit_transform(images, EncoderOptions())
    moved = inputs.to(torch.device("cuda:0"))
    index = torch.arange(3)
    torch.testing.assert_close(moved.rows(index.cuda()).cpu(), inputs.rows(index))
    assert moved.stored._on(moved.device).dtype == torch.uint8


def test_methods_without_an_end_to_end_loss_take_images(photos):
    images, ann, _ = photos
    for method in ("two-stage-majority", "em", "conal"):
        model = classifier(method=method, epochs=1, augment="flip").fit(images, ann)
        assert model.predict_proba(images[:2]).shape == (2, 2)


def test_a_network_of_your_own_gets_normalised_images(photos):
    images, ann, _ = photos
    seen = []

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, batch):
            seen.append(batch)
            return self.layer(batch.mean((2, 3)))

    classifier(network=Own(), epochs=1).fit(images, ann)
    assert seen[-1].dtype == torch.float32
    assert seen[-1].min() < 0
