"""Sums over all sequences of tags: log-partitions, marginals, expected transitions.

Sentences are runs of tokens: sentence s has rows offsets[s] up to offsets[s + 1] of the scores. A
score of minus infinity rules a tag out, which is how a sum over some sequences only is made.

Where links differ by little enough that nothing of weight can be lost, the fast recursion of
`scaled_sums` does it, otherwise the plain one of `log_sums`. Cost: tokens x K x K operations.
"""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import Floats, Offsets
from manyhands.core.kernels import even_blocks, run_blocks
from manyhands.methods.crf.log_sums import log_expect_block, log_partition_block
from manyhands.methods.crf.scaled_sums import WIDEST, scaled_expect_block, scaled_partition_block
from manyhands.methods.crf.weights import Links, as_offsets

_MOST_BLOCKS = 16


@dataclass(frozen=True)
class ChainExpectation:
    """Log-partitions of sentences, probabilities of the tags of tokens, sums over tag pairs.

    Row j of `pair_kk` has the expected number of tags k that follow a tag j.
    """

    log_partition_s: Floats
    marginal_tk: Floats
    pair_kk: Floats


def log_partition(score_tk: Floats, offsets: Offsets, links: Links) -> Floats:
    """The log of the sum of exp score(y) over all sequences y of every sentence.

    >>> log_partition(np.zeros((3, 2)), np.array([0, 1, 3]), Links.zeros(2)).round(4).tolist()
    [0.6931, 1.3863]
    """
    offsets = as_offsets(offsets, len(score_tk))
    log_partition_s = np.empty(len(offsets) - 1)
    sum_block = scaled_partition_block if _narrow(links) else log_partition_block

    def work(block: tuple[int, int]) -> None:
        sum_block(
            *block,
            offsets,
            score_tk,
            links.start_k,
            links.end_k,
            links.transition_kk,
            log_partition_s,
        )

    run_blocks(work, even_blocks(offsets, _MOST_BLOCKS))
    return log_partition_s


def expect(
    score_tk: Floats, offsets: Offsets, links: Links, weight_s: Floats | None = None
) -> ChainExpectation:
    """What to expect of a sequence drawn from the chain, for every sentence.

    Sentences count `weight_s` times in `pair_kk`, and once where no weights are given. A sentence
    of which no sequence is possible has a log-partition of minus infinity and marginals of 0.
    """
    offsets = as_offsets(offsets, len(score_tk))
    n_sentences, n_tags = len(offsets) - 1, links.n_tags
    weight_s = np.ones(n_sentences) if weight_s is None else weight_s
    log_partition_s, marginal_tk = np.empty(n_sentences), np.zeros(score_tk.shape)
    expect_block = scaled_expect_block if _narrow(links) else log_expect_block

    def work(block: tuple[int, int]) -> Floats:
        pair_kk = np.zeros((n_tags, n_tags))
        expect_block(
            *block,
            offsets,
            score_tk,
            links.start_k,
            links.end_k,
            links.transition_kk,
            weight_s,
            log_partition_s,
            marginal_tk,
            pair_kk,
        )
        return pair_kk

    parts = run_blocks(work, even_blocks(offsets, _MOST_BLOCKS))
    return ChainExpectation(log_partition_s, marginal_tk, np.sum(parts, axis=0))


def _narrow(links: Links) -> bool:
    """Whether no link is more than `WIDEST` above another of its kind; never with infinite ones."""
    kinds = (links.transition_kk, links.start_k, links.end_k)
    return all(float(each.max()) - float(each.min()) <= WIDEST for each in kinds)
