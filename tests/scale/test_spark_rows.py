"""Steps with annotators in blocks, without Spark: pieces are sorted as its shuffles sort them."""

import pickle
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest

import manyhands as mh
from manyhands.aggregation.evidence import Evidence, gather_evidence, nothing_known
from manyhands.aggregation.kernels.confusion_pass import (
    ConfusionPass,
    crowd_confusion,
    normal_crowd,
)
from manyhands.scale import spark_blocks
from manyhands.scale.spark_parts import each_row

N_ANNOTATORS, N_CLASSES = 11, 3


@pytest.fixture
def labels():
    """One annotator gave half of all labels, and one none."""
    rng = np.random.default_rng(0)
    annotator = np.where(rng.random(300) < 0.5, 4, rng.integers(0, N_ANNOTATORS - 1, 300))
    return mh.Annotations.from_arrays(
        rng.integers(0, 60, 300), annotator, rng.integers(0, N_CLASSES, 300),
        items=range(60), annotators=range(N_ANNOTATORS), classes=range(N_CLASSES),
    )  # fmt: skip


class InPart:
    """A function of a part of the labels, given by its row: `spark._Work` without Spark."""

    def __init__(self, labels, function, *arguments):
        self.labels, self.function, self.arguments = labels, function, arguments

    def __call__(self, row, *more):
        rows = slice(*{0: (0, 20), 1: (20, 20), 2: (20, 60)}[row["part"].as_py()])
        evidence = Evidence(self.labels[rows], nothing_known())  # the second part is empty
        return self.function(evidence, *self.arguments, *more)


def sorted_by(batches, *names):
    table = pa.Table.from_batches(list(batches))
    return table.sort_by([(name, "ascending") for name in names]).to_batches()


PARTS = [pa.record_batch({"part": pa.array([part], pa.int32())}) for part in range(3)]


def counted(labels, blocks, plans, parts, function, *arguments):
    pieces = spark_blocks.counts_of_parts(InPart(labels, function, *arguments), blocks)(parts)
    by_block = sorted_by(chain(plans, pieces), "block", "part")
    return list(spark_blocks.added(blocks.n_classes)(by_block))


def with_rows(table):
    """The rows of parts, with what blocks sent to each."""
    sent = list(each_row(sorted_by(spark_blocks.sent_rows(table), "part", "block")))
    for part in range(3):
        cells = [{"block": row["block"].as_py(), "cell": row["cell"].as_py()} for row in sent
                 if row["part"].as_py() == part]  # fmt: skip
        kind = pa.list_(pa.struct([("block", pa.int32()), ("cell", pa.binary())]))
        column = pa.array([cells or None], kind)
        yield pa.record_batch([pa.array([part], pa.int32()), column], names=["part", "sent"])


def sums_of(table):
    return [pickle.loads(row["sums"].as_py()) for row in each_row(table)]


@pytest.mark.parametrize("n_blocks", [1, 4, N_ANNOTATORS])
def test_steps_are_those_of_one_table(labels, n_blocks):
    blocks = spark_blocks.Blocks.of(N_ANNOTATORS, N_CLASSES, n_blocks)
    used = spark_blocks.rows_of_blocks(InPart(labels, spark_blocks.used_rows), blocks)(PARTS)
    plans = list(spark_blocks.plans(sorted_by(used, "block", "part")))
    assert len(plans) == n_blocks
    whole = ConfusionPass(gather_evidence(labels))
    expected = whole.count(whole.majority())
    majority = lambda evidence: ConfusionPass(evidence).majority()  # noqa: E731
    counts = counted(labels, blocks, plans, PARTS, spark_blocks.count_rows, majority)
    pseudo, log_prior = np.full((N_CLASSES, N_CLASSES), 0.5), np.log([0.5, 0.3, 0.2])
    for _ in range(3):
        crowd = np.sum(sums_of(spark_blocks.crowd_of_blocks(blocks, 2.0)(counts)), axis=0)
        assert normal_crowd(crowd, 2.0) == pytest.approx(crowd_confusion(expected.counts_alk, 2.0))
        step = whole.fit_confusions(expected, pseudo[None])
        table = list(spark_blocks.fitted(blocks, pseudo)(counts))
        assert sum(sums_of(table)) == pytest.approx(step.log_prior)
        right = np.concatenate(sums_of(spark_blocks.diagonals(blocks, pseudo)(counts)))
        found = np.exp(np.einsum("akk->ak", step.log_confusion_alk))
        np.testing.assert_allclose(right, found, rtol=1e-11)
        expected = whole(log_prior, step.log_confusion_alk)
        sent = list(with_rows(table))
        counts = counted(labels, blocks, plans, sent, spark_blocks.expect_rows, log_prior)
        mass, log_likelihood = sums_of(counts)[0]
        assert mass == pytest.approx(expected.mass_k)
        assert log_likelihood == pytest.approx(expected.log_likelihood)


def test_blocks_have_about_the_same_number_of_annotators(monkeypatch):
    monkeypatch.setattr(spark_blocks, "_BLOCK_BYTES", 1000)
    blocks = spark_blocks.Blocks.of(10_001, 10, at_least=2)
    sizes = np.diff(blocks.edge)
    assert sizes.max() * 800 <= 1000 + 800
    assert sizes.max() - sizes.min() <= 1
    assert sizes.sum() == 10_001
