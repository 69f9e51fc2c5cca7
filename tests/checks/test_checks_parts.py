"""The arithmetic behind the checks, against slow and plain versions of itself."""

import itertools
from collections import Counter

import numpy as np
import pytest

from manyhands.agreement import pair_agreement, pair_moments, pairwise, shared_labels
from manyhands.annotations import Annotations
from manyhands.checks import CheckReport, check
from manyhands.checks.agreement_with_others import (
    agreement_of_classes,
    agreement_of_ranks,
    count_item_classes,
    majority_of_others,
    mean_of_others,
    significant,
)
from manyhands.checks.copies import PairExcess, predict_excess
from manyhands.checks.pair_dependence import chance_agreement


@pytest.fixture(params=range(5))
def dense(request):
    rng = np.random.default_rng(request.param)
    matrix = rng.integers(0, 4, (30, 8))
    matrix[rng.random(matrix.shape) < 0.4] = -1
    return matrix


def annotations_of(dense):
    return Annotations.from_dense(dense, classes=range(4), annotators=range(dense.shape[1]))


def test_pair_agreement_counts_what_is_shared(dense):
    pairs = pair_agreement(annotations_of(dense), min_shared=3)
    found = {
        (min(a, b), max(a, b)): (n, same)
        for a, b, n, same in zip(pairs.first, pairs.second, pairs.shared, pairs.agreed, strict=True)
    }
    expected = {}
    for a, b in itertools.combinations(range(dense.shape[1]), 2):
        both = (dense[:, a] >= 0) & (dense[:, b] >= 0)
        if both.sum() >= 3:
            expected[a, b] = (both.sum(), (dense[both, a] == dense[both, b]).sum())
    assert found == expected


def test_pairs_touching_some_annotators(dense):
    ann = annotations_of(dense)
    touching = np.zeros(8, dtype=bool)
    touching[[2, 5]] = True
    some, every = pair_agreement(ann, involving=touching), pair_agreement(ann)
    pairs = {frozenset(pair) for pair in zip(some.first, some.second, strict=True)}
    all_pairs = {frozenset(pair) for pair in zip(every.first, every.second, strict=True)}
    assert len(pairs) == len(some.first)
    assert pairs == {pair for pair in all_pairs if pair & {2, 5}}


def test_correlation_is_pearsons(dense):
    ann = annotations_of(dense)
    pairs = pair_moments(ann, ann.label.astype(float), min_shared=5)
    assert len(pairs.first) > 0
    for a, b, value in zip(pairs.first, pairs.second, pairs.correlation(), strict=True):
        both = (dense[:, a] >= 0) & (dense[:, b] >= 0)
        assert value == pytest.approx(np.corrcoef(dense[both, a], dense[both, b])[0, 1])


def test_crowded_items_and_too_many_pairs_are_left_out(dense, monkeypatch):
    ann = annotations_of(dense)
    n_i = ann.labels_per_item
    monkeypatch.setattr(pairwise, "MAX_LABELS", 4)
    np.testing.assert_array_equal(pairwise.paired_items(ann), (n_i >= 2) & (n_i <= 4))
    monkeypatch.setattr(pairwise, "MAX_PAIRS", 10)
    walked = pairwise.paired_items(ann)
    assert 0 < (n_i * (n_i - 1) // 2)[walked].sum() <= 20


def test_shared_labels_are_on_one_item(dense):
    ann = annotations_of(dense)
    pairs = pair_agreement(ann)
    lines = shared_labels(ann, pairs.first, pairs.second)
    np.testing.assert_array_equal(np.bincount(lines[:, 0]), pairs.shared)
    np.testing.assert_array_equal(ann.item[lines[:, 1]], ann.item[lines[:, 2]])
    np.testing.assert_array_equal(ann.annotator[lines[:, 1]], pairs.first[lines[:, 0]])
    np.testing.assert_array_equal(ann.annotator[lines[:, 2]], pairs.second[lines[:, 0]])


def test_majority_of_others(dense):
    ann = annotations_of(dense)
    found = majority_of_others(ann, count_item_classes(ann))
    for n in range(ann.n_annotations):
        others = (ann.item == ann.item[n]) & (np.arange(ann.n_annotations) != n)
        best = Counter(ann.label[others].tolist()).most_common(2)
        tied = not best or (len(best) == 2 and best[0][1] == best[1][1])
        assert found[n] == (-1 if tied else best[0][0])


def shuffles(own, compare, rng):
    return np.array([compare(rng.permutation(own)) for _ in range(4000)])


def test_chance_of_classes_is_that_of_shuffled_labels(dense):
    ann = annotations_of(dense)
    agreement = agreement_of_classes(ann, count_item_classes(ann))
    others, rng = majority_of_others(ann, count_item_classes(ann)), np.random.default_rng(0)
    mine = (ann.annotator == 0) & (others >= 0)
    own, heard = ann.label[mine], others[mine]
    drawn = shuffles(own, lambda labels: (labels == heard).sum(), rng)
    agreed = (own == heard).sum()
    assert agreement.n_compared_a[0] == mine.sum()
    assert agreed - agreement.excess_a[0] == pytest.approx(drawn.mean(), abs=0.15)
    assert agreement.variance_a[0] == pytest.approx(drawn.var(), rel=0.1)
    perfect = (heard == heard).sum() - shuffles(heard, lambda x: (x == heard).sum(), rng).mean()
    assert agreement.max_excess_a[0] == pytest.approx(perfect, abs=0.15)


def test_chance_of_numbers_is_that_of_shuffled_labels(dense):
    ann = annotations_of(dense).as_kind("numbers")
    value = ann.label / 4.0
    agreement, others = agreement_of_ranks(ann, value), mean_of_others(ann, value)
    mine = (ann.annotator == 0) & ~np.isnan(others)
    own, heard = value[mine], others[mine] - others[mine].mean()
    drawn = shuffles(own, lambda labels: labels @ heard, np.random.default_rng(0))
    assert agreement.excess_a[0] == pytest.approx(own @ heard)
    assert agreement.variance_a[0] == pytest.approx(drawn.var(), rel=0.1)


def test_chance_agreement_uses_class_shares(dense):
    ann = annotations_of(dense)
    shares = [np.bincount(dense[dense[:, a] >= 0, a], minlength=4) for a in range(8)]
    shares = [share / share.sum() for share in shares]
    found = chance_agreement(ann, np.array([0, 3]), np.array([1, 3]))
    np.testing.assert_allclose(found, [shares[0] @ shares[1], shares[3] @ shares[3]])


def test_one_factor_predicts_pairs_that_it_has_not_seen():
    rng = np.random.default_rng(0)
    strength = rng.uniform(0.2, 0.7, 30)
    first, second = np.triu_indices(30, 1)
    shared = rng.integers(20, 60, len(first)).astype(float)
    noise = rng.normal(0, 0.3, len(first)) / np.sqrt(shared)
    excess = strength[first] * strength[second] + noise
    excess[0] = 0.9  # somebody copies
    pairs = PairExcess(
        first.astype(np.int32),
        second.astype(np.int32),
        shared,
        excess,
        np.full(len(first), 0.09),
        30,
    )
    predicted, error = predict_excess(pairs)
    off = (predicted - strength[first] * strength[second]) / error
    assert np.abs(off).max() < 6
    assert off.std() == pytest.approx(1.0, abs=0.5)


def test_holm_is_stricter_with_more_tests():
    p_value = np.array([2e-4, 1e-9, 0.5])
    assert significant(p_value).tolist() == [True, True, False]
    many = np.append(p_value, np.ones(997))
    assert significant(many)[:3].tolist() == [False, True, False]
    assert significant(np.zeros(0)).tolist() == []


def test_a_report_prints_every_finding_with_its_remedy():
    report = check({"one": {"Ann": "cat", "Bob": "cat"}, "two": {"Ann": "dog"}})
    shown = str(report).splitlines()
    assert len(shown) == 2 * len(report.findings) > 0
    for line, finding in zip(shown[::2], report.findings, strict=True):
        assert line == f"{finding.severity}: {finding.check}: {finding.message}"
    assert str(CheckReport((), {})) == "nothing wrong was found"
