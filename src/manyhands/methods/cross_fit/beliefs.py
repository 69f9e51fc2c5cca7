"""Beliefs about items from labels and features, each without what it would teach itself."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import softmax

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.engine.batches import split_labels
from manyhands.evaluation import apply_temperature
from manyhands.methods.cross_fit.label_model import CrowdLabels, skill_and_spam
from manyhands.methods.cross_fit.learners import Learner

STRENGTHS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # pseudo-labels of the prior of an annotator
_FIRST_STRENGTH = 5.0
_FIRST_EXPONENT, _LEAST_EXPONENT = 0.5, 0.05
_LABELS_ALONE = 30  # steps of a start without features
_SMOOTHING = 0.1  # pseudo-labels of each class in the start from the majority
_PENALTY = 1e-3  # on squared weights, so that there is one best weight of equal scores
_SOLVER_STEPS = 60
_FLOOR = 1e-3  # of class frequencies
_HELD_OUT, _SPLITS = 0.2, 2  # share of the labels that a temperature is found by, and how often
_FEW = 50  # held-out labels that are too few to find it by
_TEMPERATURES = 0.5, 5.0  # the lowest and the highest


@dataclass(frozen=True)
class Weights:
    """How much every score (m) of the learner and the labels count in a belief."""

    score_m: Floats
    labels: float


def first_weights(learner: Learner) -> Weights:
    """Those of the learner; the class frequencies, the last score, count once."""
    return Weights(np.append(learner.first_weights, 1.0), _FIRST_EXPONENT)


@dataclass(frozen=True)
class CrossFit:
    """Beliefs (i, k), what they are made of, and how well each label is predicted without itself.

    `feature_class_i` is the class of every item by the features alone, learnt from other items.
    `objective` is the mean log-probability of a label given the other labels of its item and the
    features, after every round.
    """

    belief_ik: Floats
    feature_class_i: AnyArray
    weights: Weights
    strength: float
    spam_a: Floats
    objective: tuple[float, ...]
    converged: bool


@dataclass(frozen=True)
class LabelPrediction:
    """The prediction of every label from the other labels of its item and from scores (m, i, k).

    `log_label_nk` are the log-probabilities of the labels under each class.
    """

    crowd: CrowdLabels
    score_mik: Floats
    log_label_nk: Floats

    def logits(self, weights: Weights) -> Floats:
        """The logits of the beliefs, shape (i, k)."""
        return np.tensordot(weights.score_m, self.score_mik, 1) + weights.labels * self._labels_ik

    def value(self, weights: Weights) -> float:
        """The summed log-probability of the labels."""
        rest_nk = self._rest(weights)
        joint_n = _sum_by_row(rest_nk * self._label_nk)
        return float(np.log(joint_n / _sum_by_row(rest_nk)).sum())

    def gradient(self, weights: Weights) -> Floats:
        """The derivative of `value` by the weights of the scores, and by that of the labels."""
        return self._value_and_gradient(weights)[1]

    def _value_and_gradient(self, weights: Weights) -> tuple[float, Floats]:
        rest_nk = self._rest(weights)
        joint_nk = rest_nk * self._label_nk
        rest_n, joint_n = _sum_by_row(rest_nk), _sum_by_row(joint_nk)
        push_nk = joint_nk / joint_n[:, None] - rest_nk / rest_n[:, None]
        push_ik = self.crowd.sum_by_item(push_nk)
        by_score_m = self.score_mik.reshape(len(self.score_mik), -1) @ push_ik.ravel()
        by_labels = np.vdot(push_nk, self._others_nk)
        return float(np.log(joint_n / rest_n).sum()), np.append(by_score_m, by_labels)

    def best_weights(self, weights: Weights) -> Weights:
        """Weights under which the labels are most probable, found from these."""

        def loss(given: Floats) -> tuple[float, Floats]:
            here = Weights(given[:-1], float(given[-1]))
            value, slope = self._value_and_gradient(here)
            slope = slope - 2 * _PENALTY * np.append(here.score_m, 0.0)
            return _PENALTY * float(np.vdot(here.score_m, here.score_m)) - value, -slope

        found = minimize(
            loss, np.append(weights.score_m, weights.labels), jac=True, method="L-BFGS-B",
            bounds=[(0.0, None)] * len(weights.score_m) + [(_LEAST_EXPONENT, 1.0)],
            options={"maxiter": _SOLVER_STEPS},
        )  # fmt: skip
        return Weights(found.x[:-1], float(found.x[-1]))

    def _rest(self, weights: Weights) -> Floats:
        """Beliefs without label n, up to a factor; that of the likeliest class is 1."""
        item_n = self.crowd.annotations.item
        rest_nk = self.logits(weights)[item_n] - weights.labels * self.log_label_nk
        largest_n = rest_nk[:, 0]
        for column in rest_nk.T[1:]:  # there are far fewer classes than labels
            largest_n = np.maximum(largest_n, column)
        return np.asarray(np.exp(rest_nk - largest_n[:, None]))

    @cached_property
    def _label_nk(self) -> Floats:
        return np.asarray(np.exp(self.log_label_nk))

    @cached_property
    def _labels_ik(self) -> Floats:
        return self.crowd.sum_by_item(self.log_label_nk)

    @cached_property
    def _others_nk(self) -> Floats:
        """The log-probabilities of the other labels of the item."""
        return np.asarray(self._labels_ik[self.crowd.annotations.item] - self.log_label_nk)


def _sum_by_row(value_nk: Floats) -> Floats:
    """Sums of short rows, faster than `sum(axis=1)`."""
    return np.asarray(value_nk @ np.ones(value_nk.shape[1]))


def fit_cross_fit(
    learner: Learner,
    annotations: Annotations,
    *,
    starts: Iterable[str] | None = None,
    max_iter: int = 50,
    tol: float = 1e-3,
) -> CrossFit:
    """Beliefs about items that all have labels, from their labels and a learner of features.

    ::

        q_i = softmax(sum_m w_m f_m,i + beta sum_{n of i} log C_{a_n}^{-i}[., y_n])

    f_m,i are the scores of item i by a learner that was trained on the beliefs of *other* items
    (`Learner.left_out`) and the log class frequencies. C^{-i} are confusions from the beliefs of
    all other items (`CrowdLabels.left_out`) with a prior of `strength` pseudo-labels
    (`skill_and_spam`). So neither the classifier nor the annotators have seen the belief that they
    judge. In every round, strength, w >= 0 and 0.05 <= beta <= 1 are chosen by the objective: the
    probability of each label given the other labels of its item and the features,

    ::

        L = sum_n log sum_k softmax(logits of q_i without label n)_k C_{a_n}^{-i}[k, y_n]

    and the beliefs are made anew, until they change by less than `tol` (the mean over the items of
    half the summed absolute change). There may be several solutions. One is found from each of the
    `starts`, some of `STARTS` or all, and that with the highest L is returned.
    """
    crowd = CrowdLabels(annotations)
    chosen = STARTS if starts is None else {name: STARTS[name] for name in starts}
    found = [solve(crowd, learner, start(crowd), max_iter, tol) for start in chosen.values()]
    return max(found, key=lambda each: each.objective[-1])


def find_temperature(
    learner: Learner, annotations: Annotations, *, max_iter: int, tol: float, seed: int
) -> float:
    """The temperature of beliefs under which labels that were not fitted are most probable.

    The weights are chosen by labels that also make the beliefs of *other* items, so that beliefs
    are too certain. Here a fifth of the labels is held out, twice, and beliefs are found from the
    rest::

        T = argmax sum over held-out n of log sum_k softmax(log q_i / T)_k C_{a_n}[k, y_n]

    It is 1 if there are too few labels to hold out.
    """
    if _n_spare(annotations) < _FEW:
        return 1.0
    parts = []
    for number in range(_SPLITS):
        rest, held_out = split_labels(annotations, _HELD_OUT, seed + number)
        assert held_out is not None, "some labels can be held out"
        crowd = CrowdLabels(rest)
        fit = solve(crowd, learner, majority(crowd), max_iter, tol)
        confusion_akl = crowd.confusions(fit.belief_ik, fit.strength)
        label_nk = confusion_akl[held_out.annotator, :, held_out.label]
        parts.append((fit.belief_ik[held_out.item], label_nk))
    belief_nk, label_nk = (np.concatenate(each) for each in zip(*parts, strict=True))

    def loss(log_temperature: float) -> float:
        tempered_nk = apply_temperature(belief_nk, float(np.exp(log_temperature)))
        return -float(np.log((tempered_nk * label_nk).sum(axis=1)).mean())

    bounds = np.log(_TEMPERATURES[0]), np.log(_TEMPERATURES[1])
    found = minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(found.x))


def _n_spare(annotations: Annotations) -> float:
    """How many labels can be held out: none that is the last of its item."""
    spare = int(np.maximum(annotations.labels_per_item - 1, 0).sum())
    return min(_HELD_OUT * annotations.n_annotations, spare)


def majority(crowd: CrowdLabels) -> Floats:
    """The shares of the labels of every item, smoothed, shape (i, k)."""
    share_ik = crowd.votes() + _SMOOTHING
    return np.asarray(share_ik / share_ik.sum(axis=1, keepdims=True))


def labels_alone(crowd: CrowdLabels, exponent: float = 1.0) -> Floats:
    """Beliefs from the labels without features, shape (i, k); each counts `exponent` times."""
    belief_ik = majority(crowd)
    for _ in range(_LABELS_ALONE):
        prior_akl, _ = skill_and_spam(crowd.counts(belief_ik))
        log_label_nk = crowd.left_out(belief_ik, prior_akl, _FIRST_STRENGTH)
        labels_ik = exponent * crowd.sum_by_item(log_label_nk)
        belief_ik = softmax(_log_shares(belief_ik) + labels_ik, axis=1)
    return belief_ik


STARTS: Mapping[str, Callable[[CrowdLabels], Floats]] = {
    "majority": majority,
    "labels alone": labels_alone,
    "labels alone, counted half": partial(labels_alone, exponent=_FIRST_EXPONENT),
}
TWO_STARTS = "majority", "labels alone"


def solve(
    crowd: CrowdLabels, learner: Learner, belief_ik: Floats, max_iter: int, tol: float
) -> CrossFit:
    """The solution of `fit_cross_fit` that is found from these beliefs."""
    objective, n_labels = [], crowd.annotations.n_annotations
    weights = first_weights(learner)
    for _ in range(max_iter):
        prior_akl, spam_a = skill_and_spam(crowd.counts(belief_ik))
        score_mik = learner_scores(learner, belief_ik)
        mixes = [
            LabelPrediction(crowd, score_mik, crowd.left_out(belief_ik, prior_akl, strength))
            for strength in STRENGTHS
        ]
        chosen = int(np.argmax([mix.value(weights) for mix in mixes]))
        strength, mix = STRENGTHS[chosen], mixes[chosen]
        weights = mix.best_weights(weights)
        objective.append(mix.value(weights) / n_labels)
        better_ik = softmax(mix.logits(weights), axis=1)
        change = 0.5 * float(np.abs(better_ik - belief_ik).sum(axis=1).mean())
        belief_ik = better_ik
        if change < tol:
            break
    feature_class_i = np.tensordot(weights.score_m, mix.score_mik, 1).argmax(axis=1)
    return CrossFit(
        belief_ik, feature_class_i, weights, strength, spam_a, tuple(objective), change < tol
    )


def learner_scores(learner: Learner, belief_ik: Floats) -> Floats:
    """The scores of the learner and the log class frequencies, shape (m, i, k)."""
    shares_ik = np.tile(_log_shares(belief_ik), (len(belief_ik), 1))
    return np.concatenate([learner.left_out(belief_ik), shares_ik[None]])


def _log_shares(belief_ik: Floats) -> Floats:
    return np.asarray(np.log(belief_ik.mean(axis=0) + _FLOOR))
