"""Which crowd stands behind a column of a published table."""

from manyhands.experiments.experiment import Request
from manyhands.experiments.published import Column
from manyhands.experiments.sources import CorpusSource, ScenarioSource, Source
from manyhands.networks import NETWORKS

# P2 scores against what people said of the test items: LabelMe's own test items have no labels.
_STAND_INS = {"labelme-ic": ("labelme", "labelled"), "cifar10-ic": ("cifar10", "test")}


def source_of(column: Column, features: str | None = None) -> Source:
    """The crowd of a column, with a set of features; simulated/... stands for a scenario."""
    if column.scenario:
        return ScenarioSource(column.scenario, column.settings, column.items)
    if column.dataset in _STAND_INS:
        dataset, tested_on = _STAND_INS[column.dataset]
        return CorpusSource(dataset, tested_on=tested_on)
    return CorpusSource(column.dataset, features, tested_on=column.tested_on, who=column.who)


def why_not_here(column: Column, request: Request) -> str:
    """Why a column cannot be run here; empty when it can."""
    if column.network and column.network not in NETWORKS:
        return f"the network {column.network} is not there yet"
    return request.lacks(source_of(column), column.slow)
