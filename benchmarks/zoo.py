"""Every aggregator of classes on many simulated crowds of very different kinds.

    python -m benchmarks.zoo [--crowds N] [--first SEED] [--jobs N]

Records the numbers and writes docs/zoo.md.
"""

import os
import time
from collections.abc import Iterator

from joblib import Parallel, delayed, parallel_config

from benchmarks.benchmark import ZOO, Row, command_given, log, parser
from benchmarks.machine import machine_facts
from benchmarks.zoo_jobs import measure
from benchmarks.zoo_page import PAGE, make_page
from manyhands.experiments import write_page

TOLD_EVERY = 50  # crowds


def measure_all(crowds: int, first: int, jobs: int, command: str) -> Iterator[Row]:
    """The rows of one run, as they are measured."""
    yield {"kind": "run", "command": command}
    yield {"kind": "machine", **machine_facts()}
    began = time.perf_counter()
    with parallel_config("loky", inner_max_num_threads=1):
        seeds = range(first, first + crowds)
        rows = Parallel(jobs, return_as="generator")(delayed(measure)(seed) for seed in seeds)
        for done, row in enumerate(rows, start=1):
            yield row
            if done % TOLD_EVERY == 0 or done == crowds:
                took = time.perf_counter() - began
                log(f"{done:,} of {crowds:,} crowds in {took:.0f} s")


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    made = parser("zoo", __doc__)
    made.add_argument("--crowds", type=int, default=1000, help="number of crowds")
    made.add_argument("--first", type=int, default=0, help="seed of the first crowd")
    made.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes; default: cores")
    options = made.parse_args(arguments)
    command = command_given("zoo", arguments)
    rows = ZOO.keep(measure_all(options.crowds, options.first, options.jobs, command), options.docs)
    write_page(options.docs / PAGE, make_page(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
