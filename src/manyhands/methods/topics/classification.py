"""MA-sLDAc: supervised topics for classes from crowd labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.engine.inputs import Inputs
from manyhands.methods.base import About, Method
from manyhands.methods.full_batch import FullBatchFit
from manyhands.methods.linear.kernels import log_softmax
from manyhands.methods.topics.base import TopicMethod, TopicNetwork, word_counts
from manyhands.methods.topics.classification_response import ClassResponse
from manyhands.methods.topics.corpus import check_documents
from manyhands.methods.topics.variational import (
    TopicFit,
    VariationalEM,
    infer_topics,
    require_positive,
)


class TopicClassifier(TopicNetwork):
    """log softmax(eta . E zbar) of documents, from counts of words."""

    def __init__(self, n_words: int, n_topics: int, n_classes: int) -> None:
        super().__init__(n_words, torch.zeros(n_topics, n_classes))
        self.settings = {"n_words": n_words, "n_topics": n_topics, "n_classes": n_classes}

    def predict(self, mean_topic_bt: Floats, eta: Floats) -> Tensor:
        """Log-probabilities of the classes, shape (b, k)."""
        return torch.from_numpy(class_probabilities(mean_topic_bt, eta)).log()


@dataclass(frozen=True)
class TopicModel(TopicMethod):
    """Supervised topics and confusions; `settings` are those of `fit_topic_classifier`."""

    network_class = TopicClassifier

    def fit(
        self, inputs: Inputs, annotations: Annotations, *, max_iter: int, seed: int
    ) -> FullBatchFit:
        """See `FullBatchMethod.fit`."""
        settings = self.solver_settings(max_iter, seed)
        fit = fit_topic_classifier(word_counts(inputs), annotations, **settings)
        n_topics, n_words = fit.zeta_tw.shape
        network = self.build_network(
            {"n_words": n_words, "n_topics": n_topics, "n_classes": fit.eta_tk.shape[1]},
            {"zeta": fit.zeta_tw, "eta": fit.eta_tk, "alpha": fit.alpha},
        )
        return FullBatchFit(network, fit.confusion_akl, fit.objective)


@dataclass(frozen=True)
class TopicClassifierFit(TopicFit):
    """Topics, the class weights `eta_tk` of the topics, confusions, and the documents fitted.

    `posterior_dk` are the class probabilities by words and labels.
    """

    eta_tk: Floats
    confusion_akl: Floats
    posterior_dk: Floats


def fit_topic_classifier(
    counts: Any,
    annotations: Annotations,
    *,
    n_topics: int = 20,
    alpha: float = 0.1,
    word_prior: float = 0.1,
    confusion_prior: float = 1.0,
    l2: float = 0.1,
    start_tw: Any = None,
    sweeps: int = 2,
    max_iter: int = 200,
    tol: float = 1e-5,
    seed: int = 0,
) -> TopicClassifierFit:
    """Fit supervised latent Dirichlet allocation with confusions, by variational EM.

    Row d of `counts` has the words of item d. With tau, omega for the two priors::

        beta_t ~ Dirichlet(tau)            the words of topic t
        theta_d ~ Dirichlet(alpha)         the topics of document d
        z ~ theta_d,  w ~ beta_z           every word of it
        c_d ~ softmax(eta . zbar_d)        its class, by the mean of its words' topics
        pi_ak ~ Dirichlet(omega)           the labels of annotator a for class k
        y_n ~ pi[a_n, c_d]                 every label of it

    All but eta have mean-field posteriors, q(beta) q(theta) q(z) q(c) q(pi), and equal words of a
    document share their q(z). eta is a point estimate with a Gaussian prior of precision `l2`. The
    objective is the bound of log p(words, labels) + log p(eta), up to a constant, and never
    falls::

        sum_d [ sum_j c_j sum_t phi_jt (E log theta_dt + E log beta_tw - log phi_jt)
              + E log p(theta_d) - E log q(theta_d)
              + sum_k q_dk (eta_k . E zbar_d + sum_n E log pi[a_n,k,y_n] - log q_dk) - L_d ]
            + E log p(beta) - E log q(beta) + E log p(pi) - E log q(pi) - l2/2 |eta|^2

    L_d bounds the normaliser of the softmax, see `classification_kernels`. The third line is for
    documents with labels. The others contribute to the topics, and their class is
    softmax(eta . E zbar_d).

    EM ends when a step gains less than `tol` per word and label. `start_tw`, positive and with
    `n_topics` rows, is the first posterior of the words of topics. By default it is random, and
    each topic leans towards the words of one class. `sweeps` is the number of sweeps over the
    words of a document in every E-step: with many, documents commit themselves to the first
    topics, and the bound ends lower.

    Cost: a sweep takes cells x topics x classes operations; cells x topics numbers are held.

    Sources: Rodrigues, Lourenco, Ribeiro and Pereira 2017; Wang, Blei and Fei-Fei 2009.
    """
    em = VariationalEM(n_topics, alpha, word_prior, start_tw, sweeps, max_iter, tol, seed)
    require_positive({"confusion_prior": confusion_prior})
    require(0 <= l2 < np.inf, "l2", "0 or more", l2)
    corpus, ann = check_documents(counts, annotations, "classes")
    first = ClassResponse.initial(ann, n_topics, omega=confusion_prior, l2=l2)
    topics, response = em.run(corpus, first, ann.label_counts(), ann.n_annotations)
    return TopicClassifierFit(
        **vars(topics),
        eta_tk=np.ascontiguousarray(response.eta_kt.T),
        confusion_akl=response.confusion_akl(),
        posterior_dk=response.posterior_dk,
    )


def predict_classes(fit: TopicClassifierFit, counts: Any) -> Floats:
    """Class probabilities of new documents by their words, softmax(eta . E zbar), shape (d, k)."""
    return class_probabilities(infer_topics(fit.zeta_tw, fit.alpha, counts), fit.eta_tk)


def class_probabilities(mean_topic_dt: Floats, eta_tk: Floats) -> Floats:
    """softmax(eta . E zbar), shape (d, k)."""
    return np.exp(log_softmax(mean_topic_dt @ eta_tk))


ROWS: dict[str, Method] = {
    "ma-slda-c": TopicModel(
        about=About(
            source="Rodrigues et al. 2017 (MA-sLDAc)",
            equation="c ~ softmax(eta . mean topic of the words), y_n ~ C_a[c]; variational",
            cost="a sweep takes words x topics x K operations",
            when="texts as counts of words, and topics that people can read",
        ),
    ),
}
