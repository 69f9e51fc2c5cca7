"""Cross-fitting of texts and of the tokens of sentences."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import manyhands as mh
from manyhands.annotations import Sentences, TokenLabels
from manyhands.engine.features import EncoderOptions
from manyhands.engine.text import TextEncoder
from manyhands.methods import CrossFitted
from manyhands.methods.cross_fit.feature_rows import feature_rows
from manyhands.methods.cross_fit.smoothers import RIDGES, FoldSmoother

TAGS = ["O", "B-PER"]
NAMES, WORDS = ["Anna", "Berta", "Carla"], ["sings", "runs", "sleeps", "and", "then"]


@pytest.fixture(scope="module")
def tagged():
    """Sentences with names, and 6 annotators who overlook half of them; the true tags."""
    rng = np.random.default_rng(0)
    sentences = [
        [str(rng.choice(NAMES if rng.random() < 0.3 else WORDS)) for _ in range(5)]
        for _ in range(60)
    ]
    flat = [word for each in sentences for word in each]
    truth = np.array([int(word in NAMES) for word in flat])
    token = np.repeat(np.arange(300), 3)
    annotator = rng.permuted(np.tile(np.arange(6), (300, 1)), axis=1)[:, :3].ravel()
    label = truth[token] * (rng.random(900) < 0.5)
    offsets = np.arange(0, 301, 5)
    given = Sentences.from_tokens(flat, offsets)
    return TokenLabels.from_codes(given, token, annotator, label, range(6), TAGS), truth


def test_a_fold_is_predicted_by_the_others():
    rng = np.random.default_rng(1)
    features, target = rng.normal(size=(24, 3)), rng.dirichlet(np.ones(2), size=24)
    fold = np.repeat(np.arange(4), 6)
    found = FoldSmoother(features, fold).left_out(target)
    assert found.shape == (len(RIDGES), 24, 2)
    for number in range(4):
        others = features[fold != number]
        size = np.square(others - others.mean(axis=0)).sum() / len(others)
        for m, ridge in enumerate(RIDGES):
            model = Ridge(alpha=ridge * size).fit(others, target[fold != number])
            wanted = model.predict(features[fold == number])
            assert found[m, fold == number] == pytest.approx(wanted)


def test_tokens_of_one_sentence_do_not_teach_each_other():
    rng = np.random.default_rng(2)
    features, target = rng.normal(size=(12, 2)), rng.dirichlet(np.ones(2), size=12)
    smoother = FoldSmoother(features, np.repeat([0, 1, 2], 4))
    changed = target.copy()
    changed[:4] = [1.0, 0.0]
    before, after = smoother.left_out(target), smoother.left_out(changed)
    assert after[:, :4] == pytest.approx(before[:, :4], abs=1e-12)
    assert not np.allclose(after[:, 4:], before[:, 4:], atol=1e-6)
    alone = FoldSmoother(features[:4], np.zeros(4, dtype=int)).left_out(target[:4])
    assert (alone == 0.5).all()


def test_a_token_has_the_words_around_it():
    sentences = Sentences.from_tokens(["a", "b", "c", "b"], np.array([0, 3, 4]))
    inputs = TextEncoder.fit_transform(sentences, EncoderOptions(), tokens=True)[1]
    rows = feature_rows(inputs, 0)
    assert len(rows) == 4
    assert not np.allclose(rows[1], rows[3])  # the same word beside others
    twice = Sentences.from_tokens(["a", "b", "c", "a", "b", "c"], np.array([0, 3, 6]))
    inputs = TextEncoder.fit_transform(twice, EncoderOptions(), tokens=True)[1]
    rows = feature_rows(inputs, 0)
    assert rows[:3] == pytest.approx(rows[3:], abs=1e-9)


def test_words_tell_the_classes_of_texts():
    rng = np.random.default_rng(3)
    moods = [["good", "great", "fine"], ["bad", "poor", "awful"]]
    truth = rng.integers(2, size=100)
    texts = [" ".join(rng.choice(moods[k], size=4)) for k in truth]
    item = np.repeat(np.arange(100), 3)
    said = np.where(rng.random(300) < 0.4, truth[item], rng.integers(2, size=300))
    ann = mh.Annotations.from_arrays(item, np.tile(range(3), 100), said)
    assert (mh.aggregate(ann, method="majority").labels == truth).mean() < 0.85
    assert (mh.consensus(texts, ann).labels == truth).mean() > 0.97
    clf = mh.CrowdClassifier(method="cross-fit", epochs=30, learning_rate=0.01, progress=False)
    assert (clf.fit(texts, ann).predict(texts) == truth).mean() > 0.9


def test_words_tell_the_tags_that_annotators_overlook(tagged):
    labels, truth = tagged
    wanted = np.array(TAGS, dtype=object)[truth]
    majority = mh.aggregation.aggregate_tokens(labels.sentences, labels.annotations, "majority")
    found = mh.consensus(labels, labels)
    assert (majority.tags == wanted).mean() < 0.9
    assert (found.tags == wanted).mean() > 0.97
    same = mh.consensus(labels, labels, learner=mh.CrowdTagger(method="cross-fit", progress=False))
    assert same.tags.tolist() == found.tags.tolist()


def test_a_tagger_learns_the_consensus(tagged):
    labels, truth = tagged
    for transitions in ("none", "learned"):
        tagger = mh.CrowdTagger(
            method="cross-fit", transitions=transitions, epochs=30, learning_rate=0.01,
            batch_size=64, progress=False,
        )  # fmt: skip
        tagger.fit(labels, labels)
        tags = np.array([tag for each in tagger.predict(labels) for tag in each])
        assert (tags == np.array(TAGS)[truth]).mean() > 0.95


def test_a_network_may_judge_sentences_it_has_not_seen(tagged):
    labels, truth = tagged
    tagger = mh.CrowdTagger(
        method=CrossFitted(learner="network", max_iter=1, n_folds=3), epochs=15,
        learning_rate=0.02, batch_size=64, validation_fraction=0.0, progress=False,
    )  # fmt: skip
    found = mh.consensus(labels, labels, learner=tagger)
    assert (found.tags == np.array(TAGS)[truth]).mean() > 0.9
