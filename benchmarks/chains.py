"""Sums over tag sequences beside two torch packages: `python -m benchmarks.chains`.

Log-partitions and marginals of all tokens under a linear chain. For the torch modules they come
from the log-likelihood and its slopes, in 32 bits; ours has 64. Sentences are sorted by length and
cut into batches of several sizes for torch, padding is not timed, and the fastest size counts.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.table import count, markdown_table, number, ratio
from manyhands.core.kernels import thread_count
from manyhands.core.seeds import generator
from manyhands.methods.crf import Transitions, expect

Array = NDArray[Any]
OURS = "manyhands"
BATCHES = (32, 256, 2048)


@dataclass(frozen=True)
class Chains:
    """Scores of the tokens of sentences, shortest sentence first, and transitions."""

    score_tk: Array
    offsets: Array
    transitions: Transitions


@dataclass(frozen=True)
class Batch:
    """Padded sentences: scores, any tags, and which tokens are there."""

    score: torch.Tensor
    tags: torch.Tensor
    mask: torch.Tensor


@dataclass(frozen=True)
class Timing:
    """Seconds of the fastest pass, and the marginals found."""

    tool: str
    seconds: float
    marginal_tk: Array


def random_chains(n_tokens: int, n_tags: int) -> Chains:
    """Sentences of 1 to 30 tokens, the last cut to fit."""
    rng = generator(0, "chains")
    size_s = rng.integers(1, 31, n_tokens)
    size_s = np.sort(np.diff(np.minimum(np.concatenate(([0], np.cumsum(size_s))), n_tokens)))
    offsets = np.concatenate(([0], np.cumsum(size_s[size_s > 0]))).astype(np.int64)
    transitions = Transitions(rng.normal(size=(n_tags, n_tags)), *rng.normal(size=(2, n_tags)))
    return Chains(2.0 * rng.normal(size=(n_tokens, n_tags)), offsets, transitions)


def batches(chains: Chains, size: int) -> Iterator[Batch]:
    for first in range(0, len(chains.offsets) - 1, size):
        ends = torch.from_numpy(chains.offsets[first : first + size + 1])
        lengths = torch.diff(ends)
        mask = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
        score = torch.zeros(*mask.shape, chains.transitions.n_tags)
        score[mask] = torch.from_numpy(chains.score_tk[ends[0] : ends[-1]]).float()
        yield Batch(score, torch.zeros(mask.shape, dtype=torch.long), mask)


def modules(transitions: Transitions) -> dict[str, Callable[[Batch], torch.Tensor]]:
    """The log-likelihood of a batch by either package, under these transitions."""
    theirs = import_module("torchcrf").CRF(transitions.n_tags, batch_first=True)
    other = import_module("TorchCRF").CRF(transitions.n_tags, use_gpu=False)
    places = (
        (theirs.transitions, theirs.start_transitions, theirs.end_transitions),
        (other.trans_matrix, other.start_trans, other.end_trans),
    )
    for transition, start, end in places:
        transition.data = torch.from_numpy(transitions.transition_kk).float()
        start.data = torch.from_numpy(transitions.start_k).float()
        end.data = torch.from_numpy(transitions.end_k).float()
    return {
        "pytorch-crf": lambda batch: theirs(batch.score, batch.tags, batch.mask),
        "TorchCRF": lambda batch: other(batch.score, batch.tags, batch.mask).sum(),
    }


def fastest(work: Callable[[], Array], repeats: int) -> tuple[float, Array]:
    """Seconds of the fastest of several runs after a first one, and what was found."""
    found, seconds = work(), []
    for _ in range(repeats):
        begin = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds), found


def time_ours(chains: Chains, repeats: int) -> Timing:
    def work() -> Array:
        return expect(chains.score_tk, chains.offsets, chains.transitions).marginal_tk

    return Timing(OURS, *fastest(work, repeats))


def time_torch(chains: Chains, repeats: int) -> Iterator[Timing]:
    torch.set_num_threads(thread_count())
    for name, log_likelihood in modules(chains.transitions).items():
        for size in BATCHES:
            made = list(batches(chains, size))

            def work(
                made: list[Batch] = made,
                log_likelihood: Callable[[Batch], torch.Tensor] = log_likelihood,
            ) -> Array:
                slopes = []
                for batch in made:
                    batch.score.requires_grad_(True)
                    (slope,) = torch.autograd.grad(log_likelihood(batch), batch.score)
                    slopes.append(slope[batch.mask])
                marginal_tk = -torch.cat(slopes).numpy()
                marginal_tk[:, 0] += 1.0  # every tag given was the first
                return marginal_tk

            yield Timing(f"{name}, {count(size)} sentences a batch", *fastest(work, repeats))


def best_of_each(timings: list[Timing]) -> list[Timing]:
    best: dict[str, Timing] = {}
    for each in sorted(timings, key=lambda timing: timing.seconds):
        best.setdefault(each.tool.split(",")[0], each)
    return list(best.values())


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 when another tool is faster, or the marginals differ."""
    parser = argparse.ArgumentParser(description="Linear chains beside torch packages.")
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--tags", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    chains = random_chains(options.tokens, options.tags)
    ours = time_ours(chains, options.repeats)
    theirs = best_of_each(list(time_torch(chains, options.repeats)))
    rows = [[ours.tool, number(1e3 * ours.seconds), "1", "-"]]
    apart = 0.0
    for each in theirs:
        gap = float(np.abs(each.marginal_tk - ours.marginal_tk).max())
        apart = max(apart, gap)
        times = ratio(each.seconds, ours.seconds)
        rows.append([each.tool, number(1e3 * each.seconds), times, f"{gap:.0e}"])
    print(f"Forward-backward of {count(options.tokens)} tokens, {options.tags} tags, "
          f"{count(len(chains.offsets) - 1)} sentences, {thread_count()} threads\n")  # fmt: skip
    head = ["tool", "ms", "times ours", "largest difference of a marginal"]
    print(markdown_table(head, rows, left=1))
    return int(min(each.seconds for each in theirs) < ours.seconds or apart > 1e-3)


if __name__ == "__main__":
    raise SystemExit(main())
