"""Exports of annotation tools -> labels, and a consensus -> what the tools import.

All functions take and return parsed content: dictionaries, lists and plain values.
"""

from manyhands.io.exports.catalog import EXPORTS, Export, recognise
from manyhands.io.exports.exported import ExportedLabels, SpansError
from manyhands.io.exports.marked_spans import ExportedSpans, marks_spans, read_marked_spans
from manyhands.io.exports.suggestions import (
    items_to_relabel,
    label_studio_predictions,
    predictions_for_label_studio,
    suggestions_for_argilla,
    tasks_for_prodigy,
)

__all__ = [
    "EXPORTS",
    "Export",
    "ExportedLabels",
    "ExportedSpans",
    "SpansError",
    "items_to_relabel",
    "label_studio_predictions",
    "marks_spans",
    "predictions_for_label_studio",
    "read_marked_spans",
    "recognise",
    "suggestions_for_argilla",
    "tasks_for_prodigy",
]
