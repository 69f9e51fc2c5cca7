"""Paper tables and figures as runnable specifications, and the records of their runs."""

from manyhands.experiments.catalog import EXPERIMENTS
from manyhands.experiments.cells import Cell
from manyhands.experiments.curves import CurveExperiment
from manyhands.experiments.expected import expected_seconds
from manyhands.experiments.experiment import Experiment, Request, Written
from manyhands.experiments.figure import FigureExperiment, FigureTask, Panel
from manyhands.experiments.page import html_page, lines_of, markdown_page
from manyhands.experiments.published import (
    PublishedFigure,
    PublishedTable,
    published_figures,
    published_tables,
)
from manyhands.experiments.records import RecordStore
from manyhands.experiments.runner import missing_tasks, run_missing
from manyhands.experiments.sources import CorpusSource, Material, ScenarioSource, Source
from manyhands.experiments.tables import TableExperiment
from manyhands.experiments.tasks import MethodTask, Task, run_task

__all__ = [
    "EXPERIMENTS",
    "Cell",
    "CorpusSource",
    "CurveExperiment",
    "Experiment",
    "FigureExperiment",
    "FigureTask",
    "Material",
    "MethodTask",
    "Panel",
    "PublishedFigure",
    "PublishedTable",
    "RecordStore",
    "Request",
    "ScenarioSource",
    "Source",
    "TableExperiment",
    "Task",
    "Written",
    "expected_seconds",
    "html_page",
    "lines_of",
    "markdown_page",
    "missing_tasks",
    "published_figures",
    "published_tables",
    "run_missing",
    "run_task",
]
