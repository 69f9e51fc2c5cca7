"""Adam on the rows that occur."""

import pytest
import torch
from torch.nn import functional

from manyhands.engine.row_optimisers import RowAdam, summed_rows


def a_table(seed=0):
    return torch.nn.Parameter(torch.randn(9, 4, generator=torch.Generator().manual_seed(seed)))


def take_steps(table, optimiser, rows_of_steps):
    for rows in rows_of_steps:
        optimiser.zero_grad()
        chosen = functional.embedding(torch.tensor(rows), table, sparse=True)
        (chosen.sin() * torch.arange(1.0, 5.0)).sum().backward()
        optimiser.step()


STEPS = [[0, 3, 3], [1, 3], [8], [0, 0, 0, 1], [5, 2, 3]]


def test_without_decay_it_is_torchs_sparse_adam():
    ours, theirs = a_table(), a_table()
    take_steps(ours, RowAdam([ours], lr=0.1), STEPS)
    take_steps(theirs, torch.optim.SparseAdam([theirs], lr=0.1), STEPS)
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


def test_rows_that_do_not_occur_rest():
    table, before = a_table(), a_table()
    take_steps(table, RowAdam([table], lr=0.1, weight_decay=0.5), STEPS)
    assert torch.equal(table[[4, 6, 7]], before[[4, 6, 7]])
    assert not (table[[0, 1, 2, 3, 5, 8]] == before[[0, 1, 2, 3, 5, 8]]).any()


def test_decay_shrinks_the_rows_of_the_step_before_it():
    plain, decayed, before = a_table(), a_table(), a_table()
    take_steps(plain, RowAdam([plain], lr=0.1), [[2, 2, 6]])
    take_steps(decayed, RowAdam([decayed], lr=0.1, weight_decay=0.5), [[2, 2, 6]])
    torch.testing.assert_close(plain - decayed, before * (plain != before) * 0.1 * 0.5)


def test_its_state_comes_back():
    whole, broken = a_table(), a_table()
    take_steps(whole, RowAdam([whole], lr=0.1), STEPS)
    first = RowAdam([broken], lr=0.1)
    take_steps(broken, first, STEPS[:2])
    second = RowAdam([broken], lr=0.1)
    second.load_state_dict(first.state_dict())
    take_steps(broken, second, STEPS[2:])
    assert torch.equal(whole, broken)


def test_parts_of_a_row_are_summed():
    index = torch.tensor([[5, 1, 5]])
    values = torch.tensor([[1.0], [2.0], [4.0]])
    gradient = torch.sparse_coo_tensor(index, values, (9, 1), check_invariants=True)
    row, value = summed_rows(gradient)
    assert row.tolist() == [1, 5]
    assert value.flatten().tolist() == [2.0, 5.0]


def test_it_takes_no_closure():
    table = a_table()
    with pytest.raises(AssertionError):
        RowAdam([table]).step(lambda: 0.0)
