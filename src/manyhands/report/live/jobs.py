"""What takes long: one job at a time, in a thread beside the server."""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from manyhands.core.errors import ManyhandsError, SettingName, first_line
from manyhands.report.shown import shown

State = Literal["waiting", "running", "done", "failed", "stopped"]
MAX_MESSAGE = 2000  # characters


class Stopped(Exception):  # noqa: N818 - somebody asked for it
    """The job was stopped."""


class Busy(Exception):  # noqa: N818
    """Too many jobs wait already."""


@dataclass
class Job:
    """What is done, how far it is, and how it ended; `error` is a line for a person."""

    title: str
    n_steps: int = 1
    state: State = "waiting"
    step: str = ""
    n_done: int = 0
    error: str = ""
    renamed: tuple[str, str] = ("", "")  # a path, and the name that errors show for it
    began: float | None = None
    stopping: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def busy(self) -> bool:
        """Whether the job waits or runs."""
        return self.state in ("waiting", "running")

    def begin(self, step: str) -> None:
        """Say what comes now; a job that was asked to stop ends here."""
        if self.stopping.is_set():
            raise Stopped
        self.step = step

    def advance(self) -> None:
        """Say that a step is done."""
        self.n_done += 1
        self.begin(self.step)

    def stop(self) -> None:
        """Ask the job to end after its present step."""
        self.stopping.set()
        if self.state == "waiting":
            self.state = "stopped"

    def fail(self, text: str) -> None:
        """End with an error."""
        path, name = self.renamed
        text = text.replace(path, name) if path else text
        self.error = shown(" ".join(text.splitlines()), MAX_MESSAGE)
        self.state = "failed"

    def as_dict(self) -> dict[str, Any]:
        """How far the job is, for the script of the page."""
        seconds = 0 if self.began is None else round(time.monotonic() - self.began)
        return {
            "busy": self.busy, "state": self.state, "step": self.step, "done": self.n_done,
            "steps": self.n_steps, "seconds": seconds, "stopping": self.stopping.is_set(),
        }  # fmt: skip


class Worker:
    """A thread that does jobs in their order."""

    def __init__(self, max_waiting: int) -> None:
        self._queue: queue.Queue[tuple[Job, Callable[[Job], None]] | None]
        self._queue = queue.Queue(max_waiting)
        self._now: Job | None = None
        self._thread = threading.Thread(target=self._work, daemon=True, name="manyhands jobs")
        self._thread.start()

    def submit(self, job: Job, work: Callable[[Job], None]) -> None:
        """Do a job when all before it are done."""
        try:
            self._queue.put_nowait((job, work))
        except queue.Full:
            raise Busy from None

    def wait(self) -> None:
        """Wait until all jobs have ended."""
        self._queue.join()

    def close(self, seconds: float) -> None:
        """Drop what waits, stop what runs, and wait for it a little."""
        while True:
            try:
                self._queue.get_nowait()
            except queue.Empty:
                break
        self._queue.put(None)
        if self._now is not None:
            self._now.stop()
        self._thread.join(seconds)

    def _work(self) -> None:
        while (next_one := self._queue.get()) is not None:
            job, work = next_one
            self._now = job
            if not job.stopping.is_set():
                do(job, work)
            self._queue.task_done()


def do(job: Job, work: Callable[[Job], None]) -> None:
    """Do a job here; it ends as done, failed or stopped, whatever happens.

    The error of a job that failed is the line that the command line prints, in which fields of the
    page stand for options.
    """
    job.state, job.began = "running", time.monotonic()
    try:
        work(job)
    except Stopped:
        job.state = "stopped"
    except ManyhandsError as error:
        job.fail(error.spelled(spelled))
    except MemoryError as error:
        job.fail(f"not enough memory: {error}")
    except OSError as error:
        job.fail(error.strerror or str(error))
    except Exception as error:  # a mistake of ours: the page is there all the same
        job.fail(f"unexpected {type(error).__name__}: {first_line(error)}")
    else:
        job.state = "done"


# The fields of the page by the settings that errors name.
FIELDS = {
    "item": "Column of items", "annotator": "Column of annotators", "label": "Column of labels",
    "layout": "Layout", "kind": "Labels are", "task": "Labels are", "missing": "No label",
    "classes": "Classes", "sheet": "Sheet", "encoding": "Encoding", "format": "Format",
    "method": "Method",
}  # fmt: skip


def spelled(setting: SettingName) -> str:
    """A setting as the field of the page that sets it.

    >>> spelled(SettingName("item", ...)), spelled(SettingName("missing", "NA"))
    ('“Column of items”', '“No label” (NA)')
    """
    if setting.name not in FIELDS:
        return str(setting)
    name = f"“{FIELDS[setting.name]}”"
    if setting.value is None or setting.value is ...:
        return name
    value = setting.value
    return f"{name} (empty cells)" if value == "" else f"{name} ({value})"
