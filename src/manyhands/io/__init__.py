"""Files <-> annotations."""

from manyhands.io.atomic import atomic_write, require_place
from manyhands.io.conll import read_bio, read_conll, read_sentences, write_bio, write_conll
from manyhands.io.convert import copy_table, is_table, write_annotations
from manyhands.io.features import Features, read_features
from manyhands.io.labels import LABEL_FORMATS, LAYOUTS, read_annotations, read_rows
from manyhands.io.read import TASKS, LabelFile, Task, read, require_same_tokens
from manyhands.io.sniff import TAGGED_SUFFIXES, TOKEN_FORMATS, column_names, sniff_tokens
from manyhands.io.spans import ALIGNMENTS, Alignment, TextLabels, read_spans, write_spans
from manyhands.io.tables import FORMATS, SUFFIXES, require_target, write_stream, write_table
from manyhands.io.texts import read_texts, read_word_counts
from manyhands.io.truth import read_truth
from manyhands.io.word_vectors import WordVectors, read_word_vectors

__all__ = [
    "ALIGNMENTS",
    "FORMATS",
    "LABEL_FORMATS",
    "LAYOUTS",
    "SUFFIXES",
    "TAGGED_SUFFIXES",
    "TASKS",
    "TOKEN_FORMATS",
    "Alignment",
    "Features",
    "LabelFile",
    "Task",
    "TextLabels",
    "WordVectors",
    "atomic_write",
    "column_names",
    "copy_table",
    "is_table",
    "read",
    "read_annotations",
    "read_bio",
    "read_conll",
    "read_features",
    "read_rows",
    "read_sentences",
    "read_spans",
    "read_texts",
    "read_truth",
    "read_word_counts",
    "read_word_vectors",
    "require_place",
    "require_same_tokens",
    "require_target",
    "sniff_tokens",
    "write_annotations",
    "write_bio",
    "write_conll",
    "write_spans",
    "write_stream",
    "write_table",
]
