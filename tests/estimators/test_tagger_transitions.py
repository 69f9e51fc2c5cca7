"""Taggers with transitions between tags: every method that has them, decoding, and files."""

import itertools

import numpy as np
import pytest
import torch

import manyhands as mh
from manyhands.annotations import Annotations, Sentences, TokenLabels, decode_chain, is_valid_bio
from manyhands.core.errors import DataError, SettingError
from manyhands.methods import METHODS
from manyhands.networks import Tagger
from manyhands.networks.tag_transitions import TRANSITIONS, transitions_of

TAGS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
QUICK = {"epochs": 2, "progress": False, "batch_size": 40, "device": "cpu",
         "validation_fraction": 0.0}  # fmt: skip
WITH = [n for n, each in METHODS.items() if each.takes_transitions and "tagging" in each.tasks]
KINDS = TRANSITIONS[1:]


def tiny(shape, n_classes):
    return Tagger(*shape, n_classes, n_features=8, hidden=4)


def crowd(n_sentences=12, seed=0, n_annotators=3):
    """Random words with random tags, which are mostly not valid BIO."""
    rng = np.random.default_rng(seed)
    words = [[f"w{w}" for w in rng.integers(0, 9, rng.integers(1, 6))] for _ in range(n_sentences)]
    sentences = Sentences.from_lists(words)
    token = np.repeat(np.arange(sentences.n_tokens), n_annotators)
    who = np.tile(np.arange(n_annotators), sentences.n_tokens)
    said = rng.integers(0, 5, len(token))
    return TokenLabels.from_codes(sentences, token, who, said, ["u", "v", "w"][:n_annotators], TAGS)


def fit(labels, method="speelfc", transitions="learned-bio", **settings):
    model = mh.CrowdTagger(tiny, method, transitions=transitions, **{**QUICK, **settings})
    truth = [["O"] * n for n in labels.sentences.lengths] if method == "truth" else None
    return model.fit(labels, labels, truth=truth)


@pytest.mark.parametrize("name", WITH)
def test_every_method_with_transitions_gives_valid_tags_and_probabilities(name):
    labels = crowd()
    model = fit(labels, name)
    assert transitions_of(model.network_).transition.abs().sum() > 0, "they are learnt"
    assert all(is_valid_bio(tags) for tags in model.predict(labels.sentences))
    probability = model.predict_proba(labels.sentences)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=1e-6)
    first = labels.sentences.offsets[:-1]
    assert probability[first][:, [2, 4]].max() == 0, "no sentence begins with I-X"
    joint = model.infer(labels.sentences, labels).tokens.probabilities
    np.testing.assert_allclose(joint.sum(axis=1), 1.0, atol=1e-6)
    assert joint[first][:, [2, 4]].max() < 1e-20
    assert np.isfinite(model.log_likelihood(labels.sentences, labels))


@pytest.mark.parametrize("name", ["doctor-net", "max-mig", "mixture", "crf-ma"])
def test_other_methods_refuse_transitions(name):
    with pytest.raises(SettingError, match=f"transitions must be 'none' for the method {name}"):
        mh.CrowdTagger(method=name, transitions="bio").fit(crowd(), crowd())


def test_an_unknown_kind_is_refused():
    with pytest.raises(SettingError, match="transitions must be"):
        fit(crowd(), transitions="crf")


def test_tags_that_are_not_bio_are_refused_by_name():
    ann = Annotations.from_arrays([0, 1, 0, 1], [0, 0, 1, 1], ["noun", "verb", "noun", "verb"])
    with pytest.raises(DataError, match="set transitions to 'learned'"):
        mh.CrowdTagger(tiny, transitions="bio", **QUICK).fit([["a", "b"]], ann)
    model = mh.CrowdTagger(tiny, transitions="learned", valid_bio=False, **QUICK)
    assert len(model.fit([["a", "b"]], ann).predict([["a", "b"]])[0]) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load_give_the_same_predictions(kind, tmp_path):
    labels = crowd()
    model = mh.CrowdTagger("tagger", transitions=kind, network_settings={"hidden": 4}, **QUICK)
    model.fit(labels, labels).save(tmp_path / "model")
    again = mh.load(tmp_path / "model")
    assert again.transitions == kind
    assert again.predict(labels.sentences) == model.predict(labels.sentences)
    found, before = (each.predict_proba(labels.sentences) for each in (again, model))
    np.testing.assert_array_equal(found, before)


def test_the_same_seed_gives_the_same_bits():
    one, two = fit(crowd()).network_.state_dict(), fit(crowd()).network_.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_renaming_annotators_changes_nothing():
    labels = crowd()
    ann = labels.annotations
    renamed = Annotations.from_arrays(
        ann.items[ann.item], np.array(["z", "y", "x"])[ann.annotator],
        ann.classes[ann.label], items=ann.items, classes=ann.classes,
    )  # fmt: skip
    before = fit(labels, "speelfc").predict_proba(labels.sentences)
    after = fit(TokenLabels(labels.sentences, renamed), "speelfc").predict_proba(labels.sentences)
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_a_checkpoint_holds_transitions_and_another_kind_is_another_run(tmp_path):
    labels, folder = crowd(), tmp_path / "run"
    fit(labels, checkpoint=folder)
    changed = mh.CrowdTagger(tiny, transitions="bio", checkpoint=folder, **QUICK)
    with pytest.raises(DataError):
        changed.fit(labels, labels, resume=True)


def test_predicted_tags_are_the_most_probable_sequence():
    labels = crowd()
    model = fit(labels, transitions="learned", valid_bio=False, learning_rate=0.1)
    scores = model._scores_of(model._fitted(), labels.sentences)
    pair, start, end = (each.detach().double().numpy()
                        for each in transitions_of(model.network_).scores())  # fmt: skip
    sentence = max(range(len(labels)), key=lambda s: labels.sentences.lengths[s])
    own = scores[labels.sentences.tokens_of(sentence)][:4]
    grid = np.indices([5] * len(own)).reshape(len(own), -1)
    total = sum(own[t, tag] for t, tag in enumerate(grid)) + start[grid[0]] + end[grid[-1]]
    total += sum(pair[j, k] for j, k in itertools.pairwise(grid))
    best = decode_chain(own, np.array([0, len(own)]), pair, start, end)
    assert best.tolist() == grid[:, total.argmax()].tolist()
    words = labels.sentences.words(sentence)[:4]
    assert len(model.predict([words])[0]) == len(words)


def test_decoding_may_be_restricted_to_valid_tags():
    pair, ends = np.zeros((3, 3)), np.zeros(3)
    scores = np.array([[0.0, -1.0, 3.0], [0.0, 0.0, 2.0]])
    free = decode_chain(scores, np.array([0, 2]), pair, ends, ends)
    valid = decode_chain(scores, np.array([0, 2]), pair, ends, ends, ["O", "B-X", "I-X"])
    assert free.tolist() == [2, 2]
    assert valid.tolist() == [1, 2]
    assert decode_chain(np.zeros((0, 3)), np.array([0]), pair, ends, ends).tolist() == []
