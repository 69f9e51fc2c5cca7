"""Where annotations were read from, and what was taken for item, annotator and label."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Source:
    """A file of labels and how it was read.

    `item`, `annotator` and `label` are names of columns; empty where the layout has none. `notes`
    tell what a reader of the file should know: what was left out, and what was merged. `known`
    are truths that the file marks as such, by item. `layout` is the name of the tool for a file
    that a tool exported. `path` lists the files if they are several, and `files` are their names.
    `seconds` and `time` are the columns of how long labels took and when they were given.
    `content` is what the file has of its items beside labels; the functions that write for
    annotation tools use it. It is not pickled.
    """

    path: str
    layout: str
    item: str = ""
    annotator: str = ""
    label: str = ""
    notes: tuple[str, ...] = ()
    known: Mapping[Any, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    content: Any = field(default=None, repr=False, compare=False)
    seconds: str = ""
    time: str = ""

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"content": None}  # texts would make every pickle as large as the file

    def __str__(self) -> str:
        """What was taken, in one line.

        >>> str(Source("labels.csv", "long", "id", "worker", "answer", time="created_at"))
        'items: id, annotators: worker, labels: answer, times: created_at'
        """
        times = [f"seconds: {self.seconds}"] if self.seconds else []
        times += [f"times: {self.time}"] if self.time else []
        return ", ".join([self._columns, *times])

    @property
    def _columns(self) -> str:
        """What was taken for item, annotator and label."""
        if self.layout == "wide":
            return f"items: {self.item}, annotators: {self.annotator}, labels: their cells"
        if self.layout == "dense":
            return "items: rows, annotators: columns, labels: cells"
        if self.layout == "nested":
            return "items: keys, annotators: keys in them, labels: values"
        if self.layout == "pairs":
            who = f", annotators: {self.annotator}" if self.annotator else ""
            return f"items: {self.item}{who}, winners: {self.label or 'the first of the two'}"
        if self.layout != "long":
            where = f"items by {self.item}, annotators by {self.annotator}" if self.item else ""
            what = f"label {self.label}" if self.label else "items, annotators and labels"
            return f"{self.layout}: " + ", ".join(filter(None, [what, where]))
        return f"items: {self.item}, annotators: {self.annotator}, labels: {self.label}"

    def as_dict(self) -> dict[str, object]:
        """The fields that are not empty, for JSON."""
        found = {
            "path": self.path,
            "layout": self.layout,
            "item": self.item,
            "annotator": self.annotator,
            "label": self.label,
            "seconds": self.seconds,
            "time": self.time,
            "files": list(self.files),
            "notes": list(self.notes),
        }
        return {name: value for name, value in found.items() if value}
