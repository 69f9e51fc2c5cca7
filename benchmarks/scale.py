"""Dawid-Skene on labels in parts: time and memory of the engines stream and spark.

    python -m benchmarks.scale [--labels N] [--items N] [--annotators N] [--engines stream,spark]

Every engine runs as a process of its own on the same Parquet file, with two classes; prints one
line of JSON per engine: seconds, those of processors, the largest memory of all its processes
together, and EM steps.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_CHUNK = 5_000_000  # labels that are made at a time
_PAUSE = 0.2  # seconds between two looks at the processes


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=100_000_000)
    parser.add_argument("--items", type=int, default=10_000_000)
    parser.add_argument("--annotators", type=int, default=10_000)
    parser.add_argument("--engines", default="stream,spark")
    parser.add_argument("--folder", default=None, help="for the files; about 30 bytes per label")
    parser.add_argument("--steps", type=int, default=100, help="the largest number of EM steps")
    options = parser.parse_args(arguments)
    failed = 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        labels = Path(folder) / "labels.parquet"
        write_labels(labels, options.labels, options.items, options.annotators)
        for engine in options.engines.split(","):
            row = measure(engine, labels, Path(folder) / f"{engine}.parquet", options.steps)
            sizes = {name: getattr(options, name) for name in ("labels", "items", "annotators")}
            print(json.dumps({"engine": engine, **sizes, **row}), flush=True)
            failed += row["code"] != 0
    return 1 if failed else 0


def write_labels(
    path: Path, n_labels: int, n_items: int, n_annotators: int, n_classes: int = 2
) -> None:
    """Labels of classes in random order, by annotators who are right in 60 to 95 %."""
    rng = np.random.default_rng(0)
    truth_i = rng.integers(0, n_classes, n_items, dtype=np.int8)
    right_a = rng.uniform(0.6, 0.95, n_annotators)
    names = ("item", "annotator", "label")
    schema = pa.schema([(name, pa.int64()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, n_labels, _CHUNK):
            n = min(_CHUNK, n_labels - begin)
            item = rng.integers(0, n_items, n)
            annotator = rng.integers(0, n_annotators, n)
            wrong = rng.random(n) >= right_a[annotator]
            shift = wrong * rng.integers(1, n_classes, n)
            columns = (item, annotator, ((truth_i[item] + shift) % n_classes).astype(np.int64))
            writer.write_table(pa.table(dict(zip(names, columns, strict=True)), schema=schema))


def measure(
    engine: str, labels: Path, out: Path, steps: int, *, cores: int | None = None, tol: float = 1e-6
) -> dict[str, float]:
    """Run the command, and look at the memory and the processor time of its processes."""
    command = [sys.executable, "-m", "manyhands", "aggregate", str(labels), "--engine", engine,
               "--method", "dawid-skene", "--set", f"max_iter={steps}", "--set", f"tol={tol}",
               "--json", "--out", str(out)]  # fmt: skip
    if engine == "spark":
        command += ["--master", f"local[{cores or os.cpu_count()}]"]
    began, peak, ended = time.perf_counter(), [0.0, 0.0], threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:

        def look() -> None:
            while not ended.wait(_PAUSE):
                memory, processor = _usage(process.pid)
                peak[:] = [max(peak[0], memory), max(peak[1], processor)]

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        told, _ = process.communicate()
        ended.set()
        looking.join()
    found = json.loads(told)["summary"] if process.returncode == 0 else {"iterations": 0}
    return {
        "seconds": round(time.perf_counter() - began, 1), "processor_s": round(peak[1], 1),
        "gib": round(peak[0] / 2**30, 2), "steps": found["iterations"], "code": process.returncode,
    }  # fmt: skip


def _usage(root: int) -> tuple[float, float]:
    """Bytes of a process and its children that are no mapped files, and their processor time."""
    parents, sizes, seconds = {}, {}, {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":", 1) for line in (each / "status").read_text().splitlines())
            parents[int(each.name)] = int(status["PPid"])
            sizes[int(each.name)] = float(status.get("RssAnon", "0 kB").split()[0]) * 1024
            ticks = (each / "stat").read_text().rpartition(")")[2].split()[11:15]
            seconds[int(each.name)] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        except (OSError, KeyError, ValueError):  # it has just ended
            continue
    family = {root}
    for _ in range(6):  # generations
        family |= {child for child, parent in parents.items() if parent in family}
    totals = (sum(each.get(member, 0.0) for member in family) for each in (sizes, seconds))
    return next(totals), next(totals)


if __name__ == "__main__":
    sys.exit(main())
