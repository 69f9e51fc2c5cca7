"""The command line, called in this process or as a process of its own."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest import mock

from manyhands.cli import app

HEADER = "item,annotator,label\n"
SMALL = HEADER + "a,u,x\na,v,x\nb,u,y\nb,v,x\nb,w,y\nc,w,y\n"


class TrainingResult(NamedTuple):
    """What a call left behind."""

    code: int
    out: str
    err: str


def call(*words: object) -> TrainingResult:
    """Run a command in this process."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.StringIO()
    argv = ["manyhands", *map(str, words)]
    with mock.patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        code = app._run()
    return TrainingResult(code, out.buffer.getvalue().decode(), err.getvalue())


def start(*words: object, **settings: Any) -> TrainingResult:
    """Run a command as a process of its own."""
    command = [sys.executable, "-m", "manyhands", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **settings)
    return TrainingResult(done.returncode, done.stdout, done.stderr)


def start_changed(change: str, *words: object) -> TrainingResult:
    """Run a command as a process of its own, in which some Python was run before.

    It heeds Ctrl-C even where the tests run in the background, which makes programs ignore it.
    """
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"{change}\n"
        "from manyhands.cli.app import main\n"
        "sys.argv[0] = 'manyhands'\nmain()\n"
    )
    command = [sys.executable, "-c", program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return TrainingResult(done.returncode, done.stdout, done.stderr)


def assert_refused(outcome: TrainingResult, code: int = 2) -> None:
    """One line on standard error, after the line that says how a file was read, if any."""
    assert outcome.code == code, outcome
    assert outcome.out == ""
    told = without_reading(outcome.err)
    assert told.startswith("manyhands: ")
    assert told.count("\n") == 1
    assert told.endswith("\n")
    assert "Traceback" not in outcome.err


def without_reading(err: str) -> str:
    """The lines of standard error without those that say how a file of labels was read."""
    return "".join(line for line in err.splitlines(keepends=True) if not line.startswith("items: "))


def plain_json(text: str) -> Any:
    """The one JSON object a command printed; NaN and infinities are not JSON."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is not JSON")

    return json.loads(text, parse_constant=refuse)
