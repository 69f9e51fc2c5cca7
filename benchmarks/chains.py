"""Time of forward-backward over tag sequences, beside two torch packages.

    python -m benchmarks.chains [--tokens N] [--tags N] [--repeats N]

It measures log-partitions and marginals of all tokens under a linear chain. The torch packages
compute them from the log-likelihood and its gradient in 32 bits, ours in 64 bits. Sentences are
sorted by length and cut into batches of several sizes for torch; padding is not timed, and the
fastest size counts. Records the numbers and writes docs/sequence-speed.md. Exits with 1 if another
tool is faster or the marginals differ.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.benchmark import CHAINS, TAGGING, Row, command_given, parser
from benchmarks.numbers import count
from benchmarks.sequence_page import PAGE, make_page
from manyhands.aggregation.kernels.linear_chain import Transitions, expect
from manyhands.core.kernels import thread_count
from manyhands.core.settings import generator
from manyhands.experiments import write_page

Array = NDArray[Any]
OURS = "manyhands"
BATCHES = (32, 256, 2048)


@dataclass(frozen=True)
class Chains:
    """Scores of the tokens of sentences, shortest sentence first, and transition scores."""

    score_tk: Array
    offsets: Array
    transitions: Transitions


@dataclass(frozen=True)
class Batch:
    """Padded sentences: scores, arbitrary tags, and which tokens are not padding."""

    score: torch.Tensor
    tags: torch.Tensor
    mask: torch.Tensor


@dataclass(frozen=True)
class Timing:
    """Seconds of the fastest pass, and the marginals."""

    tool: str
    seconds: float
    marginal_tk: Array


def random_chains(n_tokens: int, n_tags: int) -> Chains:
    """Sentences of 1 to 30 tokens; the last is cut to the total number of tokens."""
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
    """The log-likelihood of a batch by each package, with these transition scores."""
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
    """Seconds of the fastest of several runs after a first one, and the result."""
    result, seconds = work(), []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds), result


def time_ours(chains: Chains, repeats: int) -> Timing:
    def work() -> Array:
        return expect(chains.score_tk, chains.offsets, chains.transitions).marginal_tk

    return Timing(OURS, *fastest(work, repeats))


def time_torch(chains: Chains, repeats: int) -> Iterator[Timing]:
    torch.set_num_threads(thread_count())
    for name, log_likelihood in modules(chains.transitions).items():
        for size in BATCHES:
            prepared = list(batches(chains, size))

            def work(
                prepared: list[Batch] = prepared,
                log_likelihood: Callable[[Batch], torch.Tensor] = log_likelihood,
            ) -> Array:
                gradients = []
                for batch in prepared:
                    batch.score.requires_grad_(True)
                    (gradient,) = torch.autograd.grad(log_likelihood(batch), batch.score)
                    gradients.append(gradient[batch.mask])
                marginal_tk = -torch.cat(gradients).numpy()
                marginal_tk[:, 0] += 1.0  # the given tag was always the first
                return marginal_tk

            yield Timing(f"{name}, {count(size)} sentences a batch", *fastest(work, repeats))


def best_of_each(timings: list[Timing]) -> list[Timing]:
    best: dict[str, Timing] = {}
    for each in sorted(timings, key=lambda timing: timing.seconds):
        best.setdefault(each.tool.split(",")[0], each)
    return list(best.values())


def measure_all(n_tokens: int, n_tags: int, repeats: int, command: str) -> Iterator[Row]:
    """The rows of one run."""
    chains = random_chains(n_tokens, n_tags)
    sizes = {"n_tokens": n_tokens, "n_tags": n_tags, "n_sentences": len(chains.offsets) - 1}
    yield {"kind": "run", "command": command, **sizes, "threads": thread_count()}
    ours = time_ours(chains, repeats)
    yield {"kind": "time", "tool": ours.tool, "seconds": ours.seconds, "ratio": 1.0}
    for each in best_of_each(list(time_torch(chains, repeats))):
        gap = float(np.abs(each.marginal_tk - ours.marginal_tk).max())
        yield {"kind": "time", "tool": each.tool, "seconds": each.seconds,
               "ratio": each.seconds / ours.seconds, "difference": gap}  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page; 1 if a peer is faster or marginals differ."""
    made = parser("chains", __doc__)
    made.add_argument("--tokens", type=int, default=100_000)
    made.add_argument("--tags", type=int, default=9)
    made.add_argument("--repeats", type=int, default=5)
    options = made.parse_args(arguments)
    command = command_given("chains", arguments)
    rows = CHAINS.keep(
        measure_all(options.tokens, options.tags, options.repeats, command), options.docs
    )
    write_page(options.docs / PAGE, make_page(rows, TAGGING.read(options.docs)))
    peers = [row for row in rows if "difference" in row]
    return int(any(row["ratio"] < 1 or row["difference"] > 1e-3 for row in peers))


if __name__ == "__main__":
    raise SystemExit(main())
