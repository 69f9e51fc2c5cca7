"""The tag sequences of a crowd: one row per annotator and sentence, equal sequences stored once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manyhands.aggregation.kernels.linear_chain import Transitions, expect, log_partition
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets
from manyhands.methods.crf.fitting import CrfTargets

UNKNOWN = -1  # the code of a tag that is not known


@dataclass(frozen=True)
class Sequences:
    """Sequences of tags that annotators gave; some tags may be unknown.

    Sequence q belongs to sentence `sentence_q[q]`. Its tags are `tag_u` from `offsets_q[q]` on,
    and `token_u` has their tokens.
    """

    sentence_q: Offsets
    offsets_q: Offsets
    token_u: Offsets
    tag_u: Codes

    @classmethod
    def of(cls, sentence_q: Offsets, tags: list[Codes], offsets: Offsets) -> "Sequences":
        """From one array of tags per sequence, each as long as its sentence."""
        size_q = np.diff(offsets)[sentence_q]
        offsets_q = np.concatenate(([0], np.cumsum(size_q))).astype(np.int64)
        shift_u = np.repeat(offsets[sentence_q] - offsets_q[:-1], size_q)
        tag_u = np.concatenate([np.empty(0, dtype=np.int32), *tags])
        return cls(sentence_q, offsets_q, np.arange(len(shift_u)) + shift_u, tag_u)

    def log_sums(self, score_tk: Floats, transitions: Transitions) -> Floats:
        """The log of the sum of exp score(y) over the y that agree with every sequence."""
        restricted_uk = restrict_scores(score_tk[self.token_u], self.tag_u)
        return log_partition(restricted_uk, self.offsets_q, transitions)

    def targets(
        self, score_tk: Floats, offsets: Offsets, transitions: Transitions, weight_q: Floats
    ) -> CrfTargets:
        """Expected tags and pairs of weighted sequences; the CRF gives those of unknown tags."""
        restricted_uk = restrict_scores(score_tk[self.token_u], self.tag_u)
        expected = expect(restricted_uk, self.offsets_q, transitions, weight_q)
        weighted_uk = expected.marginal_tk * np.repeat(weight_q, np.diff(self.offsets_q))[:, None]
        tag_tk = np.stack(
            [sum_by(self.token_u, each, len(score_tk)) for each in weighted_uk.T], axis=1
        )
        weight_s = sum_by(self.sentence_q, weight_q, len(offsets) - 1)
        return CrfTargets(weight_s, tag_tk, expected.pair_kk)


@dataclass(frozen=True)
class CrowdSequences:
    """Row p: annotator `annotator_p` gave sequence `sequence_p` to sentence `sentence_p`.

    Rows are sorted by sentence and then by annotator; `n_labels_p` tokens have a label.
    """

    sentence_p: Offsets
    annotator_p: Offsets
    sequence_p: Offsets
    n_labels_p: Offsets
    distinct: Sequences
    n_annotators: int

    @cached_property
    def begin_g(self) -> Offsets:
        """Where the rows of each labelled sentence begin; sentences without labels have none."""
        change = np.flatnonzero(np.diff(self.sentence_p)) + 1
        return np.concatenate(([0], change)).astype(np.int64)

    @cached_property
    def group_p(self) -> Offsets:
        """The number of the labelled sentence that each row belongs to."""
        size_g = np.diff(np.append(self.begin_g, len(self.sentence_p)))
        return np.repeat(np.arange(len(self.begin_g)), size_g)


def gather_sequences(annotations: Annotations, offsets: Offsets) -> CrowdSequences:
    """The sequences in the labels of tokens; the last of repeated labels counts."""
    ann, n_annotators = annotations, max(annotations.n_annotators, 1)
    sentence_n = np.searchsorted(offsets, ann.item, side="right") - 1
    key_p, row_n = np.unique(sentence_n * n_annotators + ann.annotator, return_inverse=True)
    sentence_p, annotator_p = key_p // n_annotators, key_p % n_annotators
    ends_p = np.cumsum(np.diff(offsets)[sentence_p])
    begins_p = ends_p - np.diff(offsets)[sentence_p]
    tag_v = np.full(int(ends_p[-1]) if len(ends_p) else 0, UNKNOWN, dtype=np.int32)
    tag_v[begins_p[row_n] + ann.item - offsets[sentence_n]] = ann.label
    pieces = [tag_v[begin:end] for begin, end in zip(begins_p, ends_p, strict=True)]
    code: dict[tuple[int, bytes], int] = {}
    sequence_p = np.array(
        [
            code.setdefault((int(s), piece.tobytes()), len(code))
            for s, piece in zip(sentence_p, pieces, strict=True)
        ],
        dtype=np.int64,
    )
    _, first = np.unique(sequence_p, return_index=True)
    return CrowdSequences(
        sentence_p,
        annotator_p,
        sequence_p,
        np.array([np.count_nonzero(piece != UNKNOWN) for piece in pieces], dtype=np.int64),
        Sequences.of(sentence_p[first], [pieces[p] for p in first], offsets),
        ann.n_annotators,
    )


def sum_by(code: AnyArray, value: AnyArray, n_codes: int) -> Floats:
    """Sums of a value by code, shape (n_codes,)."""
    return np.bincount(code, weights=value, minlength=n_codes).astype(np.float64, copy=False)


def restrict_scores(score_tk: Floats, tag_t: Codes) -> Floats:
    """The scores where every other tag of a token with a known tag is excluded."""
    n_tags = score_tk.shape[1]
    possible_tk = (tag_t[:, None] == UNKNOWN) | (tag_t[:, None] == np.arange(n_tags))
    return np.where(possible_tk, score_tk, -np.inf)
