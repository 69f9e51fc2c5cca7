"""Tables and figures of papers as runnable specifications, and the records of their runs."""

from manyhands.experiments.catalog import EXPERIMENTS
from manyhands.experiments.curves import CurveExperiment
from manyhands.experiments.data import CorpusSource, DataSource, ExperimentData, ScenarioSource
from manyhands.experiments.experiment import (
    Experiment,
    RunOptions,
    WrittenPages,
    code_block,
    markdown_table,
    write_figure,
    write_page,
)
from manyhands.experiments.figure import FigureExperiment, FigureRun, Panel
from manyhands.experiments.published import (
    PublishedFigure,
    PublishedTable,
    published_figures,
    published_tables,
)
from manyhands.experiments.records import FILE, Records, RecordStore, fingerprint_key
from manyhands.experiments.runs import MethodRun, Run, execute, missing_runs, run_missing
from manyhands.experiments.tables import Cell, TableExperiment

__all__ = [
    "EXPERIMENTS",
    "FILE",
    "Cell",
    "CorpusSource",
    "CurveExperiment",
    "DataSource",
    "Experiment",
    "ExperimentData",
    "FigureExperiment",
    "FigureRun",
    "MethodRun",
    "Panel",
    "PublishedFigure",
    "PublishedTable",
    "RecordStore",
    "Records",
    "Run",
    "RunOptions",
    "ScenarioSource",
    "TableExperiment",
    "WrittenPages",
    "code_block",
    "execute",
    "fingerprint_key",
    "markdown_table",
    "missing_runs",
    "published_figures",
    "published_tables",
    "run_missing",
    "write_figure",
    "write_page",
]
