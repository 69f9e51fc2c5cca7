"""Fits in several threads: each has the outcome that it has alone."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from featured_crowds import assert_same_bits, featured, fit

SETTINGS = {"epochs": 4, "network": lambda shape, n: torch.nn.Sequential(
    torch.nn.Linear(*shape, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, n)
)}  # fmt: skip


@pytest.mark.parametrize("method", ["conal", "two-stage-majority", "em"])
def test_the_same_seed_gives_the_same_bits(method):
    crowd = featured()
    alone = fit(method, crowd, **SETTINGS)
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: fit(method, crowd, **SETTINGS), range(6)))
    for each in found:
        assert_same_bits(each, alone)


def test_the_random_numbers_of_the_caller_go_on():
    crowd = featured()
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda seed: fit("speelfc", crowd, seed=seed, **SETTINGS), range(4)))
    assert torch.equal(torch.get_rng_state(), before)
