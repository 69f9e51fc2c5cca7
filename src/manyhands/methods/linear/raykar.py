"""Raykar's model: logistic regression and everybody's confusions, learnt together."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.em import run_em
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, Expectation, fit_confusions
from manyhands.aggregation.majority import majority_posterior
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.methods.linear.regression import Point, SoftmaxRegression
from manyhands.methods.linear.weights import LinearWeights, matched

_STEPS_AT_FIRST, _STEPS = 10, 2  # of the regression: from nothing, and from one M-step to the next


@dataclass(frozen=True)
class RaykarFit:
    """The classifier, everybody's confusion, the items' posterior, the objective of every step."""

    weights: LinearWeights
    confusion_akl: Floats
    posterior_ik: Floats
    objective: tuple[float, ...]
    converged: bool


@dataclass(frozen=True)
class _State:
    point: Point
    log_confusion_alk: Floats
    log_p: float  # of the parameters


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
    """Logistic regression f and confusions C from crowd labels, by EM.

    ::

        E:  q_ik ~ f_k(x_i) prod_n C[a_n, k, y_n]
        M:  C[a,k,l] ~ sum_n q_ik [a_n = a, y_n = l] + A[k,l]
            f: a few steps of Newton's up sum_ik q_ik log f_k(x_i) - l2/2 |W|^2

    The objective never falls::

        sum_i log sum_k f_k(x_i) prod_n C[a_n,k,y_n] + sum_akl A[k,l] log C[a,k,l]
            - l2/2 |W|^2 - intercept_l2/2 |b|^2

    It starts from label shares and ends when a step gains less than `tol` per label. An item
    without labels says nothing and is left out of the regression.

    Settings
    --------
    prior_strength:
        pseudo-labels per annotator and true class; 0 is maximum likelihood, as Raykar et al.
        write the model first. With few labels per annotator and class it overfits.
    prior_attentive:
        where the pseudo-labels lie: A = prior_strength (prior_attentive I + (1 - prior_attentive)
        / K), a person who gives the true class so often and else any label. 0 is flat.

    Sources: Raykar et al. 2010 (their Beta and Dirichlet priors, here the same for everybody);
    compared with and without the prior in Rodrigues, Pereira and Ribeiro 2013.
    """
    require(0 <= prior_strength < np.inf, "prior_strength", "0 or more", prior_strength)
    require(0 <= prior_attentive <= 1, "prior_attentive", "between 0 and 1", prior_attentive)
    features_ij, ann = matched(features, annotations)
    evidence = gather_evidence(ann)
    expect = ConfusionPass(evidence)
    regression = SoftmaxRegression(features_ij, ann.n_classes, l2=l2, intercept_l2=intercept_l2)
    pseudo_alk = prior_strength * _tilted(ann.n_classes, prior_attentive)[None]
    said_i = (ann.labels_per_item > 0).astype(np.float64)[:, None]
    least = tol * ann.n_annotations

    def maximise(expected: Expectation, point: Point, max_steps: int) -> _State:
        target_ik = expected.posterior_ik * said_i
        point, _ = regression.ascend(point, target_ik, max_steps=max_steps, enough=0.01 * least)
        confusions = fit_confusions(expected.counts_alk, pseudo_alk)
        log_p = confusions.log_prior + regression.log_prior(point)
        return _State(point, confusions.log_confusion_alk, log_p)

    def step(state: _State) -> tuple[_State, float]:
        expected = expect(state.point.log_class_ik, state.log_confusion_alk)
        return maximise(expected, state.point, _STEPS), expected.log_likelihood + state.log_p

    begin = maximise(expect.count(majority_posterior(evidence)), regression.at(), _STEPS_AT_FIRST)
    run = run_em(begin, step, max_iter=max_iter, tol=least)
    expected = expect(run.state.point.log_class_ik, run.state.log_confusion_alk)
    return RaykarFit(
        regression.weights(run.state.point),
        np.exp(run.state.log_confusion_alk).transpose(0, 2, 1),
        expected.posterior_ik,
        run.objective,
        run.converged,
    )


def _tilted(n_classes: int, ma_lr: float) -> Floats:
    """The confusion of a person who gives the true class so often, and else any label."""
    return ma_lr * np.eye(n_classes) + (1.0 - ma_lr) / n_classes
