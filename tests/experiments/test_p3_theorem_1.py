"""Theorem 1 of CoNAL: by its own laws, and against the error of the best guess."""

from dataclasses import replace

import numpy as np
import pytest

from manyhands.core.errors import SettingError
from manyhands.experiments.figures.p3_theorem_1 import (
    CommonNoise,
    best_estimate,
    divergences,
    item_by_item,
    item_terms,
    theorem_1,
)
from manyhands.simulation.behaviours import honest

C, R = 4, 5


def noise_of(n_items, *, right=0.4, seed=0, omega=None, even=False):
    """Everybody labels every item; confusions are drawn, or all alike where `even`."""
    rng = np.random.default_rng(seed)
    drawn = (1 - right) * rng.dirichlet(np.full(C, 2.0), size=(R + 1, C)) + right * np.eye(C)
    matrices = honest(np.full(R + 1, right), C) if even else drawn
    item, annotator = (each.ravel() for each in np.indices((n_items, R)))
    share = rng.random(len(item)) if omega is None else np.full(len(item), omega)
    prior = np.full((n_items, C), 1 / C) if even else rng.dirichlet(np.full(C, 3.0), n_items)
    return CommonNoise(prior_ik=prior, common_kl=matrices[0], own_akl=matrices[1:], item_n=item,
                       annotator_n=annotator, omega_n=share)  # fmt: skip


def terms_by_hand(noise):
    """F_i as the paper writes it, loop by loop."""
    terms = []
    for i, rho in enumerate(noise.prior_ik):
        told = 0.0
        for n in np.flatnonzero(noise.item_n == i):
            own = noise.own_akl[noise.annotator_n[n]]
            for c in range(C):
                for d in range(C):
                    apart = [np.sum(pi[c] * np.log(pi[c] / pi[d])) for pi in (noise.common_kl, own)]
                    omega = noise.omega_n[n]
                    told += rho[c] * rho[d] * (omega * apart[0] + (1 - omega) * apart[1])
        terms.append(-np.sum(rho * np.log(rho)) - told)
    return np.array(terms)


@pytest.mark.parametrize("seed", range(3))
def test_the_formula_is_that_of_the_paper(seed):
    noise = noise_of(6, seed=seed)
    by_hand = terms_by_hand(noise)
    assert item_terms(noise) == pytest.approx(by_hand)
    assert theorem_1(noise) == pytest.approx((by_hand.sum() - np.log(2)) / (36 * np.log(C)))


@pytest.mark.parametrize("right", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_estimate_errs_at_least_as_often(right, seed):
    n_items = 4000
    noise = noise_of(n_items, right=right, seed=seed)
    rng = np.random.default_rng(seed + 100)
    truth = np.array([rng.choice(C, p=rho) for rho in noise.prior_ik])
    row_nl = noise.mixed()[np.arange(len(noise.item_n)), truth[noise.item_n]]
    label = (row_nl.cumsum(axis=1) < rng.random((len(row_nl), 1))).sum(axis=1)
    error = (best_estimate(noise, label) != truth).mean()
    slack = 4 * np.sqrt(error * (1 - error) / n_items)
    assert error + slack >= item_by_item(noise)
    assert error + slack >= theorem_1(noise)
    assert error < 1 - 1 / C  # better than any class at random


def mixed_terms(noise):
    """R_i (eq. 6): as F_i, where it is not known which confusion a label came from."""
    n = np.arange(len(noise.item_n))
    return item_terms(
        replace(noise, own_akl=noise.mixed(), annotator_n=n, omega_n=np.zeros(len(n)))
    )


@pytest.mark.parametrize("seed", range(5))
def test_mixed_confusions_tell_no_more_than_their_parts(seed):
    noise = noise_of(8, seed=seed)
    assert (mixed_terms(noise) >= item_terms(noise) - 1e-12).all()
    for omega in (0.0, 1.0):
        one = noise_of(8, seed=seed, omega=omega)
        assert mixed_terms(one) == pytest.approx(item_terms(one))


def test_labels_that_say_nothing_leave_all_the_entropy():
    noise = noise_of(5, right=1 / C, even=True)
    assert item_terms(noise) == pytest.approx(np.log(C))
    assert theorem_1(noise) == pytest.approx((5 * np.log(C) - np.log(2)) / (25 * np.log(C)))


def test_better_people_and_more_of_them_lower_the_bound():
    bounds = [theorem_1(noise_of(5, right=right, even=True)) for right in (0.3, 0.4, 0.5, 0.6)]
    assert (np.diff(bounds) < 0).all()
    noise = noise_of(5)
    kept = noise.annotator_n < R - 1
    fewer = replace(noise, **{name: getattr(noise, name)[kept]
                              for name in ("item_n", "annotator_n", "omega_n")})  # fmt: skip
    assert theorem_1(fewer) > theorem_1(noise)


def test_a_common_confusion_that_tells_more_lowers_the_bound_with_its_share():
    noise = noise_of(4, right=0.3, even=True)
    sharp = replace(noise, common_kl=honest(np.array([0.6]), C)[0])
    shares = [np.full(len(noise.omega_n), share) for share in (0.0, 0.5, 1.0)]
    bounds = [theorem_1(replace(sharp, omega_n=share)) for share in shares]
    assert (np.diff(bounds) < 0).all()
    assert bounds[0] == pytest.approx(theorem_1(noise))


def test_the_bound_falls_from_where_the_corollary_says():
    whole = noise_of(60, right=0.35, even=True)
    bounds = np.array([theorem_1(whole.first(n)) for n in range(1, 61)])
    least = 2 * np.log(2) / item_terms(whole).max()  # corollary 1.1
    assert 1 < least < 50
    peak = int(bounds.argmax()) + 1
    assert abs(peak - least) <= 1
    assert (np.diff(bounds[int(np.ceil(least)) :]) < 0).all()
    assert bounds[59] < bounds[29] / 1.5  # as 1 / N


def test_of_one_item_both_bounds_are_the_same():
    noise = noise_of(1)
    assert theorem_1(noise) == pytest.approx(item_by_item(noise))


def test_a_label_impossible_under_a_class_empties_the_bound():
    noise = noise_of(3)
    certain = replace(noise, common_kl=np.eye(C))
    assert theorem_1(certain) == -np.inf
    unused = replace(certain, omega_n=np.zeros(len(noise.omega_n)))
    assert np.isfinite(theorem_1(unused))  # nobody ever uses it
    only = replace(certain, prior_ik=np.eye(C)[[0, 1, 2]])
    assert theorem_1(only) == pytest.approx(-np.log(2) / (9 * np.log(C)))  # no doubt to begin with


def test_divergences_are_of_rows():
    first, second = np.array([0.7, 0.2, 0.1]), np.array([0.3, 0.3, 0.4])
    found = divergences(np.stack([first, second, second]))
    assert found[0, 1] == pytest.approx(np.sum(first * np.log(first / second)))
    assert found[1, 0] == pytest.approx(np.sum(second * np.log(second / first)))
    assert found[1, 2] == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prior_ik", np.full((2, C), 0.5)),
        ("prior_ik", np.ones((2, 1))),
        ("common_kl", np.eye(C) * 2),
        ("common_kl", np.eye(C - 1)),
        ("own_akl", np.ones((R, C - 1, C - 1)) / (C - 1)),
        ("omega_n", np.full(2 * R, 1.5)),
    ],
)
def test_what_is_no_probability_is_refused(name, value):
    with pytest.raises(SettingError, match=name):
        replace(noise_of(2), **{name: value})
