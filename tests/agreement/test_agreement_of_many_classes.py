"""Labels that are nearly all different, as free texts are: memory grows with labels alone."""

import tracemalloc

import numpy as np
import pytest

import manyhands as mh
from manyhands.agreement import pair_table
from manyhands.agreement.tables import annotator_columns
from manyhands.checks import flag_annotators

N_ITEMS = 3000  # annotators x classes would be 288 MB, pairs x classes 144 MB


@pytest.fixture(scope="module")
def texts():
    item, annotator = np.repeat(np.arange(N_ITEMS), 2), np.arange(2 * N_ITEMS)
    return mh.Annotations.from_arrays(item, annotator, [f"text {n}" for n in annotator])


@pytest.mark.parametrize("compute", [annotator_columns, flag_annotators])
def test_no_table_of_annotators_and_classes_is_made(texts, compute):
    small = texts[:50]
    compute(mh.Annotations.from_arrays(*small.to_columns().values()))  # compiles
    tracemalloc.start()
    compute(texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


@pytest.mark.parametrize("pooled", [False, True])
def test_counting_only_classes_that_occur_changes_nothing(pooled, monkeypatch):
    rng = np.random.default_rng(1)
    matrix = np.where(rng.random((40, 6)) < 0.7, rng.integers(0, 5, (40, 6)), -1)
    ann = mh.Annotations.from_dense(matrix)
    times = rng.integers(0, 3, 1000).astype(float)

    def kappas():
        table = pair_table.PairTable.of(ann, ann.label, None, pooled=pooled)
        assert len(table.pair_t) < len(times)
        return table.usual, table.kappas(times[: len(table.pair_t)])

    usual = kappas()
    monkeypatch.setattr(pair_table, "_CELLS", 0)
    monkeypatch.setattr(pair_table, "_CELLS_PER_ROW", 0)
    for dense, sparse in zip(usual, kappas(), strict=True):
        for name in ("value", "expected", "chance_slope_t"):
            np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), atol=1e-12)
