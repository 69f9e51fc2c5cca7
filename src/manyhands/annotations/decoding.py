"""The most probable valid BIO tags from the tag probabilities of single tokens."""

from collections.abc import Sequence

import numpy as np

from manyhands.annotations.tags import TagScheme, find_orphan_tags
from manyhands.core.arrays import Bools, Codes, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.kernels import kernel


def decode_bio(
    log_prob_tk: Floats, offsets: Offsets, tags: Sequence[str], *, choice_t: Codes | None = None
) -> Codes:
    """Codes of the valid BIO sequence that maximises sum_t log p(tag_t) in every sentence.

    The Viterbi recursion runs over the transitions that BIO allows. A sentence whose most probable
    tags are valid keeps them. `choice_t` is the most probable tag of every token; it breaks ties,
    and the default is the first of the tied tags. A tag of probability 0 (log -inf) is used only
    if every valid sequence contains one, and then as rarely as possible.

    >>> log_prob = np.log([[0.6, 0.1, 0.3], [0.1, 0.1, 0.8]])
    >>> decode_bio(log_prob, np.array([0, 2]), ["O", "B-PER", "I-PER"]).tolist()
    [1, 2]
    """
    log_tk = _checked(log_prob_tk, len(tags), int(offsets[-1]))
    scheme = TagScheme.of(tags)
    starts_k = ~scheme.is_inside_k
    if len(log_tk) and not starts_k.any():
        raise DataError(
            f"none of the tags {', '.join(tags)} can begin a sentence; add O or a tag B-TYPE"
        )
    code_t = log_tk.argmax(axis=1) if choice_t is None else choice_t
    code_t = np.array(code_t, dtype=np.int32)
    orphan_t = np.flatnonzero(find_orphan_tags(code_t, offsets, scheme))
    invalid = np.unique(np.searchsorted(offsets, orphan_t, side="right") - 1)
    if len(invalid):
        longest = int(np.diff(offsets)[invalid].max())
        finite_tk = _finite(log_tk, longest)
        before_tk = np.zeros((longest, len(tags)), dtype=np.int32)
        _viterbi(finite_tk, offsets, invalid, starts_k, scheme.moves_kk, before_tk, code_t)
    return code_t


def _checked(log_prob_tk: Floats, n_tags: int, n_tokens: int) -> Floats:
    log_tk = np.ascontiguousarray(log_prob_tk, dtype=np.float64)
    if log_tk.shape != (n_tokens, n_tags):
        raise DataError(
            f"expected log-probabilities of shape {(n_tokens, n_tags)} (tokens, tags); "
            f"got {log_tk.shape}"
        )
    if np.isnan(log_tk).any() or np.isposinf(log_tk).any():
        token = int(np.argmax((np.isnan(log_tk) | np.isposinf(log_tk)).any(axis=1)))
        raise DataError(f"token {token}: a log-probability is NaN or infinite")
    return log_tk


def _finite(log_tk: Floats, longest: int) -> Floats:
    """Replace -inf by a finite value that is below the sum of any sentence of finite values."""
    impossible_tk = np.isneginf(log_tk)
    if not impossible_tk.any():
        return log_tk
    largest = float(np.abs(log_tk[~impossible_tk]).max(initial=0.0))
    return np.where(impossible_tk, -(2.0 * largest * longest + 1.0), log_tk)


@kernel
def _viterbi(
    log_tk: Floats,
    offsets: Offsets,
    sentences: Offsets,
    starts_k: Bools,
    moves_kk: Bools,
    before_tk: Codes,
    code_t: Codes,
) -> None:
    """Write the best valid codes of some sentences; `before_tk` stores the back pointers."""
    n_tags = log_tk.shape[1]
    best_k, next_k = np.empty(n_tags), np.empty(n_tags)
    for s in sentences:
        first, end = offsets[s], offsets[s + 1]
        for k in range(n_tags):
            best_k[k] = log_tk[first, k] if starts_k[k] else -np.inf
        for t in range(first + 1, end):
            for k in range(n_tags):
                top, source = -np.inf, -1
                for j in range(n_tags):
                    if moves_kk[j, k] and best_k[j] > top:
                        top, source = best_k[j], j
                next_k[k] = top + log_tk[t, k]
                before_tk[t - first, k] = source
            best_k[:] = next_k
        code_t[end - 1] = np.argmax(best_k)
        for t in range(end - 1, first, -1):
            code_t[t - 1] = before_tk[t - first, code_t[t]]
