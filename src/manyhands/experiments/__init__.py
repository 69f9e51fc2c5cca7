"""Paper tables as runnable specifications, and the records of their runs."""

from manyhands.experiments.catalog import EXPERIMENTS
from manyhands.experiments.page import html_page, lines_of, markdown_page
from manyhands.experiments.published import PublishedTable, published_tables
from manyhands.experiments.records import RecordStore
from manyhands.experiments.runner import missing_tasks, run_missing
from manyhands.experiments.specification import Cell, TableExperiment
from manyhands.experiments.tasks import Task, run_task

__all__ = [
    "EXPERIMENTS",
    "Cell",
    "PublishedTable",
    "RecordStore",
    "TableExperiment",
    "Task",
    "html_page",
    "lines_of",
    "markdown_page",
    "missing_tasks",
    "published_tables",
    "run_missing",
    "run_task",
]
