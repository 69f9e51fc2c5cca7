"""Exports of annotation tools -> labels, and a consensus -> what the tools import.

All functions take and return parsed content: dictionaries, lists and plain values.
"""

from manyhands.io.exports.catalog import EXPORTS, Export, recognise
from manyhands.io.exports.exported import ExportedLabels, SpansError
from manyhands.io.exports.marked_spans import ExportedSpans, marks_spans, read_marked_spans
from manyhands.io.exports.span_suggestions import span_items
from manyhands.io.exports.suggestions import (
    TOOL_IMPORTS,
    Believed,
    ItemTexts,
    ToolImport,
    ToolItems,
)

__all__ = [
    "EXPORTS",
    "TOOL_IMPORTS",
    "Believed",
    "Export",
    "ExportedLabels",
    "ExportedSpans",
    "ItemTexts",
    "SpansError",
    "ToolImport",
    "ToolItems",
    "marks_spans",
    "read_marked_spans",
    "recognise",
    "span_items",
]
