"""Inference in a linear chain: log-partitions and marginals.

Sentence s has rows offsets[s] up to offsets[s + 1] of the scores. A score of minus infinity
excludes a tag, which restricts a sum to some of the sequences.

If the transitions differ by little enough that no precision is lost, the fast scaled recursion is
used, otherwise the recursion in logarithms. Cost: tokens x K x K operations.
"""

import numpy as np

from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.kernels import even_blocks, run_blocks
from manyhands.methods.crf.kernels import (
    MAX_LINK_RANGE,
    Chains,
    CrfExpectation,
    Transitions,
    log_expect_block,
    log_partition_block,
    scaled_expect_block,
    scaled_partition_block,
)
from manyhands.methods.crf.weights import as_offsets

UNKNOWN = -1  # the code of a tag that is not known
_MAX_BLOCKS = 16


def log_partition(score_tk: Floats, offsets: Offsets, transitions: Transitions) -> Floats:
    """The log of the sum of exp score(y) over all sequences y of every sentence.

    >>> log_partition(np.zeros((3, 2)), np.array([0, 1, 3]), Transitions.zeros(2)).round(4).tolist()
    [0.6931, 1.3863]
    """
    chains = Chains(as_offsets(offsets, len(score_tk)), score_tk, transitions)
    log_partition_s = np.empty(len(chains.offsets) - 1)
    sum_block = scaled_partition_block if _is_narrow(transitions) else log_partition_block

    def work(block: tuple[int, int]) -> None:
        sum_block(*block, chains, log_partition_s)

    run_blocks(work, even_blocks(chains.offsets, _MAX_BLOCKS))
    return log_partition_s


def expect(
    score_tk: Floats, offsets: Offsets, transitions: Transitions, weight_s: Floats | None = None
) -> CrfExpectation:
    """Expectations under the distribution of the tag sequences of every sentence.

    Sentence s counts `weight_s[s]` times in `pair_kk`, and once without weights. A sentence without
    a possible sequence has a log-partition of minus infinity and marginals of 0.
    """
    chains = Chains(as_offsets(offsets, len(score_tk)), score_tk, transitions)
    n_sentences, pair_shape = len(chains.offsets) - 1, transitions.transition_kk.shape
    weights = np.ones(n_sentences) if weight_s is None else weight_s
    log_partition_s, marginal_tk = np.empty(n_sentences), np.zeros(score_tk.shape)
    expect_block = scaled_expect_block if _is_narrow(transitions) else log_expect_block

    def work(block: tuple[int, int]) -> Floats:
        expected = CrfExpectation(log_partition_s, marginal_tk, np.zeros(pair_shape))
        expect_block(*block, chains, weights, expected)
        return expected.pair_kk

    parts = run_blocks(work, even_blocks(chains.offsets, _MAX_BLOCKS))
    return CrfExpectation(log_partition_s, marginal_tk, np.sum(parts, axis=0))


def restrict_scores(score_tk: Floats, tag_t: Codes) -> Floats:
    """The scores where every other tag of a token with a known tag is excluded."""
    n_tags = score_tk.shape[1]
    possible_tk = (tag_t[:, None] == UNKNOWN) | (tag_t[:, None] == np.arange(n_tags))
    return np.where(possible_tk, score_tk, -np.inf)


def _is_narrow(transitions: Transitions) -> bool:
    """Whether the finite scores of each kind differ by at most `MAX_LINK_RANGE`."""
    return all(float(each.max()) - float(each.min()) <= MAX_LINK_RANGE for each in transitions)
