"""MA-sLDAr: supervised topics for numeric values from crowd labels."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.linalg import solve
from torch import Tensor

from manyhands.aggregation import Gaussian
from manyhands.aggregation.em import run_em
from manyhands.aggregation.gaussian_steps import NetworkedParameters
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats, read_only
from manyhands.core.kernels import run_blocks
from manyhands.methods.base import About, Method, Paper
from manyhands.methods.topics.base import TopicMethod, TopicNetwork
from manyhands.methods.topics.corpus import Corpus, check_documents
from manyhands.methods.topics.kernels import Topics
from manyhands.methods.topics.regression_annotators import RegressionAnnotators
from manyhands.methods.topics.regression_kernels import (
    Prediction,
    add_normal_equations,
    predict_block,
    update_values_block,
)
from manyhands.methods.topics.variational import (
    DocumentPosterior,
    TopicFit,
    VariationalEM,
    infer_topics,
    require_positive,
)
from manyhands.noise.regression import LEAST_VARIANCE

_MAX_LEVELS = 5  # groups of documents by their value, for the first topics
_ERROR_STEPS, _ERROR_GAIN = 500, 1e-7  # of EM for the error of words; least gain per label
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

    def e_step(self, corpus: Corpus, posterior: DocumentPosterior, topics: Topics) -> float:
        """See `Response.e_step`."""
        labels, cells = self.annotators.label_means(self.parameters), posterior.cells(corpus)
        words = sum(corpus.run(update_values_block, cells, topics, self.eta_t, labels))
        corpus.run(predict_block, cells, self.eta_t, self.prediction)
        return words + self.annotators.bound(self.prediction, self.parameters)

    def m_step(self, corpus: Corpus, posterior: DocumentPosterior) -> "RegressionResponse":
        """The response with the best eta, and better annotators and rho."""
        eta_t, parameters = self.best_eta(corpus, posterior), self.parameters
        prediction = Prediction.zeros(corpus.n_documents)
        corpus.run(predict_block, posterior.cells(corpus), eta_t, prediction)
        for _ in range(_STEPS):
            parameters = self.annotators.improve(prediction, parameters)
        eta_t, parameters = self.annotators.shift_biases(eta_t, self.l2, parameters)
        return replace(self, eta_t=eta_t, parameters=parameters, prediction=prediction)

    def prior_term(self) -> float:
        """See `Response.prior_term`: log-priors of eta, annotators and rho, up to a constant."""
        penalty = 0.5 * self.l2 * float(np.square(self.eta_t).sum())
        return self.annotators.log_prior(self.parameters) - penalty

    def best_eta(self, corpus: Corpus, posterior: DocumentPosterior) -> Floats:
        """The best eta for this posterior and these annotators."""
        labels, cells = self.annotators.label_means(self.parameters), posterior.cells(corpus)
        n_topics, blocks = len(self.eta_t), corpus.document_blocks
        squares_btu = np.zeros((len(blocks), n_topics, n_topics))
        target_bt = np.zeros((len(blocks), n_topics))

        def work(block: int) -> None:
            sums = squares_btu[block], target_bt[block]
            add_normal_equations(*blocks[block], cells, labels, *sums)

        run_blocks(work, range(len(blocks)))
        upper_tu = squares_btu.sum(axis=0) + self.l2 * np.eye(n_topics)
        return np.asarray(solve(upper_tu, target_bt.sum(axis=0), lower=False, assume_a="pos"))


class TopicRegressor(TopicNetwork):
    """eta . E zbar of documents, from counts of words."""

    def __init__(self, n_words: int, n_topics: int) -> None:
        super().__init__(n_words, torch.zeros(n_topics))
        self.settings = {"n_words": n_words, "n_topics": n_topics}

    def predict(self, mean_topic_bt: Floats, eta: Floats) -> Tensor:
        """The value of every document, shape (b, 1)."""
        return torch.from_numpy(np.asarray(mean_topic_bt @ eta)).unsqueeze(1)


@dataclass(frozen=True)
class TopicRegressorFit(TopicFit):
    """Topics, the value `eta_t` of each, annotators, and the documents fitted.

    The value of a document is the mean of eta over its words. `value_d` and `variance_d` are by
    words and labels. `error_variance` is that of values around their topics, 1 / rho. All are in
    the unit of the labels.
    """

    eta_t: Floats
    bias_a: Floats
    precision_a: Floats
    error_variance: float
    value_d: Floats
    variance_d: Floats


def fit_topic_regressor(
    counts: Any,
    annotations: Annotations,
    *,
    n_topics: int = 20,
    alpha: float = 1.0,
    word_prior: float = 0.01,
    bias_strength: float = 5.0,
    prior_strength: float = 50.0,
    l2: float = 0.1,
    start_tw: Any = None,
    sweeps: int = 2,
    max_iter: int = 200,
    tol: float = 1e-5,
    seed: int = 0,
) -> TopicRegressorFit:
    """Fit supervised latent Dirichlet allocation with biases and precisions, by variational EM.

    Row d of `counts` has the words of item d. Labels are standardised, and then::

        beta_t ~ Dirichlet(word_prior)             the words of topic t
        theta_d ~ Dirichlet(alpha)                 the topics of document d
        z ~ theta_d,  w ~ beta_z                   every word of it
        x_d ~ N(eta . zbar_d, 1 / rho)             its value, by the mean of its words' topics
        y_n ~ N(x_d + bias_a, 1 / precision_a)     every label of it

    eta ~ N(0, 1 / l2). rho, biases and precisions have the priors of `RegressionAnnotators`, with
    strengths in labels: an annotator with one label is almost an average one, and the mean of the
    biases is near 0, because labels do not distinguish it from a shift of eta. These four are point
    estimates. The others have posteriors, q(beta) q(theta) q(z) q(x | z), where equal words of a
    document share their q(z), and q(x | z) is exact. The objective is the bound of
    log p(words, labels) + log p(eta, rho, annotators), up to a constant, and never falls. With
    f = eta . zbar and m_d, tau_d, P_d of `RegressionAnnotators`::

        sum_d [ sum_j c_j sum_t phi_jt (E log theta_dt + E log beta_tw - log phi_jt)
              + E log p(theta_d) - E log q(theta_d)
              + sum_n log N(y_n - bias_a; m_d, 1 / precision_a) + log(tau_d / P_d) / 2
              - tau_d/2 ((m_d - E f_d)^2 + Var f_d) ]
            + E log p(beta) - E log q(beta) - l2/2 |eta|^2 + log p(rho) + log p(annotators)

    E f and Var f are exact, see `regression_kernels`. The third and the fourth line are for
    documents with labels. The others contribute to the topics.

    EM ends when a step gains less than `tol` per word and label. `start_tw` and `sweeps` are as in
    `fit_topic_classifier`. By default the first topics lean towards the words of low, middle or
    high values.

    A large `word_prior` hides what rare words tell about the value. On 1500 film reviews with
    26,735 words, 1.0 explained nothing of the labels of held-out reviews, and 0.1 half as much as
    0.01.

    Cost: a sweep takes cells x topics operations, an update of eta cells x topics^2 / 2; cells x
    topics numbers are held.

    Sources: Rodrigues, Lourenco, Ribeiro and Pereira 2017; Blei and McAuliffe 2007. Their posterior
    of x is independent of that of z, which makes a looser bound.
    """
    em = VariationalEM(n_topics, alpha, word_prior, start_tw, sweeps, max_iter, tol, seed)
    strengths = {"bias_strength": bias_strength, "prior_strength": prior_strength}
    require_positive({"l2": l2, **strengths})
    corpus, ann = check_documents(counts, annotations, "numbers")
    centre, scale = float(ann.label.mean()), float(ann.label.std()) or 1.0
    ann = replace(ann, label=read_only((ann.label - centre) / scale))
    annotators = RegressionAnnotators(ann, bias_strength, prior_strength)
    first = RegressionResponse.initial(annotators, n_topics, l2=l2)
    topics, response = em.run(corpus, first, _level_counts(ann, n_topics), ann.n_annotations)
    values = annotators.values(response.prediction, response.parameters)
    own = response.parameters.annotators
    return TopicRegressorFit(
        **vars(topics),
        eta_t=centre + scale * response.eta_t,
        bias_a=scale * own.bias_a,
        precision_a=own.precision_a / scale**2,
        error_variance=scale**2 / response.parameters.network_precision,
        value_d=centre + scale * values.mean_d,
        variance_d=scale**2 * values.variance_d,
    )


def predict_values(fit: TopicRegressorFit, counts: Any) -> Floats:
    """The values of new documents by their words, eta . E zbar, shape (d,)."""
    return np.asarray(infer_topics(fit.zeta_tw, fit.alpha, counts) @ fit.eta_t)


def word_error_variance(fit: TopicRegressorFit, counts: Any, annotations: Annotations) -> float:
    """The variance of these documents' values around their predictions by words alone.

    It is the most probable variance by the labels, given the annotators of the fit. It is larger
    than `error_variance`, because the topics of the fitted documents depend on their labels.
    """
    annotators = RegressionAnnotators(annotations.as_kind("numbers"), 1.0, 1.0)
    value_d = predict_values(fit, counts)
    prediction = Prediction(value_d, np.zeros_like(value_d))
    fitted = replace(
        annotators.initial().annotators, bias_a=fit.bias_a, precision_a=fit.precision_a
    )

    def step(parameters: NetworkedParameters) -> tuple[NetworkedParameters, float]:
        objective = annotators.bound(prediction, parameters) + annotators.log_prior(parameters)
        rho = annotators.improve_rho(prediction, parameters)
        return replace(parameters, network_precision=rho), objective

    start = NetworkedParameters(fitted, 1.0 / fit.error_variance)
    tol = _ERROR_GAIN * annotations.n_annotations
    return 1.0 / run_em(start, step, max_iter=_ERROR_STEPS, tol=tol).state.network_precision


def _level_counts(annotations: Annotations, n_topics: int) -> Floats:
    """The level of every document's value, in place of the classes in `draw_topics`, (d, k).

    Levels hold equally many documents, by the consensus of `Gaussian`. Documents without labels
    have no level.
    """
    is_labelled_d = annotations.labels_per_item > 0
    value_d = Gaussian().fit(annotations).labels
    n_levels = min(_MAX_LEVELS, n_topics)
    edges = np.quantile(value_d[is_labelled_d], np.arange(1, n_levels) / n_levels)
    level_d = np.searchsorted(edges, value_d, side="right")
    return np.asarray(np.eye(n_levels)[level_d] * is_labelled_d[:, None])


@dataclass(frozen=True)
class RegressionTopicModel(TopicMethod):
    """Supervised topics, biases and precisions; `settings` are those of `fit_topic_regressor`."""

    tasks = ("regression",)
    network_class = TopicRegressor
    solve = staticmethod(fit_topic_regressor)

    def estimates(
        self, fit: TopicRegressorFit, counts: Any, annotations: Annotations
    ) -> tuple[Floats, Any]:
        """See `TopicMethod.estimates`."""
        return fit.eta_t, {
            "bias_a": fit.bias_a,
            "precision_a": np.minimum(fit.precision_a, 1.0 / LEAST_VARIANCE),
            "error_variance": max(word_error_variance(fit, counts, annotations), LEAST_VARIANCE),
        }


ROWS: dict[str, Method] = {
    "ma-slda-r": RegressionTopicModel(
        paper=Paper(preset="p0/reviews"),
        about=About(
            source="Rodrigues et al. 2017 (MA-sLDAr)",
            equation="z ~ N(eta . mean topic of the words, v), y ~ N(z + b_a, 1 / precision_a)",
            cost="a sweep takes words x topics operations, an update of eta topics / 2 times that",
            when="numbers; texts as counts of words, and topics that people can read",
        ),
    ),
}
