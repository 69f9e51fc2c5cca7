"""Ragged batches and labels kept aside: every label once, and where it belongs."""

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.utils.data import TensorDataset

from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.engine.batches import CrowdData, split_labels
from manyhands.engine.inputs import DatasetInputs, SparseInputs, TensorInputs
from random_tables import random_labels

CPU = torch.device("cpu")


def uneven(seed=0, **sizes):
    """Labels without structure: items with none, one and many, some pairs repeated."""
    return Annotations.from_arrays(*random_labels(seed, **sizes), items=range(20))


def inputs(kind="tensor"):
    tensor = torch.arange(20.0).unsqueeze(1) * torch.tensor([[1.0, 10.0]])
    made = {
        "tensor": lambda: TensorInputs(tensor),
        "sparse": lambda: SparseInputs(sparse.csr_matrix(tensor.numpy())),
        "dataset": lambda: DatasetInputs(TensorDataset(tensor, torch.zeros(20))),
    }
    return made[kind]()


def seen(batches):
    """Every annotation of some batches as (item, annotator, label), in order."""
    return sorted(
        (int(batch.items[row]), int(annotator), int(label))
        for batch in batches
        for row, annotator, label in zip(
            batch.annotations.row, batch.annotations.annotator, batch.annotations.label, strict=True
        )
    )


def all_of(ann):
    return sorted(zip(ann.item.tolist(), ann.annotator.tolist(), ann.label.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_an_epoch_sees_every_label_once(seed, size):
    ann = uneven(seed)
    crowd = CrowdData(inputs(), ann, CPU)
    order = np.random.default_rng(seed).permutation(crowd.labelled)
    batches = list(crowd.batches(order, size))
    assert seen(batches) == all_of(ann)
    assert torch.cat([batch.items for batch in batches]).tolist() == order.tolist()
    sizes = [len(batch.items) for batch in batches]
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == -(-len(order) // size)


@pytest.mark.parametrize("kind", ["tensor", "sparse", "dataset"])
def test_rows_of_features_are_those_of_the_items(kind):
    crowd = CrowdData(inputs(kind), uneven(), CPU)
    for batch in crowd.batches(np.array([7, 3, 19, 0, 4]), 2):
        expected = batch.items.unsqueeze(1) * torch.tensor([1.0, 10.0])
        assert torch.equal(batch.inputs, expected)
        assert torch.equal(batch.annotations.features, expected)


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("size", [1, 4, 9])
def test_processes_share_every_step(n_ranks, size):
    ann = uneven()
    crowd = CrowdData(inputs(), ann, CPU)
    whole = list(crowd.batches(crowd.labelled, size))
    parts = [list(crowd.batches(crowd.labelled, size, rank=rank, n_ranks=n_ranks))
             for rank in range(n_ranks)]  # fmt: skip
    for step, *shares in zip(whole, *parts, strict=True):
        assert torch.equal(torch.cat([share.items for share in shares]), step.items)
        assert seen(shares) == seen([step])
        # The mean over processes of weighted means is the mean over the step.
        for share in shares:
            n_labels, n_items = len(share.annotations), len(share.items)
            assert share.label_weight == pytest.approx(n_labels * n_ranks / len(step.annotations))
            assert share.item_weight == pytest.approx(n_items * n_ranks / len(step.items))
        assert step.label_weight == step.item_weight == 1.0


def test_a_share_may_be_empty():
    for kind in ("tensor", "sparse", "dataset"):
        crowd = CrowdData(inputs(kind), uneven(), CPU)
        share = next(crowd.batches(np.array([3]), 5, rank=0, n_ranks=2))
        assert share.inputs.shape == (0, 2)
        assert len(share.annotations) == 0


def test_items_without_labels_can_be_looked_at():
    ann = uneven().only(np.zeros(0, dtype=int))
    batch = next(CrowdData(inputs(), ann, CPU).batches(np.arange(20), 20))
    assert batch.inputs.shape == (20, 2)
    assert len(batch.annotations) == 0


def test_a_row_per_item():
    with pytest.raises(DataError, match="20 rows of features for 12 items"):
        CrowdData(inputs(), Annotations.from_arrays(*random_labels(0), items=range(12)), CPU)


# --- labels kept aside ---


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.001, 0.2, 0.9])
def test_labels_are_kept_or_kept_aside(seed, share):
    ann = uneven(seed, n_annotations=80)
    kept, held = split_labels(ann, share, seed)
    assert sorted(all_of(kept) + all_of(held)) == all_of(ann)
    assert held.n_annotations >= 1
    assert held.n_annotations <= max(1, round(share * ann.n_annotations))
    assert ((kept.labels_per_item > 0) == (ann.labels_per_item > 0)).all()
    assert ((kept.labels_per_annotator > 0) == (ann.labels_per_annotator > 0)).all()
    assert kept.items.tolist() == held.items.tolist() == ann.items.tolist()


def test_the_share_is_met_where_labels_can_be_spared():
    ann = uneven(n_annotations=200)
    _, held = split_labels(ann, 0.25, 0)
    assert held.n_annotations == 50


def test_the_same_seed_keeps_the_same_labels_aside():
    ann = uneven(n_annotations=80)
    first, again, other = (split_labels(ann, 0.2, seed)[1] for seed in (0, 0, 1))
    assert all_of(first) == all_of(again) != all_of(other)


def test_nothing_is_kept_aside_unless_asked_for():
    ann = uneven()
    assert split_labels(ann, 0.0, 0) == (ann, None)


def test_single_labels_cannot_be_spared():
    single = Annotations.from_arrays(range(20), [0] * 20, [0, 1] * 10)
    with pytest.raises(
        DataError, match=r"no item has a second label to spare.*validation_fraction to 0"
    ):
        split_labels(single, 0.2, 0)
