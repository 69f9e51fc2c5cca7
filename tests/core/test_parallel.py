"""Work in several processes: results, processes that are killed, and a parent that is."""

import os
import signal
import subprocess
import sys

import pytest

from manyhands.core.parallel import in_processes


def square(x):
    return x * x


def fail_at_three(x):
    if x == 3:
        raise ValueError("three")
    return x


def kill_oneself(x):
    os.kill(os.getpid(), signal.SIGKILL)


def test_results_come_in_any_order():
    for jobs in (1, 2):
        assert sorted(in_processes(square, [(x,) for x in range(6)], jobs)) == [0, 1, 4, 9, 16, 25]


def test_errors_are_those_of_the_work():
    with pytest.raises(ValueError, match="three"):
        list(in_processes(fail_at_three, [(x,) for x in range(6)], 2))


def test_a_process_that_is_killed_is_one_line():
    with pytest.raises(OSError, match="a process that did part of the work was killed") as error:
        list(in_processes(kill_oneself, [(1,), (2,)], 2))
    assert "\n" not in str(error.value)


PARENT = """
import os, time
from manyhands.core.parallel import in_processes

def work(x):
    print(os.getpid(), flush=True)
    time.sleep(600)

list(in_processes(work, [(1,), (2,)], 2))
"""


@pytest.mark.slow
def test_workers_end_with_the_process_that_asked(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    command = [sys.executable, script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert all(int(parent.stdout.readline()) != parent.pid for _ in range(2))
        parent.kill()
        # It ends when the last process that may write to it has.
        assert parent.stdout.read() == ""


FAILED_WORK = """
from manyhands.core.parallel import in_processes

def work(x):
    if x == 0:
        raise ValueError("no")
    import time
    time.sleep(600)

try:
    list(in_processes(work, [(x,) for x in range(4)], 2))
except ValueError:
    print("an error")
"""


@pytest.mark.slow
def test_workers_are_gone_after_an_error(tmp_path):
    script = tmp_path / "failed.py"
    script.write_text(FAILED_WORK)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("an error\n", "")
