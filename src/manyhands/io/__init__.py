"""Files <-> annotations."""

from manyhands.io.atomic import atomic_write
from manyhands.io.batches import append_tables, write_tables
from manyhands.io.comparisons import PairFile, read_comparisons
from manyhands.io.conll import (
    read_bio,
    read_conll,
    require_same_tokens,
    write_bio,
    write_conll,
)
from manyhands.io.convert import copy_table, is_table, write_annotations
from manyhands.io.costs import read_costs
from manyhands.io.features import Features, read_features
from manyhands.io.folders import locked_folder, make_folder, new_files, require_folder
from manyhands.io.images import Images, read_images
from manyhands.io.input_file import InputFile
from manyhands.io.items import read_annotations
from manyhands.io.opening import STANDARD_INPUT, input_files, sheet_of
from manyhands.io.read import TAGGED_LAYOUTS, LabelFile, read
from manyhands.io.sniff import column_names
from manyhands.io.soft_truth import read_soft_truth, truth_kinds
from manyhands.io.span_imports import (
    require_span_target,
    write_span_relabel,
    write_span_suggestions,
)
from manyhands.io.spans import TextLabels, read_spans, write_spans
from manyhands.io.tables import SUFFIXES, TAGGED_SUFFIXES, require_target, write_stream, write_table
from manyhands.io.texts import read_texts, read_word_counts
from manyhands.io.tool_imports import (
    require_relabel_target,
    require_suggestions_target,
    write_relabel,
    write_suggestions,
)
from manyhands.io.truths import read_truth
from manyhands.io.word_vectors import WordVectors, read_word_vectors

__all__ = [
    "STANDARD_INPUT",
    "SUFFIXES",
    "TAGGED_LAYOUTS",
    "TAGGED_SUFFIXES",
    "Features",
    "Images",
    "InputFile",
    "LabelFile",
    "PairFile",
    "TextLabels",
    "WordVectors",
    "append_tables",
    "atomic_write",
    "column_names",
    "copy_table",
    "input_files",
    "is_table",
    "locked_folder",
    "make_folder",
    "new_files",
    "read",
    "read_annotations",
    "read_bio",
    "read_comparisons",
    "read_conll",
    "read_costs",
    "read_features",
    "read_images",
    "read_soft_truth",
    "read_spans",
    "read_texts",
    "read_truth",
    "read_word_counts",
    "read_word_vectors",
    "require_folder",
    "require_relabel_target",
    "require_same_tokens",
    "require_span_target",
    "require_suggestions_target",
    "require_target",
    "sheet_of",
    "truth_kinds",
    "write_annotations",
    "write_bio",
    "write_conll",
    "write_relabel",
    "write_span_relabel",
    "write_span_suggestions",
    "write_spans",
    "write_stream",
    "write_suggestions",
    "write_table",
    "write_tables",
]
