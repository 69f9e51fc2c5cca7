"""Tables and figures of papers as runnable specifications, and the records of their runs."""

from manyhands.experiments.catalog import EXPERIMENTS
from manyhands.experiments.experiment import Experiment, RunOptions
from manyhands.experiments.grids import Grid, legend
from manyhands.experiments.pages import code_block, markdown_table, write_page
from manyhands.experiments.published import published_tables
from manyhands.experiments.records import FILE, Records, RecordStore, fingerprint_key
from manyhands.experiments.runs import Run, missing_runs, run_missing

__all__ = [
    "EXPERIMENTS",
    "FILE",
    "Experiment",
    "Grid",
    "RecordStore",
    "Records",
    "Run",
    "RunOptions",
    "code_block",
    "fingerprint_key",
    "legend",
    "markdown_table",
    "missing_runs",
    "published_tables",
    "run_missing",
    "write_page",
]
