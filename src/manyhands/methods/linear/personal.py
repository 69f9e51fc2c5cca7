"""Personal classifiers: everybody labels by a classifier of their own, drawn towards a common one.

Cost: annotators x (features + 1) x (classes - 1) numbers are learnt, a handful of vectors of that
length are held, and one pass takes annotations x features x classes operations.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.settings import require
from manyhands.methods.linear.personal_loss import PersonalLoss
from manyhands.methods.linear.weights import LinearWeights, matched

_FAR = 1000.0  # steps at most, by the length of the first


@dataclass(frozen=True)
class PersonalFit:
    """The common classifier, everybody's own, the greatest objective, and whether it was reached.

    Row a of `coefficient_ajk` and `intercept_ak` is annotator a's classifier.
    """

    weights: LinearWeights
    coefficient_ajk: Floats
    intercept_ak: Floats
    objective: float
    converged: bool

    def personal(self, annotator: int) -> LinearWeights:
        """The classifier of one annotator, by code."""
        return LinearWeights(self.coefficient_ajk[annotator], self.intercept_ak[annotator])


def fit_personal(
    features: Any,
    annotations: Annotations,
    *,
    prior_precision: float | None = None,
    intercept_prior_precision: float = 1.0,
    l2: float = 1.0,
    intercept_l2: float = 0.0,
    start: LinearWeights | None = None,
    max_iter: int = 200,
    tol: float = 1e-8,
) -> PersonalFit:
    """Classifiers w_a ~ N(w_0, 1/pull) of annotators, and the common one w_0 ~ N(0, 1/l2).

    The objective is concave and has one maximum::

        sum_n log softmax(x_i w_a)[y_n] - pull/2 sum_a |w_a - w_0|^2 - l2/2 |w_0|^2

    where intercepts have an `intercept_prior_precision` and an `intercept_l2` of their own. Newton's steps by
    conjugate gradients, within a region of trust, climb it. An endless pull gives logistic
    regression on all labels; the weaker it is, the less people have in common and the longer the
    search takes.

    `pull` is by default the mean of |x_i|^2: a person's logits then deviate from the common ones
    by about 1, whatever the number and scale of features. `start` is a first w_0, for everybody.
    It ends where about `tol` per label is still to be gained.

    Source: Kajino, Tsuboi and Kashima 2012, here with more than two classes.
    """
    features_ij, ann = matched(features, annotations)
    if prior_precision is None:
        prior_precision = max(float(np.square(features_ij).sum(axis=1).mean()), 1e-12)
    for name, precision in (
        ("prior_precision", prior_precision),
        ("intercept_prior_precision", intercept_prior_precision),
    ):
        require(0 < precision < np.inf, name, "above 0", precision)
    for name, precision in (("l2", l2), ("intercept_l2", intercept_l2)):
        require(0 <= precision < np.inf, name, "0 or more", precision)
    n_features = features_ij.shape[1]
    loss = PersonalLoss(
        features_ij,
        ann,
        pull_j=np.append(np.full(n_features, prior_precision), intercept_prior_precision),
        ridge_j=np.append(np.full(n_features, l2), intercept_l2),
    )
    found = minimize(
        loss,
        loss.begin(start),
        jac=True,
        hessp=loss.curvature,
        method="trust-ncg",
        options={
            "maxiter": max_iter,
            # Deviations curve by 1 at least, so that |slope|^2 / 2 bounds what they can gain.
            "gtol": np.sqrt(2.0 * tol * ann.n_annotations),
            "initial_trust_radius": np.sqrt(ann.n_annotations),
            "max_trust_radius": _FAR * np.sqrt(ann.n_annotations),
        },
    )
    weights, stacked_ajk = loss.classifiers(found.x)
    return PersonalFit(
        weights, stacked_ajk[:, :-1], stacked_ajk[:, -1], -float(found.fun), bool(found.success)
    )
