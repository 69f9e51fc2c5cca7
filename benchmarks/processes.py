"""Run a job in a fresh process with a time limit."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

OK, OVER, FAILED, SKIPPED = "ok", "over the limit", "failed", "not run"


def run_job(
    job: str,
    request: Mapping[str, Any],
    *,
    limit_s: float,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The numbers of a job and its status: ok, over the limit (stopped), out of memory, failed.

    Warnings are switched off in the process, because printing them takes time.
    """
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.jobs"]
    process = subprocess.Popen(
        [*command, json.dumps({"job": job, **request})],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begin = time.perf_counter()
    status = OK
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        status = OVER
        process.kill()
        output, errors = process.communicate()
    except KeyboardInterrupt:
        process.kill()
        process.communicate()
        raise
    row = {"status": status, "limit_s": limit_s, "process_s": time.perf_counter() - begin}
    for line in output.splitlines():
        row |= json.loads(line)
    if status == OK and process.returncode != 0:
        row |= {"status": FAILED, "why": _last_line(errors, process.returncode)}
    return row


def _last_line(errors: str, code: int) -> str:
    lines = errors.strip().splitlines()
    return lines[-1] if lines else f"ended with code {code}"
