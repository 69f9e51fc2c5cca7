"""BSC-CRF: laws of its fit, and crowds that it learns from."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.aggregation.kernels.linear_chain import expect, log_partition
from manyhands.annotations import Annotations, Sentences, TokenLabels
from manyhands.core.errors import SettingError
from manyhands.methods.crf.bsc_crf import fit_bsc_crf
from manyhands.methods.crf.network import CrfEncoder

TAGS = ["O", "B-PER", "I-PER"]
NAMES, OTHERS = ["Anna", "Ben", "Carla", "Dora"], ["went", "saw", "left", "then"]


def crowd(n_sentences=40, seed=0, unlabelled=0):
    rng = np.random.default_rng(seed)
    words, truth = [], []
    for _ in range(n_sentences):
        sentence, tags = [], []
        for _ in range(rng.integers(1, 4)):
            sentence.append(str(rng.choice(OTHERS)))
            tags.append(0)
            n_names = int(rng.integers(0, 3))
            sentence += rng.choice(NAMES, n_names).tolist()
            tags += [1, 2][:n_names]
        words.append(sentence)
        truth.append(tags)
    sentences = Sentences.from_lists(words)
    flat = np.concatenate(truth)
    token, who, said = [], [], []
    for a, right in enumerate((0.9, 0.75, 0.6)):
        for t in range(sentences.offsets[n_sentences - unlabelled]):
            token.append(t)
            who.append(a)
            said.append(flat[t] if rng.uniform() < right else rng.integers(0, 3))
    return TokenLabels.from_codes(sentences, token, who, said, ["u", "v", "w"], TAGS), flat


def fitted(labels, **settings):
    _, inputs = CrfEncoder.fit_transform(labels.sentences)
    return fit_bsc_crf(inputs.matrix, inputs.offsets, labels.annotations, **settings), inputs


def test_the_objective_never_falls():
    fit, _ = fitted(crowd()[0], max_iter=15, tol=0.0, steps=3)
    assert len(fit.objective) == 15
    assert (np.diff(fit.objective) >= -1e-7 * np.abs(fit.objective[:-1])).all()


def test_the_objective_is_the_bound_of_the_docstring():
    labels, _ = crowd(8)
    first, inputs = fitted(labels, max_iter=1, tol=0.0)
    second, _ = fitted(labels, max_iter=2, tol=0.0)
    # The second value is that of the state after one step, which is what `first` ended with.
    log_alpk, divergence = first.confusions.expected_log
    ann, offsets = labels.annotations, inputs.offsets
    score = first.weights.token_scores(inputs.matrix)
    evidence, said = np.zeros_like(score), {}
    for i, a, y in zip(ann.item, ann.annotator, ann.label, strict=True):
        said[i, a] = y
    for (i, a), y in said.items():
        p = 3 if i in offsets else said.get((i - 1, a), 3)
        evidence[i] += log_alpk[a, y, p]
    links = first.weights.transitions
    bound = (
        log_partition(score + evidence, offsets, links) - log_partition(score, offsets, links)
    ).sum()
    bound -= divergence + 0.5 * np.square(first.weights.flat()).sum()
    assert second.objective[1] == pytest.approx(bound)
    tags = expect(score + evidence, offsets, links).marginal_tk
    np.testing.assert_allclose(first.tag_tk, tags, atol=1e-9)


def test_sentences_without_labels_have_no_effect():
    labels, _ = crowd(unlabelled=10)
    some = labels[:30]
    matrix = CrfEncoder.fit_transform(labels.sentences)[1].matrix
    whole = fit_bsc_crf(matrix, labels.sentences.offsets, labels.annotations, max_iter=3)
    part = fit_bsc_crf(
        matrix[: some.sentences.n_tokens], some.sentences.offsets, some.annotations, max_iter=3
    )
    np.testing.assert_allclose(whole.weights.flat(), part.weights.flat(), atol=1e-6)
    np.testing.assert_allclose(whole.objective, part.objective, rtol=1e-9)


def test_it_learns_words_and_annotators():
    labels, truth = crowd(80)
    model = mh.CrowdTagger(method="bsc-crf", progress=False).fit(labels, labels)
    test, test_truth = crowd(40, seed=9)
    names = [TAGS[k] for k in test_truth]
    assert model.score(test.sentences, names) > 0.95
    right = np.einsum("akk->a", model.confusion_) / 3
    assert right[0] > right[1] > right[2]
    joint = model.infer(labels.sentences, labels).tokens.probabilities.argmax(axis=1)
    assert np.mean(joint == truth) > 0.95


def test_settings_are_checked():
    with pytest.raises(SettingError, match="steps must be >= 1; got 0"):
        fitted(crowd(4)[0], steps=0)
    with pytest.raises(SettingError, match="tol must be >= 0; got -1"):
        fitted(crowd(4)[0], tol=-1)


def test_a_sentence_without_words_is_allowed():
    ann = Annotations.from_arrays([0, 1], [0, 0], ["B-PER", "O"], classes=TAGS)
    matrix = np.eye(2)
    fit = fit_bsc_crf(matrix, [0, 0, 2, 2], ann, max_iter=2)
    assert fit.tag_tk.argmax(axis=1).tolist() == [1, 0]
