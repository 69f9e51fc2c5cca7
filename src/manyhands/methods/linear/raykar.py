"""The model of Raykar et al.: logistic regression and confusions, learnt together."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.em import run_em
from manyhands.aggregation.evidence import gather_evidence, majority_posterior
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation, fit_confusions
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.methods.base import About, Method
from manyhands.methods.linear.logistic import Point, SoftmaxRegression
from manyhands.methods.linear.method import LinearMethod, LinearSolution
from manyhands.methods.linear.weights import LinearWeights, check_features

_FIRST_STEPS, _STEPS = 10, 2  # of the regression: from zero weights, and in every M-step


@dataclass(frozen=True)
class Raykar(LinearMethod):
    """Logistic regression and confusions by EM; `settings` are those of `fit_raykar`."""

    def solve(self, features: Floats, annotations: Annotations, max_iter: int) -> LinearSolution:
        """See `LinearMethod.solve`."""
        fit = fit_raykar(features, annotations, max_iter=max_iter, **self.settings)
        return LinearSolution(fit.weights, fit.confusion_akl, fit.objective)


@dataclass(frozen=True)
class RaykarFit:
    """The classifier, the confusions, the posterior of the items, the objective of every step."""

    weights: LinearWeights
    confusion_akl: Floats
    posterior_ik: Floats
    objective: tuple[float, ...]
    converged: bool


@dataclass(frozen=True)
class _State:
    point: Point
    log_confusion_alk: Floats
    log_prior: float


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
    expect = ConfusionPass(evidence)
    regression = SoftmaxRegression(features_ij, ann.n_classes, l2=l2, intercept_l2=intercept_l2)
    pseudo_alk = prior_strength * _attentive_confusion(ann.n_classes, prior_attentive)[None]
    is_labelled_i = (ann.labels_per_item > 0).astype(np.float64)[:, None]
    min_gain = tol * ann.n_annotations

    def maximise(expected: Expectation, point: Point, max_steps: int) -> _State:
        target_ik = expected.posterior_ik * is_labelled_i
        point, _ = regression.ascend(point, target_ik, max_steps=max_steps, tol=0.01 * min_gain)
        confusions = fit_confusions(expected.counts_alk, pseudo_alk)
        log_prior = confusions.log_prior + regression.log_prior(point)
        return _State(point, confusions.log_confusion_alk, log_prior)

    def step(state: _State) -> tuple[_State, float]:
        expected = expect(state.point.log_class_ik, state.log_confusion_alk)
        return maximise(expected, state.point, _STEPS), expected.log_likelihood + state.log_prior

    start = maximise(expect.count(majority_posterior(evidence)), regression.at(), _FIRST_STEPS)
    run = run_em(start, step, max_iter=max_iter, tol=min_gain)
    expected = expect(run.state.point.log_class_ik, run.state.log_confusion_alk)
    return RaykarFit(
        regression.weights(run.state.point),
        np.exp(run.state.log_confusion_alk).transpose(0, 2, 1),
        expected.posterior_ik,
        run.objective,
        run.converged,
    )


def _attentive_confusion(n_classes: int, attentive: float) -> Floats:
    """The confusion of an annotator who attends this often and otherwise gives any label."""
    return attentive * np.eye(n_classes) + (1.0 - attentive) / n_classes


_COST = "a step of the regression + K x K per label"

ROWS: dict[str, Method] = {
    "raykar": Raykar(
        about=About(
            source="Raykar et al. 2010",
            equation="q_ik ~ f_k prod_n C_a[k, y_n]; C and a logistic regression by maximum",
            cost=_COST,
            when="few features, and annotators with many labels each",
        ),
    ),
    "raykar-prior": Raykar(
        {"prior_strength": 10.0},  # labels per class, as Dawid-Skene has
        about=About(
            source="Raykar et al. 2010, with their prior",
            equation="the same with pseudo-labels of an annotator who is right more often",
            cost=_COST,
            when="few features, and annotators with few labels each",
        ),
    ),
}
