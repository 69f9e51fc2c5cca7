"""The part of the page on capacity about labels as many as those of published times."""

from statistics import median

from benchmarks.benchmark import Row
from benchmarks.numbers import number
from manyhands.experiments import markdown_table

LARGE_LABELS, LARGE_ANNOTATORS, LARGE_TOL = 100_000_000, 10_000, 1e-6
PUBLISHED = "spark-crowd"
ONE_NODE_S, CORES_30_S = 703.0, 426.0  # as published, not measured here


def large_section(rows: list[Row]) -> str:
    """Time and memory of the engines on these labels, beside what is published."""
    runs = [row for row in rows if row["kind"] == "large" and row["code"] == 0]
    found = {row["engine"]: [each for each in runs if each["engine"] == row["engine"]]
             for row in runs}  # fmt: skip
    if set(found) != {"stream", "spark"}:
        return ""
    head = ["engine", "wall s", "least and most", "processor s", "most GiB", "EM steps",
            f"times faster than {PUBLISHED} on one node"]  # fmt: skip
    seconds = {engine: median(row["seconds"] for row in some) for engine, some in found.items()}
    body = [
        [engine, number(seconds[engine]),
         f"{number(min(row['seconds'] for row in some))}, "
         f"{number(max(row['seconds'] for row in some))}",
         number(median(row["processor_s"] for row in some)),
         number(max(row["gib"] for row in some)), str(some[0]["steps"]),
         number(ONE_NODE_S / seconds[engine])]
        for engine, some in found.items()
    ]  # fmt: skip
    load = max(row["load"] for row in runs)
    return f"""## 100 million labels

10 million items, 10 thousand annotators, two classes, in random order in a Parquet file; from the
file to the consensus table, until `dawid-skene` converges. Medians of {len(found["stream"])} runs
of each engine in turn, both on two cores (load at most {number(load)} when one began).

{markdown_table(head, body, left=1)}

Spark takes {number(seconds["spark"] / seconds["stream"])} times as long as `stream`; starting Java
and moving labels between Java and Python are most of the difference. The published times of
{PUBLISHED} for as many labels, items and annotators are {ONE_NODE_S:.0f} s on one node and
{CORES_30_S:.0f} s on 30 cores: other machines and another number of EM steps, so the ratio tells
the order of magnitude."""
