"""Passes with tables of the rows that occur give what passes with all rows give."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.aggregation.evidence import Evidence, nothing_known
from manyhands.aggregation.kernels import passes, row_pass
from manyhands.aggregation.kernels.confusion_pass import (
    ConfusionPass,
    crowd_confusion,
    fit_confusions,
)
from manyhands.aggregation.kernels.row_pass import LabelRows, RowPass, rows_worth_it
from manyhands.annotations import Annotations


def crowd(n_classes=4, n_annotators=200, n_items=60, n_labels=400, seed=0):
    """A large crowd; some annotators of the vocabulary gave no label."""
    rng = np.random.default_rng(seed)
    item, annotator = rng.integers(0, n_items, n_labels), rng.integers(0, n_annotators, n_labels)
    truth = rng.integers(0, n_classes, n_items)
    right = rng.random(n_labels) < 0.7
    label = np.where(right, truth[item], rng.integers(0, n_classes, n_labels))
    return Annotations.from_arrays(
        item, annotator, label, classes=range(n_classes), annotators=range(n_annotators + 5)
    )


def both(n_classes=4, known=None):
    ann = crowd(n_classes)
    evidence = Evidence(ann, nothing_known() if known is None else known)
    return ConfusionPass(evidence), RowPass(evidence, LabelRows.of(ann))


@pytest.mark.parametrize("n_classes", [1, 2, 4, 19])
@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_steps_are_those_of_all_rows(n_classes, strength):
    whole, rows = both(n_classes)
    rng = np.random.default_rng(1)
    pseudo = strength * rng.dirichlet(np.ones(n_classes), (1, n_classes))
    log_prior = np.log(rng.dirichlet(np.ones(n_classes)))
    expected, found = (each.count(whole.majority()) for each in (whole, rows))
    for _ in range(4):
        np.testing.assert_allclose(found.counts_alk, expected.counts_alk, atol=1e-12)
        np.testing.assert_allclose(found.mass_k, expected.mass_k)
        step, other = (
            each.fit_confusions(sums, pseudo) for each, sums in ((whole, expected), (rows, found))
        )
        table = np.asarray(other.log_confusion_alk)
        np.testing.assert_allclose(table, step.log_confusion_alk, rtol=1e-11, atol=1e-11)
        assert other.log_prior == pytest.approx(step.log_prior, rel=1e-11)
        expected = whole(log_prior, step.log_confusion_alk)
        found = rows(log_prior, other.log_confusion_alk)
        assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
        np.testing.assert_allclose(found.posterior_ik, expected.posterior_ik, atol=1e-12)


@pytest.mark.parametrize("known", [None, "some"])
@pytest.mark.parametrize("weak", [1.0, 1e-9, 1e-250])
def test_products_too_small_for_floats_are_sums_of_logs(weak, known):
    """An item has a hundred labels that are improbable, and the prior may be far below 1."""
    rng = np.random.default_rng(2)
    n_items, n_annotators = 40, 300
    item = np.concatenate([np.zeros(100, dtype=int), rng.integers(0, n_items, 300)])
    annotator = np.concatenate([np.arange(100), rng.integers(0, n_annotators, 300)])
    ann = Annotations.from_arrays(item, annotator, rng.integers(0, 4, 400), classes=range(4))
    codes = nothing_known() if known is None else np.where(np.arange(n_items) % 5, -1, 2)
    evidence = Evidence(ann, codes.astype(np.int32) if known else codes)
    whole, rows = ConfusionPass(evidence), RowPass(evidence, LabelRows.of(ann))
    pseudo = weak * rng.dirichlet(np.ones(4), (1, 4))
    log_prior = np.log([0.1, 0.2, 0.3, 0.4])
    start = whole.majority() ** 4
    found, expected = (
        each(log_prior, each.fit_confusions(each.count(start), pseudo).log_confusion_alk)
        for each in (rows, whole)
    )
    assert np.isfinite(expected.log_likelihood)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(found.posterior_ik, expected.posterior_ik, atol=1e-10)
    np.testing.assert_allclose(found.counts_alk, expected.counts_alk, atol=1e-10)


def test_a_table_of_all_rows_may_be_given():
    whole, rows = both()
    table = np.log(np.random.default_rng(0).dirichlet(np.ones(4), (205, 4)))
    found, expected = (each(np.zeros(4), table) for each in (rows, whole))
    np.testing.assert_allclose(found.counts_alk, expected.counts_alk, atol=1e-12)


def test_the_crowd_is_that_of_all_rows():
    whole, rows = both()
    counted = rows.count(whole.majority())
    expected = crowd_confusion(whole.count(whole.majority()).counts_alk, 2.5)
    np.testing.assert_allclose(rows.crowd_confusion(counted, 2.5), expected, rtol=1e-12)


def test_pseudo_counts_of_annotators_need_all_rows():
    whole, rows = both()
    pseudo = np.random.default_rng(0).gamma(1.0, size=(205, 4, 4))
    counted = whole.count(whole.majority())
    expected = fit_confusions(counted.counts_alk, pseudo).log_confusion_alk
    found = rows.fit_confusions(rows.count(whole.majority()), pseudo).log_confusion_alk
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("n_rows", [1, 10**9])
def test_threads_do_not_matter(n_rows, monkeypatch):
    monkeypatch.setattr(row_pass, "_ROWS_PER_BLOCK", n_rows)
    whole, rows = both()
    pseudo = np.full((1, 4, 4), 0.5)
    step = rows.fit_confusions(rows.count(whole.majority()), pseudo)
    expected = whole.fit_confusions(whole.count(whole.majority()), pseudo)
    np.testing.assert_allclose(step.log_confusion_alk, expected.log_confusion_alk, atol=1e-11)
    assert step.log_prior == pytest.approx(expected.log_prior)


def test_rows_are_found_in_tables_of_any_size():
    small, large = crowd(n_annotators=30), crowd(n_annotators=2000)
    for ann in (small, large):
        rows, row_n = LabelRows.of(ann), ann.annotator.astype(int) * 4 + ann.label
        np.testing.assert_array_equal(rows.row_r[rows.place_n], row_n)
        np.testing.assert_array_equal(rows.row_r, np.unique(row_n))
    assert rows_worth_it(small) is None
    assert rows_worth_it(large) is not None


@pytest.mark.parametrize("settings", [{}, {"prior": "flat"}, {"prior_strength": 0.0}])
def test_a_fit_is_that_of_all_rows(settings, monkeypatch):
    ann, known = crowd(n_annotators=1000, n_classes=6), {3: 2, 5: 1}
    model = mh.aggregation.DawidSkene(max_iter=20, **settings)
    found = model.fit(ann, known)
    monkeypatch.setattr(passes, "rows_worth_it", lambda _: None)
    expected = model.fit(ann, known)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-9)
    np.testing.assert_allclose(found.confusion, expected.confusion, atol=1e-9)
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    assert found.n_iterations == expected.n_iterations
