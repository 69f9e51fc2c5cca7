"""Taggers of tokens: contracts over every method that is for tags, and laws of sentences."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import manyhands as mh
from manyhands.annotations import Annotations, Sentences, TokenLabels, is_valid_bio
from manyhands.core.errors import DataError, SettingError
from manyhands.io import WordVectors
from manyhands.methods import METHODS
from manyhands.networks import Tagger

TAGS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
PEOPLE = ["Anna", "Ben", "Carla", "David", "Eva", "Finn"]
PLACES = ["Oslo", "Rome", "Paris", "Lima", "Cairo", "Delhi"]
OTHERS = ["went", "to", "saw", "and", "in", "then", "never", "left"]
TAGGING = [name for name, method in METHODS.items() if "tagging" in method.tasks]
QUICK = {
    "epochs": 2,
    "progress": False,
    "batch_size": 120,
    "device": "cpu",
    "validation_fraction": 0.0,
}


def tiny(shape, n_classes):
    return Tagger(*shape, n_classes, n_features=16, hidden=8)


def written(n_sentences=40, seed=0):
    """Sentences of people and places, sometimes of two words, and their tags."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n_sentences):
        words, marks = [], []
        for _ in range(rng.integers(1, 4)):
            words += rng.choice(OTHERS, size=rng.integers(1, 3)).tolist()
            marks += ["O"] * (len(words) - len(marks))
            names, kind = (PEOPLE, "PER") if rng.uniform() < 0.5 else (PLACES, "LOC")
            n_words = int(rng.integers(1, 3))
            words += rng.choice(names, size=n_words).tolist()
            marks += [f"B-{kind}", f"I-{kind}"][:n_words]
        sentences.append(words)
        tags.append(marks)
    return Sentences.from_lists(sentences), tags


def crowd(sentences, tags, *, right=(0.95, 0.9, 0.8, 0.6, 0.4), per_sentence=3, seed=1):
    """Annotators tag whole sentences; a wrong tag is any other."""
    rng = np.random.default_rng(seed)
    truth = np.array([TAGS.index(tag) for each in tags for tag in each])
    token, who, said = [], [], []
    for s in range(len(sentences)):
        own = sentences.tokens_of(s)
        for a in rng.permutation(len(right))[:per_sentence]:
            wrong = rng.uniform(size=len(own)) > right[a]
            label = np.where(wrong, (truth[own] + rng.integers(1, 5, len(own))) % 5, truth[own])
            token += own.tolist()
            who += [a] * len(own)
            said += label.tolist()
    names = [f"p{a}" for a in range(len(right))]
    return TokenLabels.from_codes(sentences, token, who, said, names, TAGS)


@pytest.fixture(scope="module")
def small():
    sentences, tags = written()
    return crowd(sentences, tags), tags


@pytest.fixture(params=TAGGING)
def name(request):
    return request.param


def fit(name, labels, tags, **settings):
    truth = tags if METHODS[name].needs_truth else None
    network = None if METHODS[name].required_network else tiny
    model = mh.CrowdTagger(method=name, **({"network": network} | QUICK | settings))
    return model.fit(labels, labels, truth=truth)


@pytest.fixture(scope="module")
def fitted(small):
    models = {}

    def model_of(name):
        if name not in models:
            models[name] = fit(name, *small)
        return models[name]

    return model_of


def test_all_that_is_asked_for_is_there():
    assert {"em", "doctor-net", "weighted-doctor-net", "two-stage-majority", "crf-ma", "truth",
            "two-stage-dawid-skene", *mh.NOISE} - {"cumulative-link"} <= set(TAGGING)  # fmt: skip


def test_every_sentence_gets_valid_tags(name, small, fitted):
    labels, _ = small
    found = fitted(name).predict(labels.sentences)
    assert [len(tags) for tags in found] == labels.sentences.lengths.tolist()
    assert all(is_valid_bio(tags) for tags in found)
    probabilities = fitted(name).predict_proba(labels.sentences)
    assert probabilities.shape == (labels.sentences.n_tokens, 5)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)


def test_the_same_seed_gives_the_same_bits(name, small, fitted):
    again = fit(name, *small)
    for path, value in fitted(name).network_.state_dict().items():
        assert torch.equal(value, again.network_.state_dict()[path]), path
    assert np.array_equal(again.confusion_, fitted(name).confusion_)


def test_taggers_are_trained_as_published(name, small):
    labels, tags = small
    settings = {"batch_size": None, "validation_fraction": None, "epochs": 1, "warm_up": 0}
    model = mh.CrowdTagger(method=name, published=True, **(QUICK | settings))
    model.fit(labels.sentences, labels, **({"truth": tags} if name == "truth" else {}))
    assert len(model.predict(labels.sentences)) == len(labels.sentences)
    assert model.settings_.validation_fraction == 0.0
    if name == "crowd-layer-mw":
        assert model.network_spec_ == ("tagger", mh.methods.PUBLISHED["p0/ner"].network[1])
        assert (model.settings_.batch_size, model.settings_.optimizer) == (1024, "adam")


def test_the_default_network_is_saved_by_name(small, tmp_path):
    labels, tags = small
    model = fit("speelfc", labels, tags, network=None, epochs=1)
    model.save(tmp_path)
    assert mh.load(tmp_path).predict(labels) == model.predict(labels)


def test_saving_and_loading_gives_the_same(name, small, fitted, tmp_path):
    labels, tags = small
    model = fitted(name)
    model.save(tmp_path)
    found = mh.load(tmp_path, network=None if METHODS[name].required_network else tiny)
    assert found.predict(labels) == model.predict(labels)
    assert np.array_equal(found.predict_proba(labels), model.predict_proba(labels))
    assert np.array_equal(found.confusion_, model.confusion_)
    assert found.log_likelihood(labels, labels.annotations) == model.log_likelihood(
        labels, labels.annotations
    )
    truth = tags if METHODS[name].needs_truth else None
    again = found.set_params(progress=False).fit(labels, labels, truth=truth)
    assert np.array_equal(again.predict_proba(labels), model.predict_proba(labels))


def test_shuffling_labels_changes_nothing(name, small, fitted):
    labels, tags = small
    ann = labels.annotations
    order = np.random.default_rng(1).permutation(ann.n_annotations)
    shuffled = TokenLabels.from_codes(
        labels.sentences, ann.item[order], ann.annotator[order], ann.label[order],
        ann.annotators, TAGS,
    )  # fmt: skip
    again = fit(name, shuffled, tags)
    assert np.array_equal(again.predict_proba(labels), fitted(name).predict_proba(labels))


def test_a_sentence_is_tagged_alike_alone_and_among_others(name, small, fitted):
    labels, _ = small
    model = fitted(name)
    whole = model.predict_proba(labels.sentences)
    for s in (0, 7, 31):
        alone = model.predict_proba(labels.sentences[s])
        np.testing.assert_allclose(alone, whole[labels.sentences.tokens_of(s)], atol=1e-5)


def test_network_and_labels_together_make_entities(name, small, fitted):
    labels, _ = small
    together = fitted(name).infer(labels, labels)
    alignment = np.split(together.tags, labels.sentences.offsets[1:-1])
    assert all(is_valid_bio([str(tag) for tag in tags]) for tags in alignment)
    assert ((together.span_confidence > 0) & (together.span_confidence <= 1)).all()


def test_the_smallest_crowds_work(name):
    sentences = Sentences.from_lists([["Anna", "ran"], ["yes"]])
    tags = [["B-PER", "O"], ["O"]]
    labels = crowd(sentences, tags, right=(1.0,), per_sentence=1)
    found = fit(name, labels, tags).predict([["Anna"], ["never", "seen", "words"]])
    assert [len(each) for each in found] == [1, 3]


def test_tokens_and_sentences_without_labels_are_no_danger(name, small):
    labels, tags = small
    ann = labels.annotations
    kept = (ann.item % 7 != 3) & (labels.sentences.sentence_of_token[ann.item] % 5 != 2)
    part = TokenLabels(labels.sentences, ann.only(kept))
    found = fit(name, part, tags).predict(labels.sentences)
    assert sum(len(each) for each in found) == labels.sentences.n_tokens


@pytest.mark.slow
@pytest.mark.parametrize("method", ["crowd-layer-mw", "em", "crf-ma", "two-stage-dawid-skene"])
def test_entities_are_learnt_from_people_who_err(method):
    sentences, tags = written(120)
    labels = crowd(sentences, tags)
    unseen, truth = written(60, seed=9)
    how = {"epochs": 60 if method == "crf-ma" else 25, "learning_rate": 0.02, "warm_up": 2}
    model = fit(method, labels, tags, **how)
    assert model.score(unseen, truth) > 0.9
    right = np.einsum("akk->ak", model.confusion_).mean(axis=1)
    assert right[0] > right[3] > right[4]


def test_words_are_known_by_vectors_that_stay_fixed():
    sentences, tags = written(100)
    labels = crowd(sentences, tags, right=(1.0, 1.0), per_sentence=1)
    rng = np.random.default_rng(0)
    words = [*PEOPLE, "Gina", *PLACES, "Quito", *OTHERS]
    kind = np.repeat(np.eye(3), [7, 7, 8], axis=0) + 0.1 * rng.normal(size=(22, 3))
    vectors = WordVectors(np.array(words, dtype=object), kind.astype(np.float32))
    model = mh.CrowdTagger(
        tiny,
        word_vectors=vectors,
        freeze_embeddings=True,
        epochs=40,
        learning_rate=0.02,
        progress=False,
    ).fit(labels, labels)
    assert model.predict([["Gina", "left", "Quito"]]) == [["B-PER", "O", "B-LOC"]]
    table = model.encoder_.table
    start = torch.from_numpy(table.vectors)
    assert torch.equal(model.network_.words.weight, start)


def test_bad_requests_are_refused(small):
    labels, tags = small
    with pytest.raises(SettingError, match="method must be for tagging; got raykar"):
        fit("raykar", labels, tags)
    with pytest.raises(SettingError, match="method must be for classification; got crf-ma"):
        mh.CrowdClassifier(method="crf-ma").fit([[0.0], [1.0]], Annotations.from_dense([[0], [1]]))
    with pytest.raises(DataError, match="items are no tokens of these sentences"):
        mh.CrowdTagger(**QUICK).fit(labels.sentences[1:], labels.annotations)
    with pytest.raises(DataError, match="sentences must be Sentences"):
        mh.CrowdTagger(**QUICK).fit(["a text"], labels.annotations)
    with pytest.raises(SettingError, match="freeze_embeddings must be False without word_vectors"):
        mh.CrowdTagger(**QUICK, freeze_embeddings=True).fit(labels, labels)
    model = fit("two-stage-majority", labels, tags, epochs=1)
    with pytest.raises(DataError, match="other sentences, or of other lengths"):
        model.score(labels, [["O"]])


def test_without_the_rule_tags_may_be_anything(small, fitted):
    labels, _ = small
    model = fit("two-stage-majority", labels, None, valid_bio=False)
    found = [tag for each in model.predict(labels) for tag in each]
    assert found == model.classes_[model.predict_proba(labels).argmax(axis=1)].tolist()


def test_labels_find_their_tokens_by_name(small):
    labels, tags = small
    again = Annotations.from_frame(labels.annotations.to_frame(), classes=TAGS)
    assert again.items.tolist() != labels.annotations.items.tolist()  # they are sorted as words
    one, other = (
        fit("two-stage-majority", TokenLabels(labels.sentences, labels.annotations), tags)
        .infer(labels.sentences, each)
        .tags
        for each in (labels.annotations, again)
    )
    assert one.tolist() == other.tolist()
    direct = mh.aggregate_tokens(labels.sentences, labels.annotations, "majority").tags
    assert mh.aggregate_tokens(labels.sentences, again, "majority").tags.tolist() == direct.tolist()
    model = mh.CrowdTagger(method="crf-ma", progress=False).fit(labels.sentences, again)
    assert model.score(labels.sentences, direct.tolist()) > 0.5
    frame = labels.annotations.to_frame()
    frame.loc[0, "item"] = "99:0"
    strange = Annotations.from_frame(frame)
    with pytest.raises(DataError, match="1 items are no tokens of these sentences: 99:0"):
        mh.aggregate_tokens(labels.sentences, strange)


def test_labels_of_other_sentences_are_refused(small):
    labels, _ = small
    with pytest.raises(DataError, match="other sentences"):
        mh.CrowdTagger(progress=False).fit(labels.sentences[::-1], labels)


def test_scikit_learn_scores_against_what_most_people_said(small):
    labels, _ = small
    model = mh.CrowdTagger(method="crf-ma", progress=False)
    found = cross_val_score(model, labels.sentences, labels, cv=2)
    assert np.isfinite(found).all()
    model.fit(labels.sentences, labels)
    most = mh.aggregate_tokens(labels.sentences, labels.annotations, "majority").tags
    assert model.score(labels.sentences, labels) == model.score(labels.sentences, most)
    bare = labels.annotations.only(labels.annotations.item < 0)
    with pytest.raises(DataError, match="not one sentence"):
        model.score(labels.sentences, TokenLabels(labels.sentences, bare))


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        mh.CrowdTagger().predict([["Anna"]])
