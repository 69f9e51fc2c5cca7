"""Cases of damaged files in which something was wrong once, and a few others, hold."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOUND = [int(line) for line in (HERE / "found.txt").read_text().splitlines() if line[0] != "#"]


@pytest.mark.slow
def test_damaged_files_are_refused_or_read(tmp_path):
    command = [sys.executable, str(HERE.parent / "fuzz.py"), "cases", *map(str, FOUND)]
    one_thread = {"PYTHONHASHSEED": "0", **os.environ}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=one_thread, cwd=tmp_path
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr}"
