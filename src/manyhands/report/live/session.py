"""The files and results of one run of the program, in a private folder that is removed at the end.

No request names a path. Files and results have numbers, and what is written for them lies in a
folder with that number.
"""

import itertools
import re
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from manyhands.annotations.labels import as_list
from manyhands.datasets import load_demo
from manyhands.io import LabelFile, write_annotations
from manyhands.report.live.guard import Refusal
from manyhands.report.live.jobs import Busy, Job, Worker
from manyhands.report.live.limits import Limits
from manyhands.report.live.reading import Preview, ReadLabels, changed_settings, preview
from manyhands.report.live.reading import read_labels as read_file
from manyhands.report.live.results import (
    N_STEPS,
    MethodTable,
    Result,
    compare_methods,
    make_result,
    methods_for,
)
from manyhands.report.shown import shown

T = TypeVar("T")
DEMO = "demo.csv"
MAX_NAME = 60  # characters of a file on disk
_GONE = "This is not kept any more. Go back to the start and open the file again."


@dataclass
class OpenedFile:
    """A file of labels; `labels` are there when its job is done."""

    id: str
    name: str
    paths: str | list[str]
    settings: dict[str, Any]
    job: Job
    folder: Path | None = None  # with the file; None for one that lies elsewhere
    preview: Preview = field(default_factory=Preview)
    labels: ReadLabels | None = None


class Session:
    """What is open; a context that removes it all at its end."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.folder = Path(tempfile.mkdtemp(prefix="manyhands-serve-"))
        self.files: OrderedDict[str, OpenedFile] = OrderedDict()
        self.results: OrderedDict[str, Result] = OrderedDict()
        self.comparisons: OrderedDict[str, MethodTable] = OrderedDict()
        self._numbers, self._lock = itertools.count(1), threading.RLock()
        self.worker = Worker(self.limits.max_waiting)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.worker.close(seconds=2.0)
        for _ in range(3):  # a job that has not ended may write a file meanwhile
            shutil.rmtree(self.folder, ignore_errors=True)

    def new_folder(self) -> Path:
        """A folder that does not exist yet; its name is a number that nothing else has."""
        return self.folder / str(next(self._numbers))

    def open_path(
        self, paths: str | list[str], settings: Mapping[str, Any] | None = None
    ) -> OpenedFile:
        """Open a file of this computer where it lies."""
        name = shown(Path(LabelFile(paths).shown).name or "labels")
        number = self.new_folder().name
        return self._open(OpenedFile(number, name, paths, dict(settings or {}), Job("")))

    def open_upload(self, path: Path, name: str) -> OpenedFile:
        """Open a file that was uploaded into a new folder of the session."""
        folder = path.parent
        return self._open(
            OpenedFile(folder.name, shown(name), str(path), {}, Job(""), folder=folder)
        )

    def open_demo(self) -> OpenedFile:
        """Open the labels of the demo."""
        path = self.new_folder() / DEMO
        path.parent.mkdir()
        write_annotations(load_demo(0).crowd.annotations, path)
        return self.open_upload(path, DEMO)

    def _open(self, file: OpenedFile) -> OpenedFile:
        with self._lock:
            self._read(file)
            self.files[file.id] = file
            while len(self.files) > self.limits.max_files:
                self.remove(next(iter(self.files)))
        return file

    def change_columns(self, file: OpenedFile, form: Mapping[str, Sequence[str]]) -> None:
        """Read a file again with what was chosen in the form."""
        if not file.job.busy:
            file.settings = changed_settings(file.settings, form)
            self._read(file)

    def leave_out(self, result: Result) -> OpenedFile:
        """Read the file of a result again, without the annotators that its report leaves out."""
        file, removal = self.of(self.files, result.file), result.content.get("removal")
        if result.consensus is None or not removal or file.job.busy:
            raise Refusal(409, "There is nobody to leave out now.")
        names = result.consensus.annotations.annotators[removal["codes"]].tolist()
        before = as_list(file.settings.get("exclude") or ())
        file.settings = file.settings | {"exclude": list(dict.fromkeys([*before, *names]))}
        self._read(file)
        return file

    def _read(self, file: OpenedFile) -> None:
        def work(job: Job) -> None:
            job.begin("Reading the file")
            source = LabelFile(file.paths, **file.settings)
            file.preview = preview(source)
            file.labels = read_file(source)
            job.n_done += 1

        before = file.job, file.labels
        renamed = ("", "") if file.folder is None else (str(file.paths), file.name)
        file.job = Job(f"Reading {file.name}", renamed=renamed)
        file.labels = None
        try:
            self._submit(file.job, work)
        except Refusal:
            file.job, file.labels = before
            raise

    def run(self, file: OpenedFile, method: str) -> Result:
        """Start a method on a file."""
        labels = self._labels(file)
        known = [name for name, _ in methods_for(labels.kind)]
        if method not in known:
            raise Refusal(400, "There is no such method for these labels.")
        folder = self.new_folder()
        result = Result(folder.name, file.id, method, Job(f"Running {method}", N_STEPS), folder)
        result.n_left_out = len(as_list(file.settings.get("exclude") or ()))
        self._submit(result.job, lambda _: make_result(labels, result, file.name))
        self._keep(self.results, result)
        return result

    def compare(self, file: OpenedFile, methods: Sequence[str]) -> MethodTable:
        """Start a comparison of methods on a file."""
        labels = self._labels(file)
        comparable = [name for name, _ in methods_for(labels.kind) if name != "auto"]
        chosen = [name for name in comparable if name in methods] or comparable
        folder = self.new_folder()
        job = Job("Comparing methods", len(chosen) + ("majority" not in chosen))
        made = MethodTable(folder.name, file.id, chosen, job, folder)
        self._submit(job, lambda _: compare_methods(labels, made))
        self._keep(self.comparisons, made)
        return made

    def _labels(self, file: OpenedFile) -> ReadLabels:
        if file.labels is None:
            raise Refusal(409, "The file is not read yet.")
        return file.labels

    def _keep(self, kept: OrderedDict[str, T], made: Any) -> None:
        with self._lock:
            kept[made.id] = made
            while len(kept) > self.limits.max_results:
                _, oldest = kept.popitem(last=False)
                _drop(oldest)

    def _submit(self, job: Job, work: Any) -> None:
        try:
            self.worker.submit(job, work)
        except Busy:
            raise Refusal(
                503, "Several things wait already. Wait until one is done, and try again."
            ) from None

    def remove(self, number: str) -> None:
        """Forget a file with its results."""
        with self._lock:
            file = self.files.pop(number, None)
            for kept in (self.results, self.comparisons):
                for made in [each for each in kept.values() if each.file == number]:
                    _drop(kept.pop(made.id))
            if file is not None:
                file.job.stop()
                if file.folder is not None:
                    shutil.rmtree(file.folder, ignore_errors=True)

    def of(self, kept: Mapping[str, T], number: str) -> T:
        """What has this number; refused if there is nothing."""
        with self._lock, suppress(KeyError):
            return kept[number]
        raise Refusal(404, _GONE)

    def made_of(self, file: OpenedFile) -> tuple[list[Result], list[MethodTable]]:
        """The results and comparisons of a file, the newest first."""
        with self._lock:
            results = [each for each in self.results.values() if each.file == file.id]
            comparisons = [each for each in self.comparisons.values() if each.file == file.id]
        return results[::-1], comparisons[::-1]


def _drop(made: Any) -> None:
    made.job.stop()
    shutil.rmtree(made.folder, ignore_errors=True)


def name_on_disk(name: str) -> str:
    r"""A name for a file on disk: letters, digits and points of the given one, and its suffixes.

    >>> name_on_disk("../../etc/pass*wd?.csv.gz"), name_on_disk("C:\\labels (1).xlsx")
    ('passwd.csv.gz', 'labels 1.xlsx')
    >>> name_on_disk(".."), name_on_disk("x" * 300 + ".csv") == "x" * 56 + ".csv"
    ('labels', True)
    """
    last = re.split(r"[/\\]", name)[-1]
    clean = re.sub(r"[^\w. -]", "", last).strip(". -")
    suffixes = "".join(Path(clean).suffixes[-2:])[-20:] if "." in clean else ""
    stem = clean[: len(clean) - len(suffixes)]
    return (stem[: MAX_NAME - len(suffixes)] + suffixes).strip(". -") or "labels"
