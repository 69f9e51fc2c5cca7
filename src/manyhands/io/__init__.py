"""Files <-> annotations."""

from manyhands.io.convert import copy_table, is_table, write_annotations
from manyhands.io.features import Features, read_features
from manyhands.io.labels import LABEL_FORMATS, LAYOUTS, read_annotations, read_rows
from manyhands.io.tables import FORMATS, require_target, write_stream, write_table
from manyhands.io.truth import read_truth
from manyhands.io.whole import whole_file

__all__ = [
    "FORMATS",
    "LABEL_FORMATS",
    "LAYOUTS",
    "Features",
    "copy_table",
    "is_table",
    "read_annotations",
    "read_features",
    "read_rows",
    "read_truth",
    "require_target",
    "whole_file",
    "write_annotations",
    "write_stream",
    "write_table",
]
