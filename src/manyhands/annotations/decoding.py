"""The best tags of sentences: valid BIO from single tokens, or a chain with scores of pairs."""

from collections.abc import Sequence

import numpy as np

from manyhands.annotations.tags import TagScheme, find_orphan_tags
from manyhands.core.arrays import Codes, Floats, Offsets
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
        start_k, pair_kk = _bio_scores(scheme)
        end_k = np.zeros(len(tags))
        _viterbi(finite_tk, offsets, invalid, start_k, pair_kk, end_k, before_tk, code_t)
    return code_t


def decode_chain(
    score_tk: Floats,
    offsets: Offsets,
    pair_kk: Floats,
    start_k: Floats,
    end_k: Floats,
    tags: Sequence[str] | None = None,
) -> Codes:
    """Codes of the tag sequence with the highest score in every sentence (Viterbi).

    The score is the sum of `score_tk` of the tokens, `pair_kk` of neighbouring tags (row: the
    earlier one), `start_k` of the first tag and `end_k` of the last one; minus infinity excludes a
    pair or a first tag. With `tags`, only valid BIO sequences count.

    >>> pair, ends = np.array([[0.0, 2.0], [0.0, 0.0]]), np.zeros(2)
    >>> decode_chain(np.zeros((3, 2)), np.array([0, 1, 3]), pair, ends, ends).tolist()
    [0, 0, 1]
    """
    n_tokens, n_tags = len(score_tk), len(start_k)
    checked_tk = _checked(score_tk, n_tags, int(offsets[-1]))
    if tags is not None:
        bio_k, bio_kk = _bio_scores(TagScheme.of(tags))
        start_k, pair_kk = start_k + bio_k, pair_kk + bio_kk
    code_t = np.zeros(n_tokens, dtype=np.int32)
    lengths = np.diff(offsets)
    before_tk = np.zeros((int(lengths.max(initial=0)), n_tags), dtype=np.int32)
    some = np.flatnonzero(lengths)
    _viterbi(checked_tk, offsets, some, start_k, pair_kk, end_k, before_tk, code_t)
    return code_t


def _bio_scores(scheme: TagScheme) -> tuple[Floats, Floats]:
    """Scores of first tags and of pairs: 0 where BIO allows them, else minus infinity."""
    start_k = np.where(scheme.is_inside_k, -np.inf, 0.0)
    return start_k, np.where(scheme.moves_kk, 0.0, -np.inf)


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
    start_k: Floats,
    pair_kk: Floats,
    end_k: Floats,
    before_tk: Codes,
    code_t: Codes,
) -> None:
    """Write the best codes of some sentences; `before_tk` stores the back pointers."""
    n_tags = log_tk.shape[1]
    best_k, next_k = np.empty(n_tags), np.empty(n_tags)
    for s in sentences:
        first, end = offsets[s], offsets[s + 1]
        for k in range(n_tags):
            best_k[k] = start_k[k] + log_tk[first, k]
        for t in range(first + 1, end):
            for k in range(n_tags):
                top, source = -np.inf, -1
                for j in range(n_tags):
                    reached = best_k[j] + pair_kk[j, k]
                    if reached > top:
                        top, source = reached, j
                next_k[k] = top + log_tk[t, k]
                before_tk[t - first, k] = source
            best_k[:] = next_k
        code_t[end - 1] = np.argmax(best_k + end_k)
        for t in range(end - 1, first, -1):
            code_t[t - 1] = before_tk[t - first, code_t[t]]
