"""Small CRFs whose sequences can be enumerated, and crowds that tag simulated sentences."""

import itertools
from typing import NamedTuple

import numpy as np

from manyhands.aggregation.kernels.linear_chain import (
    Transitions,
    as_offsets,
    expect,
    log_partition,
)
from manyhands.annotations import Annotations
from manyhands.methods.crf.crowd_sequences import Sequences, restrict_scores
from manyhands.methods.crf.fitting import CrfObjective, CrfWeights, as_token_features


class Fitted(NamedTuple):
    """The weights and their penalised log-likelihood."""

    weights: CrfWeights
    objective: float


class Case(NamedTuple):
    """Scores of tokens, offsets of sentences, and transitions."""

    score_tk: np.ndarray
    offsets: np.ndarray
    transitions: Transitions


def random_case(seed, sizes=(3, 1, 0, 4), n_tags=3, spread=2.0, transition_spread=2.0):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    score_tk = spread * rng.normal(size=(offsets[-1], n_tags))
    return Case(score_tk, offsets, random_transitions(seed, n_tags, transition_spread))


def random_transitions(seed, n_tags, spread):
    rng = np.random.default_rng([seed, 1])
    return Transitions(
        spread * rng.normal(size=(n_tags, n_tags)),
        spread * rng.normal(size=n_tags),
        spread * rng.normal(size=n_tags),
    )


def score_of(score_tk, transitions, tags):
    """Score(y) of one sentence, by its definition."""
    if len(tags) == 0:
        return 0.0
    total = transitions.start_k[tags[0]] + transitions.end_k[tags[-1]]
    total += sum(score_tk[t, tag] for t, tag in enumerate(tags))
    return total + sum(transitions.transition_kk[j, k] for j, k in itertools.pairwise(tags))


def sentences(case):
    """The score rows of every sentence."""
    return [case.score_tk[a:b] for a, b in itertools.pairwise(case.offsets)]


def every_sequence(score_tk, transitions):
    """All sequences of a sentence and their scores."""
    tags = list(itertools.product(range(transitions.n_tags), repeat=len(score_tk)))
    return tags, np.array([score_of(score_tk, transitions, each) for each in tags])


def log_probability(score_tk, offsets, transitions, tag_t):
    """Log p(y_s | x_s) of every sentence; tokens with tag -1 are summed over."""
    known_s = log_partition(restrict_scores(score_tk, tag_t), offsets, transitions)
    return known_s - log_partition(score_tk, offsets, transitions)


def likely_tags(weights, features, offsets):
    """The most probable tag of every token."""
    score_tk = weights.token_scores(features)
    return expect(score_tk, offsets, weights.transitions).marginal_tk.argmax(axis=1)


def tag_targets(tag_t, offsets, crf, weight_s):
    """Targets of tags that are all known."""
    pieces = np.split(np.asarray(tag_t, dtype=np.int32), offsets[1:-1])
    sequences = Sequences.of(np.arange(len(pieces)), pieces, offsets)
    zero_tk = np.zeros((len(tag_t), crf.zeros.transitions.n_tags))
    return sequences.targets(zero_tk, offsets, crf.zeros.transitions, weight_s)


def fit_crf(features, offsets, tag_t, n_tags, *, weight_s=None, start=None, max_iter=200, tol=1e-7):
    """A CRF on known tags; sentence s counts `weight_s[s]` times."""
    features_tj = as_token_features(features)
    offsets = as_offsets(offsets, features_tj.shape[0])
    crf = CrfObjective(features_tj, offsets, n_tags, l2=1.0)
    targets = tag_targets(
        tag_t, offsets, crf, np.ones(len(offsets) - 1) if weight_s is None else weight_s
    )
    weights = crf.ascend(start or crf.zeros, targets, max_steps=max_iter, tol=tol)
    counts = crf.counts(targets.tag_tk, targets.pair_kk).flat()
    objective, _ = crf.value_and_gradient(weights.flat(), counts, targets.weight_s)
    return Fitted(weights, objective)


class TaggedCrowd(NamedTuple):
    """Features, offsets, true tags, the labels, and which annotators are bad."""

    features: np.ndarray
    offsets: np.ndarray
    truth: np.ndarray
    annotations: Annotations
    bad: np.ndarray


def tagged_crowd(seed, n_sentences=120, n_annotators=9, n_bad=4, n_tags=3, per_sentence=4):
    """Tags depend on noisy features and their neighbours; bad annotators tag at random.

    Good annotators give a wrong tag to one in ten tokens.
    """
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 9, n_sentences))))
    transitions = Transitions(3.0 * np.eye(n_tags), np.zeros(n_tags), np.zeros(n_tags))
    truth = np.empty(offsets[-1], dtype=int)
    for begin, end in itertools.pairwise(offsets):
        truth[begin] = rng.integers(n_tags)
        for t in range(begin + 1, end):
            truth[t] = (transitions.transition_kk[truth[t - 1]] + rng.gumbel(size=n_tags)).argmax()
    features = 1.5 * np.eye(n_tags)[truth] + rng.normal(size=(len(truth), n_tags))
    token, annotator, label = [], [], []
    for begin, end in itertools.pairwise(offsets):
        for a in rng.permutation(n_annotators)[:per_sentence]:
            careless = rng.random(end - begin) < (1.0 if a < n_bad else 0.1)
            tags = np.where(careless, rng.integers(0, n_tags, end - begin), truth[begin:end])
            token.extend(range(begin, end))
            annotator.extend([a] * (end - begin))
            label.extend(tags)
    annotations = Annotations.from_arrays(
        token, annotator, label, items=range(len(truth)), annotators=range(n_annotators),
        classes=range(n_tags),
    )  # fmt: skip
    return TaggedCrowd(features, offsets, truth, annotations, np.arange(n_annotators) < n_bad)
