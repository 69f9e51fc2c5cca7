"""The table of experiments."""

from manyhands.core.registry import Registry
from manyhands.experiments.published import published_tables
from manyhands.experiments.specification import TableExperiment

EXPERIMENTS: Registry[TableExperiment] = Registry(
    "experiment", {name: TableExperiment(table) for name, table in published_tables().items()}
)
