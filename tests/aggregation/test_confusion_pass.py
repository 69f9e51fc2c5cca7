"""Passes of confusion models are their equations, for any number of columns, labels, blocks."""

import numpy as np
import pytest
from scipy.special import logsumexp

from manyhands.aggregation.evidence import Evidence, nothing_known
from manyhands.aggregation.kernels import confusion_pass
from manyhands.aggregation.kernels.confusion_pass import ConfusionPass, fit_confusions
from manyhands.annotations import Annotations


def crowd(n_classes, n_items=150, n_labels=700, n_annotators=9, seed=0):
    """Labels with repeats, of items with none to many labels."""
    rng = np.random.default_rng(seed)
    item = np.minimum(rng.integers(0, n_items, n_labels), rng.integers(0, n_items, n_labels))
    return Annotations.from_arrays(
        np.append(item, np.arange(n_items)), rng.integers(0, n_annotators, n_labels + n_items),
        rng.integers(0, n_classes, n_labels + n_items), classes=range(n_classes),
    )  # fmt: skip


def reference(evidence, log_prior, log_confusion, n_subtypes):
    """Posterior, mass, counts and log-likelihood, one label after the other."""
    ann = evidence.annotations
    score = np.broadcast_to(log_prior, (ann.n_items, log_confusion.shape[2])).copy()
    np.add.at(score, ann.item, log_confusion[ann.annotator, ann.label])
    for i in np.flatnonzero(evidence.is_known):
        others = np.repeat(np.arange(ann.n_classes) != evidence.known[i], n_subtypes)
        score[i, others] = -np.inf
    log_sum = logsumexp(score, axis=1, keepdims=True)
    posterior = np.exp(score - log_sum)
    counts = np.zeros_like(log_confusion)
    np.add.at(counts, (ann.annotator, ann.label), posterior[ann.item])
    return posterior, posterior.sum(axis=0), counts, log_sum.sum()


def assert_expected(found, expected):
    posterior, mass, counts, log_likelihood = expected
    np.testing.assert_allclose(found.posterior_ik, posterior, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(found.mass_k, mass, rtol=1e-11)
    np.testing.assert_allclose(found.counts_alk, counts, rtol=1e-11, atol=1e-250)
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)


@pytest.fixture(params=["compiled for it", "for any number"])
def loops(request, monkeypatch):
    """Small tables too are given to the loops that are compiled for a number of columns."""
    if request.param == "compiled for it":
        monkeypatch.setattr(confusion_pass, "FEW_LABELS", 0)


@pytest.mark.parametrize(("n_classes", "n_subtypes"), [(1, 1), (2, 1), (3, 2), (10, 1), (19, 1)])
@pytest.mark.parametrize("posterior", [True, False])
def test_an_e_step_is_its_equation(loops, n_classes, n_subtypes, posterior):
    ann, rng = crowd(n_classes), np.random.default_rng(1)
    known = np.where(rng.random(ann.n_items) < 0.2, rng.integers(0, n_classes, ann.n_items), -1)
    shape = (ann.n_annotators, n_classes, n_classes * n_subtypes)
    log_confusion = 5 * np.log(rng.uniform(1e-3, 1, shape))
    for known_i in (nothing_known(), known.astype(np.int32)):
        evidence = Evidence(ann, known_i)
        expect = ConfusionPass(evidence, n_subtypes, posterior=posterior)
        for n_priors in (1, ann.n_items):  # one for all items, or one each
            log_prior = np.log(rng.dirichlet(np.ones(shape[2]), n_priors))
            found = expect(log_prior if n_priors > 1 else log_prior[0], log_confusion)
            assert_expected(found, reference(evidence, log_prior, log_confusion, n_subtypes))


def test_a_posterior_is_that_of_its_own_step(loops):
    ann = crowd(4)
    expect = ConfusionPass(Evidence(ann, nothing_known()), posterior=False)
    rng, log_prior = np.random.default_rng(0), np.zeros(4)
    tables = [np.log(rng.dirichlet(np.ones(4), (ann.n_annotators, 4))) for _ in range(2)]
    first, second = (expect(log_prior, table) for table in tables)
    for found, table in ((first, tables[0]), (second, tables[1])):
        expected = reference(expect.evidence, log_prior, table, 1)[0]
        np.testing.assert_allclose(found.posterior_ik, expected, rtol=1e-11)
    only = ConfusionPass(expect.evidence, counts=False)(log_prior, tables[0])
    np.testing.assert_array_equal(only.posterior_ik, first.posterior_ik)


def test_scores_that_no_float_holds_are_still_compared(loops):
    ann = Annotations.from_arrays([0] * 4 + [1], [0] * 5, [0] * 5, classes=range(3))
    log_confusion = np.full((1, 3, 3), -690.0)
    log_confusion[0, 0] = (-690.0, -690.5, -100.0)
    log_prior = np.array([0.0, 0.0, -3000.0])
    found = ConfusionPass(Evidence(ann, nothing_known()))(log_prior, log_confusion).posterior_ik
    expected = reference(Evidence(ann, nothing_known()), log_prior, log_confusion, 1)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("n_blocks", [1, 2, 8])
def test_blocks_do_not_matter(n_blocks, monkeypatch):
    ann, rng = crowd(3), np.random.default_rng(2)
    monkeypatch.setattr(confusion_pass, "_n_blocks", lambda *_: n_blocks)
    expect = ConfusionPass(Evidence(ann, nothing_known()))
    log_confusion, log_prior = np.log(rng.dirichlet(np.ones(3), (ann.n_annotators, 3))), np.zeros(3)
    found = expect(log_prior, log_confusion)
    assert_expected(found, reference(expect.evidence, log_prior, log_confusion, 1))
    counted = expect.count(found.posterior_ik.copy())
    np.testing.assert_allclose(counted.counts_alk, found.counts_alk)


def test_blocks_are_a_power_of_two_that_the_labels_pay_for():
    shapes = [
        (20_000, (100, 10, 10)), (10**6, (2000, 10, 10)), (2 * 10**6, (10_000, 10, 10)),
        (10**6, (10_000, 10, 10)), (10**7, (100, 2, 2)), (10**5, (10**6, 2, 2)),
    ]  # fmt: skip
    assert [confusion_pass._n_blocks(*shape) for shape in shapes] == [1, 2, 2, 2, 16, 1]


@pytest.mark.parametrize("n_classes", [1, 2, 3, 10, 30])
def test_an_m_step_is_its_equation(n_classes):
    rng = np.random.default_rng(n_classes)
    counts = rng.gamma(0.3, size=(40, n_classes, n_classes)) * (rng.random((40, 1, 1)) < 0.9)
    for pseudo in (np.zeros((1, n_classes, n_classes)), rng.gamma(1.0, size=(1, *counts.shape[1:])),
                   rng.gamma(1.0, size=counts.shape)):  # fmt: skip
        raised = counts + pseudo
        total = raised.sum(axis=1, keepdims=True)
        share = np.divide(raised, total, out=np.full_like(raised, 1 / n_classes), where=total > 0)
        expected = np.log(np.maximum(share, 1e-300))
        found = fit_confusions(counts, pseudo)
        np.testing.assert_allclose(found.log_confusion_alk, expected, rtol=1e-13, atol=1e-15)
        assert found.log_prior == pytest.approx((pseudo * expected).sum(), rel=1e-12)
