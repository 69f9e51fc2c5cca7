"""Commands in processes of their own, with limits of time and memory, and what they left behind."""

import contextlib
import hashlib
import json
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

GIB = 2**30
MOST_MEMORY = 4 * GIB
_ADDRESSES = 8 * GIB  # beyond what the program has before it starts
MOST_SECONDS = 60  # of a processor
_PATIENCE = 240  # seconds of a clock: the machine may be busy
_LARGEST_FILE = GIB
_SAID = ("out", "err")


@dataclass
class Outcome:
    """How a command ended: its exit code or minus its signal, and what it took."""

    code: int
    seconds: float
    memory: int
    out: str
    err: str


@dataclass
class Process:
    """A command that runs."""

    pid: int
    began: float = field(default_factory=time.monotonic)
    overdue: bool = False


def run_command(words, out, err):
    """Run a command to its end without limits; returns its exit code."""
    pid = os.fork()
    if pid == 0:
        _become(words, Path.cwd(), out, err, limited=False)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def start(words, folder, said=None, *, limited=True):
    """Start a command in a folder; what it says goes to files named like `said`."""
    names = [os.devnull] * 2 if said == os.devnull else [f"{said or folder}.{e}" for e in _SAID]
    pid = os.fork()
    if pid == 0:
        _become(words, folder, *names, limited=limited)
    return Process(pid)


def ended(process, folder):
    """The outcome of a command that has ended, or None; one that takes too long is killed."""
    pid, status, used = os.wait4(process.pid, os.WNOHANG)
    if pid == 0:
        if not process.overdue and time.monotonic() - process.began > _PATIENCE:
            process.overdue = True
            os.killpg(process.pid, signal.SIGKILL)
        return None
    with contextlib.suppress(ProcessLookupError):  # workers that outlived it
        os.killpg(process.pid, signal.SIGKILL)
    said = [Path(f"{folder}.{each}").read_text("utf-8", "replace") for each in _SAID]
    seconds = used.ru_utime + used.ru_stime
    code = os.waitstatus_to_exitcode(status)
    return Outcome(code, _PATIENCE if process.overdue else seconds, used.ru_maxrss * 1024, *said)


def _become(words, folder, out, err, *, limited):
    """Make this process the command; it does not return."""
    os.setsid()
    os.chdir(folder)
    for number, name in ((0, os.devnull), (1, out), (2, err)):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(name, flags, 0o600), number)
    for number, mode in ((1, "w"), (2, "w")):
        setattr(sys, ("", "stdout", "stderr")[number], os.fdopen(number, mode, encoding="utf-8"))
    if limited:
        (Path(folder).parent / "tmp").mkdir(exist_ok=True)
        _limit()
    sys.argv = ["manyhands", *words]
    try:
        from manyhands.cli.app import main

        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:  # the parent must not get back what is its own
        import traceback

        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _limit():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limits = {
        resource.RLIMIT_AS: pages * resource.getpagesize() + _ADDRESSES,
        resource.RLIMIT_CPU: MOST_SECONDS + 5,
        resource.RLIMIT_FSIZE: _LARGEST_FILE,
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))


def snapshot(folder):
    """What every entry of a folder is: the checksum of a file, the aim of a link, or its kind."""
    return {
        str(path.relative_to(folder)): _entry(path)
        for path in sorted(Path(folder).rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }


def _entry(path):
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if not path.is_file():
        return "no file"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def faults(outcome, before, after, may_write):
    """What a command did that none may do."""
    yield from _bad_ends(outcome)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name) or _is_allowed(name, may_write):
            continue
        change = "left" if name not in before else "removed" if name not in after else "changed"
        yield f"{change} {name}"
    if outcome.code == 0 and outcome.out.startswith("{"):
        try:
            json.loads(outcome.out, parse_constant=_refuse)
        except ValueError as error:
            yield f"is no JSON: {error}"


def _bad_ends(outcome):
    last = (outcome.err.strip().splitlines() or [""])[-1]
    if outcome.code < 0:
        yield f"ended by signal {-outcome.code}"
    elif outcome.code not in {0, 1, 2}:
        yield f"ended with {outcome.code}: {last}"
    if "Traceback" in outcome.err or "Traceback" in outcome.out:
        yield f"traceback: {last}"
    if outcome.code == 2 and "manyhands: " not in last:
        yield f"no reason: {last}"
    if outcome.code == 1:  # the machine has no fault
        yield f"failed: {last}"
    if outcome.seconds >= MOST_SECONDS:
        yield f"took {outcome.seconds:.0f} s"
    if outcome.memory > MOST_MEMORY:
        yield f"took {outcome.memory / GIB:.1f} GiB"


def _is_allowed(name, may_write):
    own = Path(name).name
    if own.startswith("others"):  # files of other people, wherever they are
        return False
    return any(name == each or name.startswith(f"{each}/") for each in may_write)


def _refuse(token):
    raise ValueError(f"{token} is no number of JSON")
