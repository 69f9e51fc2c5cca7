"""Search at random for faults until the time is up.

    python tests/fuzz.py properties MINUTES
    python tests/fuzz.py commands MINUTES [FIRST_SEED]
    python tests/fuzz.py cases NUMBER...
    python tests/fuzz.py kills SEED

`properties` draws new examples for the property tests; the first failure ends it. A failing example
is printed, with the line that makes it again, and kept in .hypothesis/examples, from where the next
run tries it first. The round that is under way when the time is up is ended.

`commands` damages files, models and checkpoints and gives them to every command, in processes with
limits of time and memory. A number makes a case. What went wrong is kept in the folder .fuzz of the
working directory, by number, and `cases` makes and runs some once more.

`kills` kills training and reproduction at random moments and lets two commands write one folder.
"""

import itertools
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
KEPT = Path(".fuzz").resolve()
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MANYHANDS_THREADS")


def fuzz_properties(minutes):
    """Rounds of all property tests, each with another seed."""
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


def fuzz_commands(minutes, first):
    """Cases from a number on, as many at once as there are cores."""
    from fuzzing.runs import run_cases

    print(f"fuzz: cases from {first} on", flush=True)
    until = time.monotonic() + 60 * minutes
    found, ends = {}, Counter()
    for seed, words, outcome, faults in run_cases(
        itertools.count(first), KEPT, lambda: time.monotonic() < until
    ):
        ends[f"{words[0]} {outcome.code}"] += 1
        if faults:
            found[seed] = faults
            print(f"fuzz: {seed}: {shlex.join(words)}: {'; '.join(faults)}", flush=True)
        if ends.total() % 500 == 0:
            print(f"fuzz: {ends.total()} cases, {len(found)} with faults", flush=True)
    print("fuzz: " + ", ".join(f"{name}: {n}" for name, n in sorted(ends.items())))
    print(f"fuzz: {ends.total()} cases, {len(found)} with faults, kept in {KEPT.name}")
    return 1 if found else 0


def run_again(seeds):
    """Cases by their numbers, with what they say."""
    from fuzzing.runs import run_cases

    wrong = 0
    for seed, words, outcome, faults in run_cases(seeds, KEPT, lambda: True):
        wrong += bool(faults)
        print(f"fuzz: {seed}: {shlex.join(words)}", outcome.out, outcome.err, sep="\n")
        print(f"ended with {outcome.code} after {outcome.seconds:.1f} s; faults: {faults}")
    return 1 if wrong else 0


def main(kind, number, *more):
    """Run what the words say."""
    if kind == "properties":
        return fuzz_properties(float(number))
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    if kind == "kills":
        from fuzzing.kills import run_kills

        for line in run_kills(int(number), KEPT):
            print(f"fuzz: {line}", flush=True)
        return 0
    if kind == "cases":
        return run_again([int(each) for each in (number, *more)])
    return fuzz_commands(float(number), int(more[0]) if more else secrets.randbelow(2**32))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
