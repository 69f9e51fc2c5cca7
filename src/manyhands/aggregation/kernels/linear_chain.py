"""Inference in a linear chain: log-partitions and marginals, by recursions over sentences.

Sentence s has rows offsets[s] up to offsets[s + 1] of the scores. A score of minus infinity
excludes a tag, which restricts a sum to some of the sequences. If the transitions differ by little
enough that no precision is lost, the fast scaled recursion is used, otherwise the recursion in
logarithms. Cost: tokens x K x K operations.

A compiled function takes sentences `first` up to `last` and writes into its last arguments. A row
of `score` belongs to a token; `link[j, k]` is the score of a tag k that follows a tag j.

The scaled sums work in probabilities that are divided by their sum at every token. A token takes K
exponentials and one logarithm, where sums in logarithms take K x K. With emission
e[t, k] = exp(score[t, k] - greatest score of t) and factor f[j, k] = exp(link[j, k] - greatest
link)::

    alpha[t, k] = e[t, k] sum_j alpha[t-1, j] f[j, k] / c[t]       c[t] such that they sum to 1
    beta[t, j] = sum_k f[j, k] e[t+1, k] beta[t+1, k] / c[t+1]     p(tag k at t) = alpha beta

They lose nothing if the links of a kind differ by at most `_MAX_LINK_RANGE`. The rest of a sentence
depends on a tag through one link, so that two betas of a token differ at most by a factor of
exp(_MAX_LINK_RANGE), and c[t] is at least exp(-_MAX_LINK_RANGE). An alpha that underflows, 1e-308,
can then belong to no probability above 1e-100, and no beta overflows.

The sums in logarithms are right for any scores and links, also infinite ones. log_alpha[t, k] is
the log of the sum over all beginnings that end in tag k at token t, log_beta[k] that over all
endings after a tag k, and ::

    p(tag j at t, tag k at t+1) = exp(log_alpha[t, j] + link[j, k] + score[t+1, k] + log_beta[k]
                                      - log_z)
"""

from typing import Any, NamedTuple

import numpy as np

from manyhands.core.arrays import AnyArray, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.kernels import even_blocks, kernel, run_blocks

_MAX_LINK_RANGE = 200.0  # the greatest less the smallest link of a kind; exp(200) is 1e87
_MAX_BLOCKS = 16


class Transitions(NamedTuple):
    """Scores of neighbouring tags (row: the earlier one), of first tags and of last tags."""

    transition_kk: Floats
    start_k: Floats
    end_k: Floats

    @classmethod
    def zeros(cls, n_tags: int) -> "Transitions":
        """All scores are 0.

        >>> Transitions.zeros(2).n_tags
        2
        """
        return cls(np.zeros((n_tags, n_tags)), np.zeros(n_tags), np.zeros(n_tags))

    @property
    def n_tags(self) -> int:
        """Number of tags."""
        return len(self.start_k)


class Chains(NamedTuple):
    """Where sentences begin, the scores (t, k) of their tokens, and the links of all."""

    offsets: Offsets
    score: Floats
    links: Transitions


class CrfExpectation(NamedTuple):
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
    return expect(score_tk, offsets, transitions, marginals=False).log_partition_s


def expect(
    score_tk: Floats,
    offsets: Offsets,
    transitions: Transitions,
    weight_s: Floats | None = None,
    *,
    marginals: bool = True,
) -> CrfExpectation:
    """Expectations under the distribution of the tag sequences of every sentence.

    Sentence s counts `weight_s[s]` times in `pair_kk`, and once without weights. A sentence without
    a possible sequence has a log-partition of minus infinity and marginals of 0. The log-partitions
    alone, with `marginals=False`, take less time.
    """
    chains = Chains(as_offsets(offsets, len(score_tk)), score_tk, transitions)
    n_sentences, pair_shape = len(chains.offsets) - 1, transitions.transition_kk.shape
    weights = np.ones(n_sentences) if weight_s is None else weight_s
    log_partition_s = np.empty(n_sentences)
    marginal_tk = np.zeros(score_tk.shape if marginals else (0, transitions.n_tags))
    expect_block = scaled_block if _is_narrow(transitions) else log_block

    def work(block: tuple[int, int]) -> Floats:
        expected = CrfExpectation(log_partition_s, marginal_tk, np.zeros(pair_shape))
        expect_block(*block, chains, weights, expected)
        return expected.pair_kk

    parts = run_blocks(work, even_blocks(chains.offsets, _MAX_BLOCKS))
    return CrfExpectation(log_partition_s, marginal_tk, np.sum(parts, axis=0))


def _is_narrow(transitions: Transitions) -> bool:
    """Whether the finite scores of each kind differ by at most `_MAX_LINK_RANGE`."""
    return all(float(each.max()) - float(each.min()) <= _MAX_LINK_RANGE for each in transitions)


def as_offsets(offsets: Any, n_tokens: int) -> Offsets:
    """Where every sentence begins, and the end of the last one, checked to cover all tokens.

    >>> as_offsets([0, 2, 3], 3).tolist()
    [0, 2, 3]
    """
    got: AnyArray = np.asarray(offsets)
    is_vector = got.ndim == 1 and len(got) > 0 and np.issubdtype(got.dtype, np.integer)
    if not is_vector or got[0] != 0 or got[-1] != n_tokens or (np.diff(got) < 0).any():
        shown = f"{got.ravel()[:3].tolist()} ... {got.ravel()[-1:].tolist()}, shape {got.shape}"
        raise DataError(
            f"offsets must be whole numbers that rise from 0 to the {n_tokens} tokens, one more "
            f"than there are sentences; got {shown}"
        )
    return np.ascontiguousarray(got, dtype=np.int64)


@kernel
def scaled_block(
    first: int, last: int, chains: Chains, weight: Floats, expected: CrfExpectation
) -> None:
    """By scaled sums; weighted pairs are added to those there."""
    offsets, score, links = chains
    log_z, marginal, pair = expected
    n_tags, longest, factors = score.shape[1], _longest(first, last, offsets), _factors(links)
    alpha, emission = np.empty((longest, n_tags)), np.empty((longest, n_tags))
    scale, beta, later = np.empty(longest), np.empty(n_tags), np.empty(n_tags)
    factor, _, last_factor = factors
    reverse = np.ascontiguousarray(factor.T)
    outer = np.zeros((n_tags, n_tags))  # pairs, before they are multiplied by the factor
    for s in range(first, last):
        rows, share = score[offsets[s] : offsets[s + 1]], marginal[offsets[s] : offsets[s + 1]]
        log_sum = _scaled_forward(rows, factors, alpha, emission, scale)
        log_z[s] = log_sum + _log_scale(len(rows), links)
        if len(share) == 0 or log_sum == -np.inf:
            continue
        total = 0.0
        for k in range(n_tags):
            total += alpha[len(rows) - 1, k] * last_factor[k]
        for k in range(n_tags):
            beta[k] = last_factor[k] / total
        for t in range(len(rows) - 1, 0, -1):
            rest = 1.0 / scale[t]
            for k in range(n_tags):
                share[t, k] = alpha[t, k] * beta[k]
                later[k] = emission[t, k] * beta[k] * rest
            _step_back(alpha[t - 1], later, reverse, weight[s], beta, outer)
        for k in range(n_tags):
            share[0, k] = alpha[0, k] * beta[k]
    pair += outer * factor


@kernel
def _longest(first: int, last: int, offsets: Offsets) -> int:
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


@kernel
def _factors(links: Transitions) -> Transitions:
    """The exponentials of the links, divided by the greatest of their kind."""
    link, start, end = links
    return Transitions(
        np.exp(link - link.max()), np.exp(start - start.max()), np.exp(end - end.max())
    )


@kernel
def _log_scale(n_tokens: int, links: Transitions) -> float:
    """The log of the factors by which the links of a sentence were divided."""
    if n_tokens == 0:
        return 0.0
    link, start, end = links
    return float(start.max() + end.max() + (n_tokens - 1) * link.max())


@kernel
def _scaled_forward(
    score: Floats, factors: Transitions, alpha: Floats, emission: Floats, scale: Floats
) -> float:
    """Fill alpha, emission and scale of one sentence; returns its log-partition by factors."""
    factor, first_factor, last_factor = factors
    n_tokens, n_tags = score.shape
    log_sum = 0.0
    for t in range(n_tokens):
        here = alpha[t]
        if t == 0:
            here[:] = first_factor
        else:
            here[:] = 0.0
            for j in range(n_tags):
                before = alpha[t - 1, j]  # hoisted: `here` might be an alias to the compiler
                for k in range(n_tags):
                    here[k] += before * factor[j, k]
        top = score[t, 0]
        for k in range(1, n_tags):
            top = max(top, score[t, k])
        if top == -np.inf:
            return float(top)
        total = 0.0
        for k in range(n_tags):
            emission[t, k] = np.exp(score[t, k] - top)
            here[k] *= emission[t, k]
            total += here[k]
        rest = 1.0 / total
        for k in range(n_tags):
            here[k] *= rest
        scale[t] = total
        log_sum += top + np.log(total)
    if n_tokens == 0:
        return 0.0
    total = 0.0
    for k in range(n_tags):
        total += alpha[n_tokens - 1, k] * last_factor[k]
    return float(log_sum + np.log(total))


@kernel
def _step_back(
    alpha: Floats, later: Floats, reverse: Floats, weight: float, beta: Floats, outer: Floats
) -> None:
    """Set beta[j] = sum_k reverse[k, j] later[k], and add weight alpha[j] later[k] to outer."""
    n_tags = len(alpha)
    beta[:] = 0.0
    for k in range(n_tags):
        right = later[k]
        for j in range(n_tags):
            beta[j] += reverse[k, j] * right
    for j in range(n_tags):
        left = weight * alpha[j]
        for k in range(n_tags):
            outer[j, k] += left * later[k]


@kernel
def log_block(
    first: int, last: int, chains: Chains, weight: Floats, expected: CrfExpectation
) -> None:
    """By sums in logarithms; weighted pairs are added to those there."""
    offsets, score, links = chains
    log_z, marginal, pair = expected
    link, _, end = links
    n_tags = len(end)
    later, log_beta = np.empty(n_tags), np.empty(n_tags)
    for s in range(first, last):
        rows, share = score[offsets[s] : offsets[s + 1]], marginal[offsets[s] : offsets[s + 1]]
        log_alpha = np.empty(rows.shape)
        log_z[s] = _log_forward(rows, links, log_alpha)
        if len(share) == 0 or log_z[s] == -np.inf:
            continue
        log_beta[:] = end
        for t in range(len(rows) - 1, -1, -1):
            for k in range(n_tags):
                share[t, k] = np.exp(log_alpha[t, k] + log_beta[k] - log_z[s])
            if t == 0:
                break
            later[:] = rows[t] + log_beta
            for j in range(n_tags):
                log_beta[j] = _log_sum(link[j], later)
                for k in range(n_tags):
                    log_pair = log_alpha[t - 1, j] + link[j, k] + later[k] - log_z[s]
                    pair[j, k] += weight[s] * np.exp(log_pair)


@kernel
def _log_forward(score: Floats, links: Transitions, log_alpha: Floats) -> float:
    """Fill log_alpha of one sentence; returns its log-partition."""
    link, start, end = links
    n_tokens, n_tags = score.shape
    if n_tokens == 0:
        return 0.0
    log_alpha[0] = start + score[0]
    for t in range(1, n_tokens):
        for k in range(n_tags):
            log_alpha[t, k] = _log_sum(log_alpha[t - 1], link[:, k]) + score[t, k]
    return _log_sum(log_alpha[n_tokens - 1], end)


@kernel
def _log_sum(log_one: Floats, log_other: Floats) -> float:
    """Log sum_j exp(log_one[j] + log_other[j])."""
    top = -np.inf
    for j in range(len(log_one)):
        top = max(top, log_one[j] + log_other[j])
    if top == -np.inf:
        return top
    total = 0.0
    for j in range(len(log_one)):
        total += np.exp(log_one[j] + log_other[j] - top)
    return float(top + np.log(total))
