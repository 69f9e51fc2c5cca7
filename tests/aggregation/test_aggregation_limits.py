"""What a fit needs is told before it begins: too much is refused, or done by a cheaper model."""

import tracemalloc

import numpy as np
import pytest

import manyhands as mh
from manyhands.aggregation import AGGREGATORS, ConsensusWarning, Mixture, compare
from manyhands.annotations import Annotations
from manyhands.core.errors import SettingError, TooLargeError
from random_tables import random_labels

NAMES = [name for name, method in AGGREGATORS.items() if method.kind == "classes"]
WITH_CONFUSIONS = ["dawid-skene", "worker-clustering", "common-noise", "annotator-types", "ebcc"]


def labels(n_items, n_annotators, n_classes, n, seed=0):
    """Labels of all these items by all these annotators, of all these classes."""
    rng = np.random.default_rng(seed)
    columns = [np.arange(n) % size for size in (n_items, n_annotators, n_classes)]
    return Annotations.from_arrays(*(rng.permutation(column) for column in columns))


def model(name):
    few = {"max_iter": 3, "n_restarts": 1, "n_starts": 2, "n_subtypes": 3}
    known = AGGREGATORS[name]().get_params()
    return AGGREGATORS[name](**{key: few[key] for key in few if key in known})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(2000, 3, 40, 6000), (50, 200, 40, 600)])
def test_the_estimate_is_not_below_what_a_fit_takes(name, shape):
    annotations, method = labels(*shape), model(name)
    method.fit(Annotations.from_dense([[0, 0, 1], [1, 1, 2]]))  # compiles
    tracemalloc.start()
    method.fit(annotations)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    cost, k = method.cost(annotations), annotations.n_classes
    cells = cost.item_tables * annotations.n_items * k + cost.n_other
    cells += cost.annotator_tables * annotations.n_annotators * k * k
    overhead = 2e5  # bytes that grow with labels, not with tables
    assert peak - overhead < 8 * cells
    assert 8 * cells < 6 * peak


@pytest.mark.parametrize("name", WITH_CONFUSIONS)
@pytest.mark.parametrize("shape", [(10, 100_000, 100, 100_000), (10, 20, 10_000, 10_000)])
def test_confusions_that_do_not_fit_are_refused_before_they_are_allocated(name, shape):
    annotations = labels(*shape)
    tracemalloc.start()
    with pytest.raises(TooLargeError, match=r"needs about .* GiB for .*classes\), .*one-coin"):
        AGGREGATORS[name]().fit(annotations)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**25


@pytest.mark.parametrize("name", NAMES)
def test_as_many_classes_as_items_are_refused(name):
    with pytest.raises(TooLargeError, match=r"50,000 x 50,000 \(items x classes\).*merge rare"):
        AGGREGATORS[name]().fit(labels(50_000, 20, 50_000, 50_000))


def test_steps_that_take_too_long_are_refused_unless_there_are_fewer():
    annotations = labels(300, 30, 1000, 1000)
    with pytest.raises(TooLargeError, match=r"common-noise needs about 11 minutes .*max_iter"):
        mh.aggregation.CommonNoise().require_affordable(annotations)
    mh.aggregation.CommonNoise(max_iter=50).require_affordable(annotations)


def test_without_a_method_a_cheaper_one_is_used_and_named(monkeypatch):
    annotations = Annotations.from_arrays(*random_labels(0), kind="classes")
    monkeypatch.setenv("MANYHANDS_MAX_MINUTES", "1e-7")
    with pytest.warns(ConsensusWarning, match="annotator-types needs about .*; one-coin is used"):
        consensus = mh.aggregate(annotations)
    assert consensus.method_name == "one-coin"
    with pytest.raises(TooLargeError):
        mh.aggregate(annotations, method="annotator-types")


def test_a_comparison_leaves_out_what_is_too_large(monkeypatch):
    annotations = Annotations.from_arrays(*random_labels(0), kind="classes")
    monkeypatch.setenv("MANYHANDS_MAX_MINUTES", "1e-7")
    with pytest.warns(ConsensusWarning) as left_out:
        table = compare(annotations)
    assert str(left_out[0].message).startswith("left out: dawid-skene needs about")
    assert set(table.columns["method"]) == {"majority", "one-coin", "glad"}
    with pytest.raises(TooLargeError):
        compare(annotations, ["ebcc", "majority"])
    with pytest.warns(ConsensusWarning):
        assert "the best of 2 methods" in mh.aggregate(annotations, method="auto").chosen


def test_the_limit_is_an_environment_variable(monkeypatch):
    annotations = Annotations.from_arrays(*random_labels(0), kind="classes")
    monkeypatch.setenv("MANYHANDS_MAX_GIB", "1e-9")
    with pytest.raises(TooLargeError, match="at most 1e-09 are allowed"):
        mh.aggregate(annotations, method="majority")
    monkeypatch.setenv("MANYHANDS_MAX_GIB", "much")
    with pytest.raises(SettingError, match="MANYHANDS_MAX_GIB must be a number > 0; got 'much'"):
        mh.aggregate(annotations, method="majority")


def test_a_large_crowd_has_accuracies_without_confusions():
    consensus = mh.aggregate(labels(1000, 50_000, 120, 50_000), method="one-coin")
    assert consensus.annotator_columns()["right_7"].shape == (50_000,)
    with pytest.raises(TooLargeError, match=r"a confusion per annotator needs about 5\.4 GiB"):
        _ = consensus.confusion


@pytest.mark.parametrize("name", NAMES)
def test_the_diagonals_of_confusions_are_those_of_the_table(name):
    consensus = model(name).fit(Annotations.from_arrays(*random_labels(0), kind="classes"))
    if consensus.confusion is None:
        return
    columns = consensus.annotator_columns()
    for k, label in enumerate(consensus.annotations.classes):
        assert columns[f"right_{label}"].tolist() == consensus.confusion[:, k, k].tolist()


def test_a_mixture_of_many_classes_has_fewer_starts():
    assert Mixture()._n_starts(labels(300, 30, 10, 1000)) == 20
    assert Mixture()._n_starts(labels(3000, 30, 1000, 10_000)) == 1


def test_a_mixture_of_many_classes_is_the_same_by_sparse_counts(monkeypatch):
    annotations = labels(40, 5, 12, 200)
    dense = Mixture(n_restarts=2).fit(annotations)
    monkeypatch.setattr("manyhands.aggregation.kernels.mixture_pass._MANY_CLASSES", 2)
    sparse = Mixture(n_restarts=2).fit(annotations)
    assert np.allclose(sparse.probabilities, dense.probabilities, atol=1e-9)
