"""BSC-seq: tags of tokens follow each other, and so do the labels of an annotator."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import log_softmax

from manyhands.aggregation.base import ClassAggregator, IterativeAggregator, Parameters
from manyhands.aggregation.cost import Cost, confusion_cost
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence, majority_posterior
from manyhands.aggregation.kernels.dirichlet_rows import expect_logs
from manyhands.aggregation.kernels.linear_chain import Transitions, expect
from manyhands.aggregation.token_chains import TokenChains, labels_before
from manyhands.annotations import Annotations
from manyhands.annotations.tags import TagScheme, is_bio_tag
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import POSITIVE, setting

_FORBIDDEN = 1e-3  # pseudo-count of a pair of tags that is not valid BIO: E log is about -1000


class SequenceExpectation(NamedTuple):
    """Class probabilities of items, soft counts under them, and the log-partition of all chains.

    `pairs_kj` counts a class k after a class j, the last column first ones; `counts_alpk` labels l
    of annotator a after their own label p, the last one none, on items of class k.
    """

    posterior_ik: Floats
    pairs_kj: Floats
    counts_alpk: Floats
    log_likelihood: float


@dataclass(frozen=True)
class SequenceConfusions:
    """Confusions V of annotators that depend on their label before: soft counts and priors."""

    counts_alpk: Floats
    pseudo_lk: Floats

    @cached_property
    def expected_log(self) -> tuple[Floats, float]:
        """E log V (a, l, p, k), and the divergence of its posterior from the prior."""
        n_annotators, n_labels, n_before, n_classes = self.counts_alpk.shape
        pseudo_lc = np.tile(self.pseudo_lk, (1, n_before))
        flat_alc = self.counts_alpk.reshape(n_annotators, n_labels, n_before * n_classes)
        log_alc, divergence = expect_logs(flat_alc, pseudo_lc)
        return log_alc.reshape(self.counts_alpk.shape), divergence

    def mean(self) -> Floats:
        """The mean of every annotator's confusion whatever their label before was, (a, k, l)."""
        mean_alk = self.counts_alpk.sum(axis=2) + self.pseudo_lk
        return np.asarray((mean_alk / mean_alk.sum(axis=1, keepdims=True)).transpose(0, 2, 1))


@dataclass(frozen=True)
class SequenceParameters(Parameters):
    """Soft counts of pairs of classes and of labels, and the pseudo-counts of their priors.

    Everything else follows from these: counts + pseudo-counts determine the posterior of the
    transitions and of every confusion. Columns of pairs are earlier classes, the last one none.
    """

    pairs_kj: Floats
    counts_alpk: Floats
    pseudo_kj: Floats
    pseudo_lk: Floats

    @cached_property
    def _expected_log_pairs(self) -> tuple[Floats, float]:
        """E log A (k, j), and the divergence of its posterior from the prior."""
        log_1kj, divergence = expect_logs(self.pairs_kj[None], self.pseudo_kj)
        return log_1kj[0], divergence

    @cached_property
    def confusions(self) -> SequenceConfusions:
        """The confusions of all annotators."""
        return SequenceConfusions(self.counts_alpk, self.pseudo_lk)

    @property
    def log_prior_k(self) -> Floats:
        """The log-probability of every class of an item without labels and neighbours."""
        return np.asarray(log_softmax(self._expected_log_pairs[0][:, -1]))

    def expected(self, step: "SequencePass") -> SequenceExpectation:
        """The E-step under these parameters."""
        return step(self._expected_log_pairs[0], self.confusions.expected_log[0])

    def log_evidence(self) -> float:
        """Minus the divergence of the posterior of all parameters from their prior."""
        return -self._expected_log_pairs[1] - self.confusions.expected_log[1]

    def confusion(self) -> Floats:
        """See `SequenceConfusions.mean`."""
        return self.confusions.mean()

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with annotators appended of whom only the prior is known."""
        if n_new == 0:
            return self
        new_alpk = np.zeros((n_new, *self.counts_alpk.shape[1:]))
        return replace(self, counts_alpk=np.concatenate([self.counts_alpk, new_alpk]))


class SequencePass:
    """The E-step over the labels of sentences; see `BscSeq`. `chains` are told by the names."""

    def __init__(self, evidence: Evidence, chains: TokenChains | None = None) -> None:
        ann = evidence.annotations
        self.evidence, self.annotations = evidence, ann
        self.chains = TokenChains.of(ann.items) if chains is None else chains
        n = ann.n_classes
        before_n = labels_before(ann, self.chains.before)
        before_n = np.where(before_n < 0, n, before_n)
        # The place of every label in a table (a, l, p).
        self._cell_n = (ann.annotator.astype(np.int64) * n + ann.label) * (n + 1) + before_n

    def __call__(self, log_pairs_kj: Floats, log_confusion_alpk: Floats) -> SequenceExpectation:
        """Forward-backward over every chain under these expected logarithms."""
        item, n = self.chains.item, self.annotations.n_classes
        score_ik = self.label_scores(log_confusion_alpk)
        is_known_i = self.evidence.is_known
        if is_known_i.any():
            certain_kk = np.where(np.eye(n, dtype=bool), 0.0, -np.inf)
            score_ik[is_known_i] += certain_kk[self.evidence.known[is_known_i]]
        links = Transitions(
            np.ascontiguousarray(log_pairs_kj[:, :n].T), log_pairs_kj[:, n].copy(), np.zeros(n)
        )
        found = expect(np.ascontiguousarray(score_ik[item]), self.chains.offsets, links)
        posterior_ik = np.empty(score_ik.shape)
        posterior_ik[item] = found.marginal_tk
        log_likelihood = float(found.log_partition_s.sum())
        return self._expectation(posterior_ik, found.pair_kk.T, log_likelihood)

    def count(self, posterior_ik: Floats) -> SequenceExpectation:
        """The counts of independent items with these probabilities, where a fit starts."""
        item, offsets = self.chains.item, self.chains.offsets
        follows = np.ones(len(item), dtype=bool)
        follows[offsets[:-1]] = False
        later = np.flatnonzero(follows)
        pairs_kj = posterior_ik[item[later]].T @ posterior_ik[item[later - 1]]
        return self._expectation(posterior_ik, pairs_kj, 0.0)

    def label_scores(self, log_confusion_alpk: Floats) -> Floats:
        """sum_n log V[a_n, p_n, k, y_n] over the labels of every item, (i, k)."""
        ann = self.annotations
        log_ck = log_confusion_alpk.reshape(-1, ann.n_classes)
        sums = [
            np.bincount(ann.item, log_c[self._cell_n], minlength=ann.n_items) for log_c in log_ck.T
        ]
        return np.stack(sums, axis=1)

    def label_counts(self, posterior_ik: Floats) -> Floats:
        """Soft counts of labels (a, l, p, k) under these probabilities of items."""
        ann = self.annotations
        shape = ann.n_annotators, ann.n_classes, ann.n_classes + 1, ann.n_classes
        counts_ck = np.empty((int(np.prod(shape[:3])), ann.n_classes))
        for k in range(ann.n_classes):
            q_n = posterior_ik[ann.item, k]
            counts_ck[:, k] = np.bincount(self._cell_n, q_n, minlength=len(counts_ck))
        return counts_ck.reshape(shape)

    def _expectation(
        self, posterior_ik: Floats, pairs_kj: Floats, log_likelihood: float
    ) -> SequenceExpectation:
        first_k = posterior_ik[self.chains.item[self.chains.offsets[:-1]]].sum(axis=0)
        both_kj = np.concatenate([pairs_kj, first_k[:, None]], axis=1)
        counts_alpk = self.label_counts(posterior_ik)
        return SequenceExpectation(posterior_ik, both_kj, counts_alpk, log_likelihood)


@dataclass(frozen=True, kw_only=True)
class BscSeq(IterativeAggregator[SequenceParameters], ClassAggregator[SequenceParameters]):
    """Bayesian sequence combination: the tags of a sentence are a Markov chain.

    Items are tokens, with names "<sentence>:<token>" as in `TokenLabels`; items with other names
    are sentences of one token. The confusions of an annotator depend on the label that they gave
    to the token before: someone who said O seldom goes on with I-PER. Classes z of the tokens
    i = 1, 2 ... of a sentence and labels have these distributions::

        z_1 ~ A[none],  z_i ~ A[z_i-1],  y_n ~ V[a_n, p_n, z_i]
        A[j] ~ Dirichlet(transition_pseudo_count)
        V[a,p,k] ~ Dirichlet(b[k]),  b[k,l] = right_pseudo_count if k = l else wrong_pseudo_count

    p_n is the label of the same annotator for token i - 1, or none. If all classes are BIO tags, an
    I-X that follows neither B-X nor I-X has a pseudo-count of almost 0: it is never found.

    Variational Bayes with q(z) q(A) q(V), where q(z) is a Markov chain::

        q(z) ~ prod_i exp(E log A[z_i-1, z_i]) prod_n exp(E log V[a_n, p_n, z_i, y_n])
        E log V[a,p,k,l] = psi(N[a,p,k,l]) - psi(sum_l N[a,p,k,l])
        N[a,p,k,l] = sum_n q(z_i = k) [a_n = a, p_n = p, y_n = l] + b[k,l]

    and likewise for A with the expected pairs of q(z), which forward-backward finds. The objective
    is the evidence lower bound; it never falls. The first q is the majority. A step takes
    labels x K + tokens x K x K operations, and the confusions of an annotator K x K x (K + 1)
    numbers.

    Source: Simpson and Gurevych 2019, the model BSC-seq without its learning of text features.

    >>> from manyhands.annotations import Annotations
    >>> item = ["s:0", "s:1", "s:2"]
    >>> ann = Annotations.from_arrays(
    ...     item * 2, [0, 0, 0, 1, 1, 1], ["B-PER", "I-PER", "O", "O", "I-PER", "O"],
    ...     classes=["O", "B-PER", "I-PER"],
    ... )
    >>> BscSeq().fit(ann).labels.tolist()
    ['B-PER', 'I-PER', 'O']
    """

    name: ClassVar[str] = "bsc-seq"
    parameters_type: ClassVar[type[Parameters]] = SequenceParameters
    cheaper: ClassVar[str] = "max_iter"
    works_in_parts: ClassVar[bool] = False  # parts do not keep sentences together

    right_pseudo_count: float = setting(
        2.0, "Pseudo-labels of the right class per confusion and class.", rule=POSITIVE
    )
    wrong_pseudo_count: float = setting(0.2, "Pseudo-labels of each wrong class.", rule=POSITIVE)
    transition_pseudo_count: float = setting(
        1.0, "Pseudo-pairs of each class after each class.", rule=POSITIVE
    )

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        n_before = annotations.n_classes + 1
        per_item = annotations.n_annotations / max(annotations.n_items, 1)
        return confusion_cost(
            annotations,
            item_tables=8.0 + 3.0 * per_item,
            tables=6.0 * n_before,
            more=6.0 * n_before,
            steps=self.max_iter,
            nanoseconds=20.0 * n_before,
        )

    def fit_parameters(
        self, evidence: Evidence, start: SequenceParameters | None = None
    ) -> EMRun[SequenceParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        return self.fit_chains(SequencePass(evidence), start)

    def fit_chains(
        self, expect_step: SequencePass, start: SequenceParameters | None = None
    ) -> EMRun[SequenceParameters]:
        """`fit_parameters` to the labels of a pass, which knows the sentences."""
        evidence = expect_step.evidence
        counted = self._counting(evidence.annotations)

        def step(state: SequenceParameters) -> tuple[SequenceParameters, float]:
            expected = state.expected(expect_step)
            return counted(expected), expected.log_likelihood + state.log_evidence()

        first = (
            expect_step.count(majority_posterior(evidence))
            if start is None
            else start.expected(expect_step)
        )
        return self._run(evidence, counted(first), step)

    def _counting(
        self, annotations: Annotations
    ) -> Callable[[SequenceExpectation], SequenceParameters]:
        """The posterior of all parameters given that of items."""
        pseudo_lk = self.pseudo_labels(annotations.n_classes)
        pseudo_kj = np.where(_allowed(annotations.classes), self.transition_pseudo_count, 0.0)
        pseudo_kj = np.maximum(pseudo_kj, min(_FORBIDDEN, self.transition_pseudo_count))

        def counted(expected: SequenceExpectation) -> SequenceParameters:
            return SequenceParameters(expected.pairs_kj, expected.counts_alpk, pseudo_kj, pseudo_lk)

        return counted

    def pseudo_labels(self, n_classes: int) -> Floats:
        """The pseudo-counts b of labels (l, k)."""
        right = np.eye(n_classes, dtype=bool)
        return np.where(right, self.right_pseudo_count, self.wrong_pseudo_count)

    def estimate_items(self, evidence: Evidence, parameters: SequenceParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        posterior_ik = parameters.expected(SequencePass(evidence)).posterior_ik
        # Rounding must not make a known truth less or more certain than 1.
        return {"probabilities": posterior_ik / posterior_ik.sum(axis=1, keepdims=True)}


def _allowed(classes: AnyArray) -> AnyArray:
    """Which class k may follow a class j (k, j), the last column the beginning; by BIO, if it is.

    >>> _allowed(np.array(["O", "B-X", "I-X"], dtype=object)).astype(int).tolist()
    [[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]]
    """
    names = [str(name) for name in classes]
    allowed_kj = np.ones((len(names), len(names) + 1), dtype=bool)
    if all(is_bio_tag(name) for name in names):
        scheme = TagScheme.of(names)
        allowed_kj[:, :-1], allowed_kj[:, -1] = scheme.moves_kk.T, ~scheme.is_inside_k
    return allowed_kj
