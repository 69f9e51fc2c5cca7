"""The value of a document by its topics, observed through biases and precisions."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve

from manyhands.aggregation.gaussian_steps import NetworkedParameters
from manyhands.core.arrays import Floats
from manyhands.core.kernels import run_blocks
from manyhands.methods.topics.corpus import Corpus
from manyhands.methods.topics.kernels import Sweeps, Topics
from manyhands.methods.topics.regression_annotators import Prediction, RegressionAnnotators
from manyhands.methods.topics.regression_kernels import (
    add_normal_equations,
    predict_block,
    update_values_block,
)
from manyhands.methods.topics.variational import DocumentPosterior

_STEPS = 5  # of annotators and rho in every M-step; they cost little


@dataclass(frozen=True)
class RegressionResponse:
    """Value x_d ~ N(eta . zbar_d, 1 / rho), labels y_n ~ N(x_d + bias_a, 1 / precision_a).

    Given the topics everything is normal, so that x_d is integrated out::

        q(x_d | z_d) = N((rho eta . zbar_d + P_d m_d) / (rho + P_d), 1 / (rho + P_d))
        (l2 + sum_d tau_d E[zbar zbar']) eta = sum_d tau_d m_d E zbar

    with m_d, tau_d and P_d, and the updates of rho and annotators, in `RegressionAnnotators`. The
    sums are over documents with labels. `prediction`, of f = eta . zbar, is updated in place.
    """

    annotators: RegressionAnnotators
    l2: float
    eta_t: Floats
    parameters: NetworkedParameters
    prediction: Prediction

    @classmethod
    def initial(
        cls, annotators: RegressionAnnotators, n_topics: int, *, l2: float
    ) -> "RegressionResponse":
        """Annotators of equal precision, and eta = 0."""
        prediction = Prediction.zeros(annotators.annotations.n_items)
        return cls(annotators, l2, np.zeros(n_topics), annotators.initial(), prediction)

    def e_step(
        self, corpus: Corpus, posterior: DocumentPosterior, log_word_wt: Floats, sweeps: Sweeps
    ) -> float:
        """See `Response.e_step`."""
        labels, gamma_dt = self.annotators.label_means(self.parameters), posterior.gamma_dt
        cells, topics = posterior.cells(corpus), Topics(log_word_wt, posterior.alpha)

        def work(documents: tuple[int, int]) -> float:
            return update_values_block(
                *documents, cells, topics, sweeps, self.eta_t, *labels, gamma_dt
            )

        words = sum(run_blocks(work, corpus.document_blocks))
        _predict(corpus, posterior, self.eta_t, self.prediction)
        return words + self.annotators.bound(self.prediction, self.parameters)

    def m_step(self, corpus: Corpus, posterior: DocumentPosterior) -> "RegressionResponse":
        """The response with the best eta, and better annotators and rho."""
        eta_t, parameters = self.best_eta(corpus, posterior), self.parameters
        prediction = Prediction.zeros(corpus.n_documents)
        _predict(corpus, posterior, eta_t, prediction)
        for _ in range(_STEPS):
            parameters = self.annotators.improve(prediction, parameters)
        eta_t, parameters = self.annotators.shift_biases(eta_t, self.l2, parameters)
        return replace(self, eta_t=eta_t, parameters=parameters, prediction=prediction)

    def prior_term(self) -> float:
        """See `Response.prior_term`: log-priors of eta, annotators and rho, up to a constant."""
        penalty = 0.5 * self.l2 * float(np.square(self.eta_t).sum())
        return self.annotators.log_prior(self.parameters) - penalty

    def values(self) -> Prediction:
        """Mean and variance of every document's value, by words and labels."""
        return self.annotators.values(self.prediction, self.parameters)

    def best_eta(self, corpus: Corpus, posterior: DocumentPosterior) -> Floats:
        """The best eta for this posterior and these annotators."""
        labels, cells = self.annotators.label_means(self.parameters), posterior.cells(corpus)
        n_topics, blocks = len(self.eta_t), corpus.document_blocks
        squares_btu = np.zeros((len(blocks), n_topics, n_topics))
        target_bt = np.zeros((len(blocks), n_topics))

        def work(block: int) -> None:
            add_normal_equations(
                *blocks[block], cells, *labels, squares_btu[block], target_bt[block]
            )

        run_blocks(work, range(len(blocks)))
        upper_tu = squares_btu.sum(axis=0) + self.l2 * np.eye(n_topics)
        return np.asarray(solve(upper_tu, target_bt.sum(axis=0), lower=False, assume_a="pos"))


def _predict(
    corpus: Corpus, posterior: DocumentPosterior, eta_t: Floats, prediction: Prediction
) -> None:
    """Mean and variance of every document's f, in place."""
    cells = posterior.cells(corpus)

    def work(documents: tuple[int, int]) -> None:
        predict_block(*documents, cells, eta_t, prediction.mean_d, prediction.variance_d)

    run_blocks(work, corpus.document_blocks)
