"""A line for every room whose tests are over, so that a long run is seen to go on: pytest --rooms.

    tests/io                  457 passed           6 s   [ 12%]

Seconds are those of the room's tests added up; with several workers rooms are tested side by side.
"""

import time
from collections import Counter
from pathlib import PurePath

_QUIET_S = 30  # after which a line says how far it is


def room_of(name):
    """The folder that a test belongs to.

    >>> room_of("tests/io/test_io_spans.py::test_a"), room_of("src/manyhands/io/conll.py::x")
    ('tests/io', 'src/manyhands/io')
    >>> room_of("tests/test_benchmarks.py::test_b")
    'tests'
    """
    folders = PurePath(name.split("::")[0]).parts[:-1]
    return "/".join(folders[: 3 if folders[:1] == ("src",) else 2]) or "."


class Rooms:
    """Counts the tests of every room as they are collected and as they end."""

    def __init__(self, write, clock=time.monotonic):
        self.write, self.clock = write, clock
        self.left, self.all = Counter(), 0
        self.seconds, self.outcomes, self.bad = Counter(), {}, set()
        self.told_at = clock()

    def collected(self, names):
        """All tests that will run, by name."""
        self.left, self.all = Counter(map(room_of, names)), len(names)
        self.told_at = self.clock()

    def pytest_collection_finish(self, session):
        if session.items:
            self.collected([item.nodeid for item in session.items])

    def pytest_xdist_node_collection_finished(self, ids):
        self.collected(ids)  # every worker collects the same

    def pytest_report_teststatus(self, report):
        """No dots: the lines tell it."""
        return ("passed", "", "") if report.passed and report.when == "call" else None

    def pytest_runtest_logreport(self, report):
        room = room_of(report.nodeid)
        self.seconds[room] += report.duration
        if report.failed:
            self.bad.add(report.nodeid)
        outcomes = self.outcomes.setdefault(room, Counter())
        if report.when == "call" or (report.when == "setup" and report.skipped):
            outcomes[report.outcome] += report.outcome != "failed"
        if report.when != "teardown":
            return
        if report.nodeid in self.bad:
            outcomes["FAILED"] += 1
        self.left[room] -= 1
        if self.left[room] == 0:
            said = ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()) if n)
            self.tell(f"{room:<28} {said:<26} {self.seconds[room]:5.0f} s")
        elif self.clock() - self.told_at > _QUIET_S:
            self.tell("...")

    def tell(self, text):
        self.told_at = self.clock()
        done = self.all - sum(self.left.values())
        self.write(f"{text:<66} [{100 * done // max(self.all, 1):3}%]")
