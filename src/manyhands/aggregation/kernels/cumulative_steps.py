"""Ordered confusions: probabilities of labels by thresholds on a scale, and how they are fitted.

A label is at most l with probability F(t_l - b z) if the item is at the place z of the scale, F the
logistic function. The thresholds t rise; the slope b tells how sharply places are told apart.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from manyhands.core.arrays import AnyArray, Floats

_MAX_STEPS = 50
_HALVINGS = 40
_DONE = 1e-8  # gain that Newton's step still promises, per pseudo-label
_RIDGE = 1e-10
_CELLS = 1 << 20  # of a table of annotators, places and labels that are in work at a time
_LOG_SLOPES = (np.log(1e-2), np.log(1e2))


def log_cumulative(threshold_al: Floats, slope_a: Floats, place_k: Floats) -> Floats:
    """Log-probabilities of labels at some places of the scale, shape (a, k, l).

    log P(l) = log F(x_l) + log F(-x_(l-1)) + log(1 - exp(x_(l-1) - x_l)),   x_l = t_l - b z

    Differences of F would lose all digits where F is near 1.
    """
    x_akt = threshold_al[:, None, :] - (slope_a[:, None] * place_k)[:, :, None]
    edge_ak1 = np.full((*x_akt.shape[:2], 1), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap_at = np.diff(threshold_al, axis=1)
        log_gap_at = np.log(-np.expm1(-gap_at))
    log_p_akl = log_expit(np.concatenate([x_akt, edge_ak1], axis=2))
    log_p_akl += log_expit(np.concatenate([edge_ak1, -x_akt], axis=2))
    log_p_akl[:, :, 1:-1] += log_gap_at[:, None, :]
    return np.asarray(log_p_akl)


def fit_thresholds(
    weight_akl: Floats, threshold_al: Floats, slope_a: Floats, place_k: Floats
) -> tuple[Floats, Floats]:
    """Thresholds and slopes that maximise sum_kl weight[a,k,l] log P(l | a, k), from given ones.

    The sum is concave in both (Pratt 1981), so that Newton's method finds its only maximum; a step
    that would lower the sum is halved. All weights must be above 0.
    """
    threshold_al, slope_a = threshold_al.copy(), slope_a.copy()
    if weight_akl.shape[2] == 1:
        return threshold_al, slope_a
    n_rows = max(1, _CELLS // weight_akl[0].size)
    for first in range(0, len(slope_a), n_rows):
        rows = np.arange(first, min(first + n_rows, len(slope_a)))
        for _ in range(_MAX_STEPS):
            found = weight_akl[rows], threshold_al[rows], slope_a[rows], place_k
            threshold_al[rows], slope_a[rows], is_done = _newton_step(*found)
            rows = rows[~is_done]
            if len(rows) == 0:
                break
    return threshold_al, slope_a


def _newton_step(
    weight_akl: Floats, threshold_al: Floats, slope_a: Floats, place_k: Floats
) -> tuple[Floats, Floats, AnyArray]:
    """One step of Newton's method, and who has arrived."""
    total_a = weight_akl.sum(axis=(1, 2))
    before_a = _value(weight_akl, threshold_al, slope_a, place_k)
    gradient_ap, hessian_app = _derivatives(weight_akl, threshold_al, slope_a, place_k)
    # labels without a mistake have no curvature far out
    ridge_app = _RIDGE * total_a[:, None, None] * np.eye(gradient_ap.shape[1])
    step_ap = np.linalg.solve(ridge_app - hessian_app, gradient_ap[:, :, None])[:, :, 0]
    is_done = (gradient_ap * step_ap).sum(axis=1) < _DONE * total_a
    size_a = np.ones(len(slope_a))
    for _ in range(_HALVINGS):
        new_al = threshold_al + size_a[:, None] * step_ap[:, :-1]
        new_a = slope_a + size_a * step_ap[:, -1]
        worse = ~(_value(weight_akl, new_al, new_a, place_k) >= before_a)
        if not (worse & ~is_done).any():  # the last step is taken if rounding allows it
            break
        size_a[worse] /= 2
    threshold_al = np.where(worse[:, None], threshold_al, new_al)
    slope_a = np.where(worse, slope_a, new_a)
    return threshold_al, slope_a, worse | is_done


def _value(weight_akl: Floats, threshold_al: Floats, slope_a: Floats, place_k: Floats) -> Floats:
    """The sum that is maximised; NaN where thresholds do not rise."""
    log_p_akl = log_cumulative(threshold_al, slope_a, place_k)
    return np.asarray((weight_akl * log_p_akl).sum(axis=(1, 2)))


def _derivatives(
    weight_akl: Floats, threshold_al: Floats, slope_a: Floats, place_k: Floats
) -> tuple[Floats, Floats]:
    """The gradient (a, p) and the Hessian (a, p, p) by thresholds and slope, the slope last.

    With the upper end u and the lower end v of a label, and density f = F (1 - F)::

        d log P / du = f(u) / P,            d log P / dv = -f(v) / P
        d2 log P / du2 = f'(u) / P - (f(u) / P)^2,   d2 / dv2 = -f'(v) / P - (f(v) / P)^2
        d2 log P / du dv = f(u) f(v) / P^2
    """
    p_akl = np.exp(log_cumulative(threshold_al, slope_a, place_k))
    x_akt = threshold_al[:, None, :] - (slope_a[:, None] * place_k)[:, :, None]
    pad_ak1 = np.zeros((*x_akt.shape[:2], 1))
    density_akt = expit(x_akt) * expit(-x_akt)
    slant_akt = density_akt * (expit(-x_akt) - expit(x_akt))
    f_ake = np.concatenate([pad_ak1, density_akt, pad_ak1], axis=2)  # at all ends of labels
    d_ake = np.concatenate([pad_ak1, slant_akt, pad_ak1], axis=2)
    up, low = f_ake[:, :, 1:] / p_akl, -f_ake[:, :, :-1] / p_akl
    up2 = weight_akl * (d_ake[:, :, 1:] / p_akl - up**2)
    low2 = weight_akl * (-d_ake[:, :, :-1] / p_akl - low**2)
    both = weight_akl * -(up * low)
    up, low = weight_akl * up, weight_akl * low
    # of threshold t: the upper end of label t and the lower end of label t + 1
    first_akt = up[:, :, :-1] + low[:, :, 1:]
    second_akt = up2[:, :, :-1] + low2[:, :, 1:]
    cross_akt = second_akt + both[:, :, :-1] + both[:, :, 1:]
    n_t = threshold_al.shape[1]
    gradient_ap = np.empty((len(slope_a), n_t + 1))
    gradient_ap[:, :-1] = first_akt.sum(axis=1)
    gradient_ap[:, -1] = -first_akt.sum(axis=2) @ place_k
    hessian_app = np.zeros((len(slope_a), n_t + 1, n_t + 1))
    t = np.arange(n_t)
    hessian_app[:, t, t] = second_akt.sum(axis=1)
    hessian_app[:, t[:-1], t[1:]] = hessian_app[:, t[1:], t[:-1]] = both[:, :, 1:-1].sum(axis=1)
    hessian_app[:, :-1, -1] = hessian_app[:, -1, :-1] = -np.einsum("akt,k->at", cross_akt, place_k)
    hessian_app[:, -1, -1] = cross_akt.sum(axis=2) @ place_k**2
    return gradient_ap, hessian_app


def log_crowd(slope: float, border_t: Floats, place_k: Floats) -> Floats:
    """Log-probabilities (k, l) of the labels of somebody whose thresholds are the given borders."""
    return np.asarray(log_cumulative(slope * border_t[None], np.array([slope]), place_k)[0])


def fit_crowd_slope(count_kl: Floats, border_t: Floats, place_k: Floats) -> float:
    """The slope under which counts of labels at some places are most probable; borders are given.

    The sum is concave in the slope, which is sought between 0.01 and 100.
    """

    def loss(log_slope: float) -> float:
        return -float((count_kl * log_crowd(float(np.exp(log_slope)), border_t, place_k)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SLOPES, method="bounded").x))
