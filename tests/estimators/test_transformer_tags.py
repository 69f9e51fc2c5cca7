"""Encoders of transformers in taggers: transitions between tags, and cross-fitting."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.annotations import is_valid_bio
from manyhands.methods.cross_fit.method import CrossFitted
from manyhands.networks.tag_transitions import transitions_of
from tiny_encoder import reviews, write_encoder

SETTINGS = {
    "method": "speelfc", "epochs": 8, "batch_size": 32, "learning_rate": 0.02, "warm_up": 0,
    "validation_fraction": 0.0, "threads": 1, "progress": False,
}  # fmt: skip
TEXTS, ANN, TRUTH = reviews()
SENTENCES = [text.split() for text in TEXTS]
TAGS = ["B-MOOD" if word in ("good", "bad") else "O" for own in SENTENCES for word in own]
LABELS = mh.Annotations.from_dense(np.array([TAGS, TAGS]).T, classes=["O", "B-MOOD", "I-MOOD"])


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.mark.parametrize(("kind", "freeze"), [("bio", False), ("learned-bio", True)])
def test_an_encoder_has_transitions_that_are_saved_and_used(network, kind, freeze, tmp_path):
    settings = SETTINGS | {"transitions": kind, "network_settings": {"freeze": freeze}}
    tagger = mh.CrowdTagger(network, **settings).fit(SENTENCES, LABELS)
    assert transitions_of(tagger.network_).kind == kind
    assert tagger.score(SENTENCES, TAGS) > 0.9
    assert all(is_valid_bio(tags) for tags in tagger.predict(SENTENCES))
    tagger.save(tmp_path / "model")
    loaded = mh.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(SENTENCES), tagger.predict_proba(SENTENCES))
    crossed = tagger.infer(SENTENCES, LABELS, cross_fit=2)
    assert not crossed.tokens.warnings
    assert (crossed.tags == TAGS).mean() > 0.9


@pytest.mark.parametrize(("learner", "freeze"), [(None, False), (None, True), ("network", True)])
def test_an_encoder_learns_a_cross_fitted_consensus(network, learner, freeze):
    method = CrossFitted(learner=learner, max_iter=1)
    settings = SETTINGS | {"method": method, "network_settings": {"freeze": freeze}}
    tagger = mh.CrowdTagger(network, **settings).fit(SENTENCES, LABELS)
    assert tagger.score(SENTENCES, TAGS) > 0.9


def test_texts_of_an_encoder_have_their_sub_words_as_features(network):
    settings = SETTINGS | {"method": "cross-fit", "batch_size": 8}
    clf = mh.CrowdClassifier(network, **settings).fit(TEXTS, ANN)
    assert clf.score(TEXTS, TRUTH) > 0.9
