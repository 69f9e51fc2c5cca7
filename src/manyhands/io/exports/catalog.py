"""The exports that are recognised by their content."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from manyhands.core.settings import Registry
from manyhands.io.exports import (
    argilla,
    doccano,
    frames,
    label_studio,
    label_studio_tables,
    lewidi,
    list_columns,
    mturk,
    prodigy,
)
from manyhands.io.exports.exported import ExportedLabels, well_formed


class Reader(Protocol):
    """Reads the labels of parsed content; the options name fields of the export."""

    def __call__(
        self,
        content: Any,
        *,
        item: str | None = None,
        annotator: str | None = None,
        label: str | None = None,
    ) -> ExportedLabels:
        """The labels of the content."""


@dataclass(frozen=True)
class Export:
    """One format: its tool in words, what it is recognised by, and its reader."""

    name: str
    tool: str
    recognised_by: str
    matches: Callable[[Any], bool]
    reader: Reader

    def read(
        self,
        content: Any,
        *,
        item: str | None = None,
        annotator: str | None = None,
        label: str | None = None,
    ) -> ExportedLabels:
        """The labels of parsed content; the options name fields of the export."""
        with well_formed(self.tool):
            return self.reader(content, item=item, annotator=annotator, label=label)


# In this order: the first that matches is taken.
_ALL = (
    Export(
        prodigy.NAME, "Prodigy (JSONL)", "answer (accept, reject, ignore) and _input_hash",
        prodigy.matches, prodigy.read,
    ),
    Export(
        label_studio.NAME, "Label Studio (JSON)", "tasks with data and annotations",
        label_studio.matches, label_studio.read,
    ),
    Export(
        label_studio_tables.NAME, "Label Studio (JSON-MIN, CSV)",
        "columns annotation_id, annotator and lead_time",
        label_studio_tables.matches, label_studio_tables.read,
    ),
    Export(
        argilla.NAME, "Argilla (records)", "fields and responses, or NAME.responses.users",
        argilla.matches, argilla.read,
    ),
    Export(
        mturk.NAME, "Amazon Mechanical Turk (results)",
        "columns WorkerId, Answer.NAME, and HITId or Input.NAME",
        mturk.matches, mturk.read,
    ),
    Export(
        lewidi.NAME, "LeWiDi (JSON)", "entries with annotators and annotations",
        lewidi.matches, lewidi.read,
    ),
    Export(
        doccano.NAME, "doccano (JSONL)", "id, text and a list of labels, in a file per user",
        doccano.matches, doccano.read,
    ),
    Export(
        list_columns.NAME, "Hugging Face (list columns)",
        "a list of labels and a list of annotators per record",
        list_columns.matches, list_columns.read,
    ),
    Export(
        frames.CROWD_KIT, "crowd-kit (table)", "columns task, worker and label",
        frames.matches_crowd_kit, frames.read_crowd_kit,
    ),
    Export(
        frames.CLEANLAB, "cleanlab (matrix)", "nothing; give the format",
        frames.matches_cleanlab, frames.read_cleanlab,
    ),
)  # fmt: skip
EXPORTS: Registry[Export] = Registry("export", {each.name: each for each in _ALL})


def recognise(content: Any) -> Export | None:
    """The format of parsed content, or None.

    Parameters
    ----------
    content : list of dict or dict
        Parsed JSON; the parsed lines of JSONL; the rows of a table, of which the first ones are
        enough; or {user: records} for a zip with a file per user.

    >>> recognise([{"task": 1, "worker": "ann", "label": "yes"}]).name
    'crowd-kit'
    """
    return next((each for each in EXPORTS.values() if each.matches(content)), None)
