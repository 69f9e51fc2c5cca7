"""Draw new examples for the property tests until the time is up; the first failure ends it.

    python tests/fuzz.py MINUTES

A failing example is printed, with the line that makes it again, and kept in .hypothesis/examples,
from where the next run tries it first. The round that is under way when the time is up is ended.
"""

import secrets
import shlex
import subprocess
import sys
import time
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]


def main(minutes: float) -> int:
    until = time.monotonic() + 60 * minutes
    files = sorted(
        str(path.relative_to(HOME))
        for path in HOME.glob("tests/**/test_*.py")
        if "@given" in path.read_text(encoding="utf-8")
    )
    rounds = 0
    while rounds == 0 or time.monotonic() < until:
        seed = secrets.randbelow(2**32)
        words = ["-m", "hypothesis", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", "-x"]
        command = [sys.executable, "-m", "pytest", "-n", "auto", *words, *files]
        rounds += 1
        print(f"fuzz: round {rounds}, seed {seed}", flush=True)
        if subprocess.run(command, cwd=HOME, check=False).returncode:
            told = shlex.join(["pytest", *words, "TEST"])
            print(f"fuzz: round {rounds} failed; to see it again: {told}")
            return 1
    print(f"fuzz: {rounds} rounds, nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
