"""The best sequence of tags, of all or of those that are allowed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manyhands.annotations import allowed_starts, allowed_transitions
from manyhands.core.arrays import Bools, Codes, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.kernels import even_blocks, kernel, run_blocks
from manyhands.methods.crf.weights import Links, as_offsets

_MOST_BLOCKS = 16


@dataclass(frozen=True)
class Allowed:
    """Which tag may follow which (row: the earlier one), and which may come first."""

    transition_kk: Bools
    start_k: Bools


def bio_rules(tags: Sequence[str]) -> Allowed:
    """Rules of BIO tags: I-X follows B-X or I-X only, and is never the first.

    >>> rules = bio_rules(["O", "B-LOC", "I-LOC"])
    >>> rules.start_k.tolist(), rules.transition_kk[:, 2].tolist()
    ([True, True, False], [False, True, True])
    """
    return Allowed(allowed_transitions(tags), allowed_starts(tags))


def best_tags(
    score_tk: Floats, offsets: Offsets, links: Links, allowed: Allowed | None = None
) -> Codes:
    """The sequence with the greatest score(y) of every sentence, by Viterbi's algorithm.

    Of equal ones the sequence whose last tag has the lowest code is taken, then the last but one.

    >>> best_tags(np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([0, 2]), Links.zeros(2)).tolist()
    [1, 0]
    """
    offsets = as_offsets(offsets, len(score_tk))
    if allowed is not None:
        links = links.restricted(allowed.transition_kk, allowed.start_k)
    tag_t, best_s = np.empty(len(score_tk), dtype=np.int32), np.empty(len(offsets) - 1)

    def work(block: tuple[int, int]) -> None:
        _decode_block(
            *block,
            offsets,
            score_tk,
            links.start_k,
            links.end_k,
            links.transition_kk,
            tag_t,
            best_s,
        )

    run_blocks(work, even_blocks(offsets, _MOST_BLOCKS))
    if np.isneginf(best_s).any():
        s = int(np.flatnonzero(np.isneginf(best_s))[0])
        raise DataError(
            f"sentence {s} of {offsets[s + 1] - offsets[s]} tokens has no sequence of tags that "
            "is allowed; allow more transitions or first tags"
        )
    return tag_t


@kernel
def _decode_block(
    first: int,
    last: int,
    offsets: Offsets,
    score: Floats,
    start: Floats,
    end: Floats,
    link: Floats,
    tag: Codes,
    best: Floats,
) -> None:
    n_tags = len(start)
    longest = 1
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    origin = np.empty((longest, n_tags), dtype=np.int32)
    here, there = np.empty(n_tags), np.empty(n_tags)
    for s in range(first, last):
        begin, n_tokens = offsets[s], offsets[s + 1] - offsets[s]
        best[s] = 0.0
        if n_tokens == 0:
            continue
        here[:] = start + score[begin]
        for t in range(1, n_tokens):
            for k in range(n_tags):
                chosen = 0
                for j in range(1, n_tags):
                    if here[j] + link[j, k] > here[chosen] + link[chosen, k]:
                        chosen = j
                origin[t, k] = chosen
                there[k] = here[chosen] + link[chosen, k] + score[begin + t, k]
            here[:] = there
        here += end
        code = np.argmax(here)
        best[s] = here[code]
        for t in range(n_tokens - 1, -1, -1):
            tag[begin + t] = code
            code = origin[t, code]
