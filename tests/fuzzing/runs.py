"""Cases one after another, a few at a time."""

import os
import shlex
import shutil
import tempfile
import time
from pathlib import Path

from fuzzing.cases import make_case
from fuzzing.sandbox import ended, faults, snapshot, start
from fuzzing.valid_files import write_valid_files


def run_cases(seeds, kept, go_on):
    """Yield number, words, outcome and faults of cases, as many at once as there are cores.

    Cases with faults are kept in the folder `kept`, by their numbers.
    """
    import manyhands.cli.app
    import manyhands.estimators  # noqa: F401  before the processes start, which then need not

    work = kept / "work"
    shutil.rmtree(work, ignore_errors=True)
    valid = work / "valid"
    write_valid_files(valid)
    (work / "tmp").mkdir()
    tempfile.tempdir = os.environ["TMPDIR"] = str(work / "tmp")
    running = {}
    left = iter(seeds)
    while True:
        while len(running) < len(os.sched_getaffinity(0)) and go_on():
            seed = next(left, None)
            if seed is None:
                break
            folder = work / str(seed)
            case = make_case(seed, valid, folder)
            running[seed] = case, folder, snapshot(folder), start(case.words, folder)
        if not running:
            return
        for seed, (case, folder, before, process) in list(running.items()):
            outcome = ended(process, folder)
            if outcome is not None:
                del running[seed]
                wrong = list(faults(outcome, before, snapshot(folder), case.may_write))
                _put_away(seed, case, folder, wrong, kept)
                yield seed, case.words, outcome, wrong
        time.sleep(0.01)


def _put_away(seed, case, folder, wrong, kept):
    files = [folder, Path(f"{folder}.out"), Path(f"{folder}.err")]
    if wrong:
        home = kept / str(seed)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        told = [shlex.join(case.words), *case.done, *wrong]
        (home / "what.txt").write_text("\n".join(told) + "\n", "utf-8", "backslashreplace")
        for each in files:
            shutil.move(each, home / each.name)
        return
    shutil.rmtree(folder)
    for each in files[1:]:
        each.unlink()
