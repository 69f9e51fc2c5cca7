"""Inference in a linear chain: log-partitions, marginals, probabilities of tags, best tags.

Sentence s has rows offsets[s] up to offsets[s + 1] of the scores. A score of minus infinity
excludes a tag, which restricts a sum to some of the sequences.

If the transitions differ by little enough that no precision is lost, the fast scaled recursion is
used, otherwise the recursion in logarithms. Cost: tokens x K x K operations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyhands.annotations import allowed_starts, allowed_transitions
from manyhands.core.arrays import Bools, Codes, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.kernels import even_blocks, run_blocks
from manyhands.methods.crf.kernels import (
    MAX_LINK_RANGE,
    log_expect_block,
    log_partition_block,
    scaled_expect_block,
    scaled_partition_block,
    viterbi_block,
)
from manyhands.methods.crf.weights import Transitions, as_offsets

UNKNOWN = -1  # the code of a tag that is not known
_MAX_BLOCKS = 16


@dataclass(frozen=True)
class CrfExpectation:
    """Log-partitions of sentences, tag probabilities of tokens, sums over pairs of tags.

    Row j of `pair_kk` has the expected number of tags k that follow a tag j.
    """

    log_partition_s: Floats
    marginal_tk: Floats
    pair_kk: Floats


def log_partition(score_tk: Floats, offsets: Offsets, transitions: Transitions) -> Floats:
    """The log of the sum of exp score(y) over all sequences y of every sentence.

    >>> log_partition(np.zeros((3, 2)), np.array([0, 1, 3]), Transitions.zeros(2)).round(4).tolist()
    [0.6931, 1.3863]
    """
    offsets = as_offsets(offsets, len(score_tk))
    log_partition_s = np.empty(len(offsets) - 1)
    sum_block = scaled_partition_block if _is_narrow(transitions) else log_partition_block

    def work(block: tuple[int, int]) -> None:
        sum_block(
            *block,
            offsets,
            score_tk,
            transitions.start_k,
            transitions.end_k,
            transitions.transition_kk,
            log_partition_s,
        )

    run_blocks(work, even_blocks(offsets, _MAX_BLOCKS))
    return log_partition_s


def expect(
    score_tk: Floats, offsets: Offsets, transitions: Transitions, weight_s: Floats | None = None
) -> CrfExpectation:
    """Expectations under the distribution of the tag sequences of every sentence.

    Sentence s counts `weight_s[s]` times in `pair_kk`, and once without weights. A sentence without
    a possible sequence has a log-partition of minus infinity and marginals of 0.
    """
    offsets = as_offsets(offsets, len(score_tk))
    n_sentences, n_tags = len(offsets) - 1, transitions.n_tags
    weight_s = np.ones(n_sentences) if weight_s is None else weight_s
    log_partition_s, marginal_tk = np.empty(n_sentences), np.zeros(score_tk.shape)
    expect_block = scaled_expect_block if _is_narrow(transitions) else log_expect_block

    def work(block: tuple[int, int]) -> Floats:
        pair_kk = np.zeros((n_tags, n_tags))
        expect_block(
            *block,
            offsets,
            score_tk,
            transitions.start_k,
            transitions.end_k,
            transitions.transition_kk,
            weight_s,
            log_partition_s,
            marginal_tk,
            pair_kk,
        )
        return pair_kk

    parts = run_blocks(work, even_blocks(offsets, _MAX_BLOCKS))
    return CrfExpectation(log_partition_s, marginal_tk, np.sum(parts, axis=0))


def log_probability(
    score_tk: Floats, offsets: Offsets, transitions: Transitions, tag_t: Codes
) -> Floats:
    """Log p(y_s | x_s) of every sentence; tokens with tag -1 are summed over.

    >>> tags, no_transitions = np.array([0, -1, 1], dtype=np.int32), Transitions.zeros(2)
    >>> log_probability(np.zeros((3, 2)), np.array([0, 3]), no_transitions, tags).round(4).tolist()
    [-1.3863]
    """
    known_s = log_partition(restrict_scores(score_tk, tag_t), offsets, transitions)
    return np.asarray(known_s - log_partition(score_tk, offsets, transitions))


def restrict_scores(score_tk: Floats, tag_t: Codes) -> Floats:
    """The scores where every other tag of a token with a known tag is excluded."""
    n_tags = score_tk.shape[1]
    possible_tk = (tag_t[:, None] == UNKNOWN) | (tag_t[:, None] == np.arange(n_tags))
    return np.where(possible_tk, score_tk, -np.inf)


@dataclass(frozen=True)
class TagRules:
    """Which tag may follow which (row: the earlier one), and which tag may come first."""

    transition_kk: Bools
    start_k: Bools


def bio_rules(tags: Sequence[str]) -> TagRules:
    """Rules of BIO tags: I-X follows B-X or I-X only, and is never the first tag.

    >>> rules = bio_rules(["O", "B-LOC", "I-LOC"])
    >>> rules.start_k.tolist(), rules.transition_kk[:, 2].tolist()
    ([True, True, False], [False, True, True])
    """
    return TagRules(allowed_transitions(tags), allowed_starts(tags))


def best_tags(
    score_tk: Floats, offsets: Offsets, transitions: Transitions, rules: TagRules | None = None
) -> Codes:
    """The sequence with the greatest score(y) of every sentence, by Viterbi's algorithm.

    Of equal sequences the one whose last tag has the lowest code is returned, then the one whose
    last but one has.

    >>> score_tk = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> best_tags(score_tk, np.array([0, 2]), Transitions.zeros(2)).tolist()
    [1, 0]
    """
    offsets = as_offsets(offsets, len(score_tk))
    if rules is not None:
        transitions = transitions.restricted(rules.transition_kk, rules.start_k)
    tag_t, best_s = np.empty(len(score_tk), dtype=np.int32), np.empty(len(offsets) - 1)

    def work(block: tuple[int, int]) -> None:
        viterbi_block(
            *block,
            offsets,
            score_tk,
            transitions.start_k,
            transitions.end_k,
            transitions.transition_kk,
            tag_t,
            best_s,
        )

    run_blocks(work, even_blocks(offsets, _MAX_BLOCKS))
    if np.isneginf(best_s).any():
        s = int(np.flatnonzero(np.isneginf(best_s))[0])
        raise DataError(
            f"sentence {s} of {offsets[s + 1] - offsets[s]} tokens has no sequence of tags that "
            "is allowed; allow more transitions or first tags"
        )
    return tag_t


def _is_narrow(transitions: Transitions) -> bool:
    """Whether the finite scores of each kind differ by at most `MAX_LINK_RANGE`."""
    kinds = (transitions.transition_kk, transitions.start_k, transitions.end_k)
    return all(float(each.max()) - float(each.min()) <= MAX_LINK_RANGE for each in kinds)
