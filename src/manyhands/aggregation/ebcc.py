"""EBCC: classes have hidden subtypes, so that annotators make the same mistakes on an item."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_softmax, logsumexp

from manyhands.aggregation.base import ClassAggregator, IterativeAggregator, Parameters
from manyhands.aggregation.cost import Cost, confusion_cost
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence, majority_posterior
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation
from manyhands.aggregation.kernels.dirichlet_rows import expect_logs
from manyhands.aggregation.kernels.nameless_draws import draw_shares, fingerprints
from manyhands.aggregation.kernels.passes import confusion_pass
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import AT_LEAST_ONE, COUNT, POSITIVE, generator, setting


@dataclass(frozen=True)
class SubtypeParameters(Parameters):
    """Soft counts of the subtypes of items and of labels, and the pseudo-counts of their priors.

    Everything else follows from these: counts + pseudo-counts determine the posterior of the class
    prior, of the shares of subtypes and of every confusion.
    """

    mass_km: Floats
    counts_alkm: Floats
    class_pseudo_count: float
    subtype_pseudo_count: float
    pseudo_lk: Floats

    @cached_property
    def _expected_log_confusion(self) -> tuple[Floats, float]:
        """E log V (a, l, km), and the divergence of its posterior from the prior."""
        n_subtypes = self.mass_km.shape[1]
        pseudo_lc = np.repeat(self.pseudo_lk, n_subtypes, axis=1)
        return expect_logs(self.counts_alkm.reshape(-1, *pseudo_lc.shape), pseudo_lc)

    @cached_property
    def _expected_log_prior(self) -> tuple[Floats, float]:
        """E log pi_k + E log tau_km (k, m), and the divergence of both from their priors."""
        mass_km = self.mass_km
        log_k, of_classes = expect_logs(
            mass_km.sum(axis=1)[None, :, None], np.full((len(mass_km), 1), self.class_pseudo_count)
        )
        log_mk, of_subtypes = expect_logs(
            mass_km.T[None], np.full(mass_km.T.shape, self.subtype_pseudo_count)
        )
        return log_k[0] + log_mk[0].T, of_classes + of_subtypes

    @property
    def log_prior_k(self) -> Floats:
        """The log-probability of every class of an item without labels."""
        return np.asarray(log_softmax(logsumexp(self._expected_log_prior[0], axis=1)))

    def expected(self, expect: ConfusionPass) -> Expectation:
        """The E-step under these parameters; its columns are subtypes."""
        return expect(self._expected_log_prior[0].ravel(), self._expected_log_confusion[0])

    def log_evidence(self) -> float:
        """Minus the divergence of the posterior of all parameters from their prior."""
        return -self._expected_log_prior[1] - self._expected_log_confusion[1]

    def confusion(self) -> Floats:
        """The mean of every annotator's confusions over the subtypes of a class, (a, k, l)."""
        share_km = self.mass_km + self.subtype_pseudo_count
        share_km /= share_km.sum(axis=1, keepdims=True)
        mean_alkm = self.counts_alkm + self.pseudo_lk[:, :, None]
        mean_alkm /= mean_alkm.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("km,alkm->akl", share_km, mean_alkm))

    def with_unseen_annotators(self, n_new: int) -> Self:
        """The same with annotators appended of whom only the prior is known."""
        if n_new == 0:
            return self
        new_alkm = np.zeros((n_new, *self.counts_alkm.shape[1:]))
        return replace(self, counts_alkm=np.concatenate([self.counts_alkm, new_alkm]))


@dataclass(frozen=True, kw_only=True)
class Ebcc(IterativeAggregator[SubtypeParameters], ClassAggregator[SubtypeParameters]):
    """Every class has `n_subtypes` subtypes of items; everyone has a confusion for each of them.

    Given the class alone, labels of an item depend on each other: those of an item of a difficult
    subtype are wrong together. `DawidSkene` takes such labels for independent and is misled by
    mistakes that many share. Truth z_i, subtype g_i and labels have these distributions::

        z_i ~ pi,  g_i ~ tau[z_i],  y_n ~ V[a_n, z_i, g_i]
        pi ~ Dirichlet(class_pseudo_count),  tau[k] ~ Dirichlet(subtype_pseudo_count)
        V[a,k,m] ~ Dirichlet(b[k]),  b[k,l] = right_pseudo_count if k = l else wrong_pseudo_count

    Variational Bayes with q(z, g) q(pi) q(tau) q(V), psi the digamma function::

        q_ikm ~ exp(E log pi_k + E log tau_km + sum_n E log V[a_n, k, m, y_n])
        E log V[a,k,m,l] = psi(N[a,k,m,l]) - psi(sum_l N[a,k,m,l])
        N[a,k,m,l] = sum_n q_ikm [a_n = a, y_n = l] + b[k,l]

    and likewise for pi and tau with the sums of q over items. The objective is the evidence lower
    bound; it never falls. With one subtype the model is Bayesian Dawid-Skene.

    The first q is the majority with random shares of subtypes. These are computed from the labels
    of an item and the seed, so the result does not depend on names or order. There are `n_restarts`
    starts; the highest bound wins, and among equal ones the first. Time and memory are those of
    `DawidSkene` times `n_subtypes`, time also times `n_restarts`.

    Source: Li, Rubinstein and Cohn 2019.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> Ebcc(n_subtypes=2).fit(ann).labels.tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "ebcc"
    parameters_type: ClassVar[type[Parameters]] = SubtypeParameters
    cheaper: ClassVar[str] = "n_subtypes"
    has_device_pass: ClassVar[bool] = True
    works_in_parts: ClassVar[bool] = False  # shares of subtypes are drawn from all labels

    n_subtypes: int = setting(10, "Number of subtypes of a class.", rule=AT_LEAST_ONE)
    n_restarts: int = setting(1, "Number of starts.", rule=AT_LEAST_ONE)
    right_pseudo_count: float = setting(
        4.0, "Pseudo-labels of the right class per confusion and class.", rule=POSITIVE
    )
    wrong_pseudo_count: float = setting(1.0, "Pseudo-labels of each wrong class.", rule=POSITIVE)
    subtype_pseudo_count: float = setting(
        0.1, "Pseudo-items per subtype; a small number leaves subtypes empty.", rule=POSITIVE
    )
    class_pseudo_count: float = setting(1.0, "Pseudo-items per class.", rule=POSITIVE)
    seed: int = setting(0, "Random starts are drawn from it.", rule=COUNT)

    def cost(self, annotations: Annotations) -> Cost:
        """The memory and time of a fit to these labels."""
        n = self.n_subtypes
        return confusion_cost(
            annotations,
            item_tables=2.0 + 3.0 * n,
            tables=6.2 * n,
            more=6 + 2 * n,
            steps=self.max_iter * self.n_restarts,
            nanoseconds=10.0 * n,
        )

    def fit_parameters(
        self, evidence: Evidence, start: SubtypeParameters | None = None
    ) -> EMRun[SubtypeParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        expect = confusion_pass(evidence, self.device, self.n_subtypes)

        def step(state: SubtypeParameters) -> tuple[SubtypeParameters, float]:
            expected = state.expected(expect)
            return self._counted(expected), expected.log_likelihood + state.log_evidence()

        def run(first: Expectation) -> EMRun[SubtypeParameters]:
            return self._run(evidence, self._counted(first), step)

        if start is None:
            return self._best_of(evidence.annotations, map(run, self._starts(evidence, expect)))
        return run(start.expected(expect))

    def _starts(self, evidence: Evidence, expect: ConfusionPass) -> Iterator[Expectation]:
        """The majority with random shares of subtypes, as often as asked for."""
        majority_ik, hashes = majority_posterior(evidence), fingerprints(evidence)
        rng = generator(self.seed, "subtypes of items")
        for _ in range(self.n_restarts if self.n_subtypes > 1 else 1):
            posterior_ikm = draw_shares(*hashes, self.n_subtypes, int(rng.integers(2**63)))
            posterior_ikm *= majority_ik[:, :, None]
            yield expect.count(posterior_ikm.reshape(len(majority_ik), -1))

    def _counted(self, expected: Expectation) -> SubtypeParameters:
        """The posterior of all parameters given that of items; counts are copied."""
        n_classes = expected.counts_alk.shape[1]
        right = np.eye(n_classes, dtype=bool)
        return SubtypeParameters(
            expected.mass_k.reshape(n_classes, self.n_subtypes),
            expected.counts_alk.reshape(-1, n_classes, n_classes, self.n_subtypes).copy(),
            self.class_pseudo_count,
            self.subtype_pseudo_count,
            np.where(right, self.right_pseudo_count, self.wrong_pseudo_count),
        )

    def estimate_items(self, evidence: Evidence, parameters: SubtypeParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        expect = confusion_pass(evidence, self.device, self.n_subtypes, counts=False)
        expected = parameters.expected(expect)
        n_classes = evidence.annotations.n_classes
        posterior_ikm = expected.posterior_ik.reshape(-1, n_classes, self.n_subtypes)
        posterior_ik = posterior_ikm.sum(axis=2)
        # Rounding must not make a known truth less or more certain than 1.
        return {"probabilities": posterior_ik / posterior_ik.sum(axis=1, keepdims=True)}
