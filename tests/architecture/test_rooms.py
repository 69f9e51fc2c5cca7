"""The lines that tell how far a run of the tests is."""

from types import SimpleNamespace

import rooms


def report(name, outcome="passed", when="call"):
    parts = {"failed": outcome == "failed", "skipped": outcome == "skipped"}
    return SimpleNamespace(nodeid=name, outcome=outcome, when=when, duration=0.5, **parts)


def test_a_room_has_its_line_when_its_last_test_is_over():
    lines, now = [], [0.0]
    seen = rooms.Rooms(lines.append, lambda: now[0])
    names = ["tests/io/test_a.py::one", "tests/io/test_a.py::two", "tests/test_b.py::three"]
    seen.pytest_xdist_node_collection_finished(names)
    for name, outcome in zip(names, ["passed", "failed", "skipped"], strict=True):
        when = "setup" if outcome == "skipped" else "call"
        seen.pytest_runtest_logreport(report(name, outcome, when))
        now[0] += 20.0
        seen.pytest_runtest_logreport(report(name, when="teardown"))
    assert [line.split() for line in lines] == [
        ["tests/io", "1", "FAILED,", "1", "passed", "2", "s", "[", "66%]"],
        ["tests", "1", "skipped", "1", "s", "[100%]"],
    ]


def test_a_long_silence_is_broken():
    lines, now = [], [0.0]
    seen = rooms.Rooms(lines.append, lambda: now[0])
    seen.collected([f"tests/io/test_a.py::{n}" for n in range(4)])
    for n in range(3):
        now[0] += 20.0
        seen.pytest_runtest_logreport(report(f"tests/io/test_a.py::{n}", when="teardown"))
    assert [line.split() for line in lines] == [["...", "[", "50%]"]]
