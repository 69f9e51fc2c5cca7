"""Time of starting, of imports, and of the first compilation."""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.processes import run_job

REPEATS = 5

_LIMIT_S = 300.0


def measure_startup() -> list[dict[str, Any]]:
    """Least wall time of a few commands after a warm-up; None for a command that does not run."""
    script = shutil.which("manyhands", path=str(Path(sys.executable).parent)) or "manyhands"
    commands = {
        'python -c "pass"': [sys.executable, "-c", "pass"],
        'python -c "import manyhands"': [sys.executable, "-c", "import manyhands"],
        'python -c "import manyhands.aggregation"': [
            sys.executable,
            "-c",
            "import manyhands.aggregation",
        ],
        "manyhands --help": [script, "--help"],
    }
    return [{"command": shown, "seconds": _wall(parts)} for shown, parts in commands.items()]


def measure_compilation() -> dict[str, Any]:
    """First fits with an empty compilation cache, and again with a filled one."""
    with tempfile.TemporaryDirectory() as cache:
        compiled, loaded = (
            run_job(
                "first-calls", {}, limit_s=_LIMIT_S, environment={"NUMBA_CACHE_DIR": cache}
            ).get("seconds")
            for _ in range(2)
        )
    return {"compiled_s": compiled, "loaded_s": loaded}


def _wall(command: list[str]) -> float | None:
    times = []
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=_LIMIT_S)
        except FileNotFoundError:
            return None
        if done.returncode != 0:
            return None
        times.append(time.perf_counter() - begin)
    return min(times[1:])
