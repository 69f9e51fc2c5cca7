"""The model of Raykar et al.: logistic regression and confusions, learnt together."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.evidence import gather_evidence, majority_posterior
from manyhands.aggregation.kernels.confusion_pass import (
    ConfusionPass,
    ConfusionStep,
    fit_confusions,
)
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.methods.base import About, Method, Paper
from manyhands.methods.linear.base import LinearFit, LinearMethod, check_features, random_confusions
from manyhands.methods.linear.logistic import SoftmaxRegression, run_regression_em


@dataclass(frozen=True)
class RaykarFit(LinearFit):
    """The fit, and the posterior of the items."""

    posterior_ik: Floats


def fit_raykar(
    features: Any,
    annotations: Annotations,
    *,
    prior_strength: float = 0.0,
    prior_attentive: float = 0.5,
    l2: float = 1.0,
    intercept_l2: float = 0.0,
    max_iter: int = 1000,
    tol: float = 1e-8,
) -> RaykarFit:
    """Estimate logistic regression f and confusions C from crowd labels, by EM.

    ::

        E:  q_ik ~ f_k(x_i) prod_n C[a_n, k, y_n]
        M:  C[a,k,l] ~ sum_n q_ik [a_n = a, y_n = l] + A[k,l]
            f: a few Newton steps on sum_ik q_ik log f_k(x_i) - l2/2 |W|^2

    The objective never falls::

        sum_i log sum_k f_k(x_i) prod_n C[a_n,k,y_n] + sum_akl A[k,l] log C[a,k,l]
            - l2/2 |W|^2 - intercept_l2/2 |b|^2

    EM starts from the label distributions and ends when a step gains less than `tol` per label.
    An item without labels is left out of the regression.

    Settings
    --------
    prior_strength:
        number of pseudo-labels per annotator and true class. 0 is maximum likelihood, the first
        model of Raykar et al. With few labels per annotator and class it overfits.
    prior_attentive:
        distribution of the pseudo-labels: A = prior_strength (prior_attentive I +
        (1 - prior_attentive) / K), an annotator who gives the true class with this probability
        and otherwise any label. 0 is flat.

    Sources: Raykar et al. 2010 (their Beta and Dirichlet priors, here the same for all
    annotators); compared with and without the prior in Rodrigues, Pereira and Ribeiro 2013.
    """
    require(0 <= prior_strength < np.inf, "prior_strength", "0 or more", prior_strength)
    require(0 <= prior_attentive <= 1, "prior_attentive", "between 0 and 1", prior_attentive)
    features_ij, ann = check_features(features, annotations)
    evidence = gather_evidence(ann)
    e_step = ConfusionPass(evidence)
    regression = SoftmaxRegression(features_ij, ann.n_classes, l2=l2, intercept_l2=intercept_l2)
    pseudo_alk = prior_strength * random_confusions(np.array([prior_attentive]), ann.n_classes)
    is_labelled_i1 = (ann.labels_per_item > 0).astype(np.float64)[:, None]

    def expect(log_class_ik: Floats, now: ConfusionStep) -> tuple[Floats, ConfusionStep, float]:
        expected = e_step(log_class_ik, now.log_confusion_alk)
        better = fit_confusions(expected.counts_alk, pseudo_alk)
        target_ik = expected.posterior_ik * is_labelled_i1
        return target_ik, better, expected.log_likelihood + now.log_prior

    first = e_step.count(majority_posterior(evidence))
    run = run_regression_em(
        regression,
        expect,
        first.posterior_ik * is_labelled_i1,
        fit_confusions(first.counts_alk, pseudo_alk),
        max_iter=max_iter,
        min_gain=tol * ann.n_annotations,
    )
    point, log_confusion_alk = run.state[0], run.state[1].log_confusion_alk
    return RaykarFit(
        regression.weights(point),
        np.exp(log_confusion_alk).transpose(0, 2, 1),
        run.objective,
        run.converged,
        e_step(point.log_class_ik, log_confusion_alk).posterior_ik,
    )


@dataclass(frozen=True)
class Raykar(LinearMethod):
    """Logistic regression and confusions by EM; `settings` are those of `fit_raykar`."""

    solve = staticmethod(fit_raykar)


ROWS: dict[str, Method] = {
    "raykar": Raykar(
        paper=Paper(preset="p1/sentiment"),
        about=About(
            source="Raykar et al. 2010",
            equation="q_ik ~ f_k prod_n C_a[k, y_n]; C and a logistic regression by maximum",
            cost="a step of the regression + K x K per label",
            when="few features, and annotators with many labels each",
        ),
    ),
    "raykar-prior": Raykar(
        {"prior_strength": 10.0},
        paper=Paper(preset="p1/sentiment"),
        about=About(
            source="Raykar et al. 2010, with their prior",
            equation="the same with pseudo-labels of an annotator who is right more often",
            cost="a step of the regression + K x K per label",
            when="few features, and annotators with few labels each",
        ),
    ),
}
