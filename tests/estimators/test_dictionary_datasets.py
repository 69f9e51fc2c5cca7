"""Datasets of dictionaries, and of Hugging Face, as features and in loops of your own."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import datasets
import manyhands as mh
from manyhands.core.errors import DataError
from manyhands.engine.encoders import known_features
from manyhands.networks.calling import call_network
from manyhands.noise import AnnotatedDataset, SpeeLFC, annotation_loss, collate
from photos import crowd_of, write_photos

SETTINGS = {"method": "speelfc", "epochs": 2, "progress": False, "threads": 1}
N_ITEMS = 12


class Tokens(Dataset):
    """Entries as a tokenizer gives them."""

    def __init__(self, n_items=N_ITEMS, **more):
        rng = np.random.default_rng(0)
        self.ids = rng.integers(1, 20, (n_items, 5))
        self.more = more

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, item):
        entry = {"input_ids": self.ids[item].tolist(), "attention_mask": torch.ones(5).long()}
        return entry | {name: values[item] for name, values in self.more.items()}


class Keywords(nn.Module):
    """A network that is called as those of Hugging Face are."""

    def __init__(self):
        super().__init__()
        self.words, self.layer = nn.Embedding(20, 4), nn.Linear(4, 2)

    def forward(self, input_ids, attention_mask=None, labels=None, scores=None):
        assert input_ids.dtype == torch.int64
        assert attention_mask is not None
        return SimpleNamespace(logits=self.layer(self.words(input_ids).mean(dim=1)))


class OneArgument(Keywords):
    def forward(self, batch):
        return super().forward(**batch).logits


def crowd():
    rng = np.random.default_rng(1)
    return mh.Annotations.from_dense(rng.integers(0, 2, (N_ITEMS, 3)))


@pytest.mark.parametrize("network", [Keywords, OneArgument])
def test_dictionaries_pass_through_a_loop_of_your_own(network):
    torch.manual_seed(0)
    model, layer = network(), SpeeLFC(3, 2)
    loader = DataLoader(AnnotatedDataset(Tokens(), crowd()), batch_size=5, collate_fn=collate)
    for inputs, batch in loader:
        assert inputs["input_ids"].shape == (len(inputs["attention_mask"]), 5)
        assert batch.features is None
        loss = annotation_loss(layer, call_network(model, inputs), batch)
        loss.backward()
    assert model.layer.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("network", [Keywords, OneArgument])
def test_dictionaries_are_fitted_predicted_and_loaded(network, tmp_path):
    torch.manual_seed(0)
    made = network()
    model = mh.CrowdClassifier(made, **SETTINGS).fit(Tokens(), crowd())
    found = model.predict_proba(Tokens(3))
    assert found.shape == (3, 2)
    model.save(tmp_path)
    np.testing.assert_array_equal(mh.load(tmp_path, network=made).predict_proba(Tokens(3)), found)
    model.infer(Tokens(), crowd())


def test_numbers_are_learnt_from_dictionaries():
    class OneNumber(Keywords):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

    ratings = np.random.default_rng(2).normal(size=(N_ITEMS, 3))
    settings = SETTINGS | {"method": "crowd-layer-b"}
    model = mh.CrowdRegressor(OneNumber(), **settings).fit(Tokens(), ratings)
    assert model.predict(Tokens(4)).shape == (4,)
    heads = mh.CrowdClassifier(Keywords(), **SETTINGS | {"method": "doctor-net"})
    assert heads.fit(Tokens(), crowd()).predict_proba(Tokens(2)).shape == (2, 2)


def test_numbers_of_a_dictionary_are_features_of_a_noise_model():
    scores = np.random.default_rng(0).normal(size=(N_ITEMS, 3))
    settings = SETTINGS | {"method": "conal"}
    with pytest.raises(DataError, match=r"needs features of the items that are real numbers"):
        mh.CrowdClassifier(Keywords(), **settings).fit(Tokens(), crowd())
    model = mh.CrowdClassifier(Keywords(), **settings).fit(Tokens(scores=scores), crowd())
    assert model.noise_.n_features == 3


def test_entries_that_do_not_fit_are_refused():
    def lengths(item):
        return {"input_ids": [1] * (item + 1)}

    with pytest.raises(DataError, match=r"'input_ids' has different shapes, .* pad them"):
        collate([(lengths(item), torch.tensor([0]), torch.tensor([0])) for item in range(2)])
    with pytest.raises(DataError, match="different keys"):
        collate([({name: 1}, torch.tensor([0]), torch.tensor([0])) for name in "ab"])
    named = Tokens(title=[f"film {item}" for item in range(N_ITEMS)])
    with pytest.raises(DataError, match="'title' holds str, not tensors or numbers; leave it out"):
        mh.CrowdClassifier(Keywords(), **SETTINGS).fit(named, crowd())
    with pytest.raises(DataError, match=r"the network cannot take inputs of 'input_ids' of shape"):
        mh.CrowdClassifier("logistic", **SETTINGS).fit(Tokens(), crowd())


def as_images(columns, kinds):
    """A dataset whose images are bytes, as the files of a dataset hold them."""
    entries = [{"bytes": each, "path": None} for each in columns["image"]]
    return datasets.Dataset.from_dict(columns | {"image": entries}, kinds)


def test_images_of_a_hugging_face_dataset(tmp_path):
    truth = write_photos(tmp_path, N_ITEMS)
    ann = crowd_of(truth)
    files = [tmp_path / f"{name}.png" for name in ann.items]
    images = mh.io.Images.from_paths(files)
    stored = {"image": [path.read_bytes() for path in files], "label": list(range(N_ITEMS))}
    kinds = datasets.Features(image=datasets.Image(), label=datasets.Value("int64"))
    dataset = as_images(stored, kinds)
    model = mh.CrowdClassifier(**SETTINGS).fit(dataset, ann)
    by_file = mh.CrowdClassifier(**SETTINGS).fit(images, ann)
    np.testing.assert_array_equal(model.predict_proba(dataset), by_file.predict_proba(images))
    stored["image"][7] = b"not an image"
    dataset = as_images(stored, kinds)
    with pytest.raises(DataError, match=r"image 7: is no image"):
        mh.CrowdClassifier(**SETTINGS).fit(dataset, ann)


def test_texts_and_numbers_of_a_hugging_face_dataset():
    texts = ["a good film", "a bad film"] * (N_ITEMS // 2)
    columns = {"text": texts, "other": texts, "label": [0] * N_ITEMS}
    dataset = datasets.Dataset.from_dict(columns)
    model = mh.CrowdClassifier(**SETTINGS).fit(dataset, crowd())
    np.testing.assert_array_equal(model.predict_proba(dataset), model.predict_proba(texts))
    numbers = datasets.Dataset.from_dict({"x": [float(item) for item in range(N_ITEMS)]})
    assert mh.CrowdClassifier(**SETTINGS).fit(numbers, crowd()).feature_names_in_ == ["x"]


def test_pairs_of_texts_of_a_hugging_face_dataset():
    columns = {"text": ["a", None], "text_pair": ["b", "c"], "more": ["d", "e"]}
    dataset = datasets.Dataset.from_dict(columns)
    assert known_features(dataset) == [("a", "b"), ("", "c")]


def test_tensors_of_a_hugging_face_dataset():
    columns = {"input_ids": [[1, 2, 3]] * N_ITEMS, "attention_mask": [[1, 1, 1]] * N_ITEMS}
    dataset = datasets.Dataset.from_dict(columns)
    with pytest.raises(DataError, match=r'input_ids, attention_mask are neither .*"torch"'):
        mh.CrowdClassifier(Keywords(), **SETTINGS).fit(dataset, crowd())
    tensors = dataset.with_format("torch")
    model = mh.CrowdClassifier(Keywords(), **SETTINGS).fit(tensors, crowd())
    assert model.predict_proba(tensors).shape == (N_ITEMS, 2)


def test_what_to_choose_of_a_hugging_face_dataset_is_said():
    kinds = datasets.Features(image=datasets.Image(), caption=datasets.Value("string"))
    both = as_images({"image": [b"", b""], "caption": ["a", "b"]}, kinds)
    with pytest.raises(DataError, match=r"image, caption; choose one, such as X.select_columns"):
        mh.CrowdClassifier(**SETTINGS).fit(both, crowd())

    splits = datasets.DatasetDict(train=both, test=both)
    with pytest.raises(DataError, match=r"splits \(train, test\); give one .* X\['train'\]"):
        mh.CrowdClassifier(**SETTINGS).fit(splits, crowd())
