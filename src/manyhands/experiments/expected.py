"""About how long a run takes on one core, to say beforehand."""

from manyhands.experiments.figure import FigureTask
from manyhands.experiments.rules import RuleTask
from manyhands.experiments.sources import CorpusSource, ScenarioSource, Source
from manyhands.experiments.tasks import MethodTask, Task
from manyhands.methods import METHODS

_CORPORA = {"labelme": 4.0, "music": 7.0, "sentiment": 20.0, "cifar10": 60.0}
_SCENARIOS = {"common-noise": 16.0, "perturbed-networks": 6.0}
_USUAL = 30.0
_ONE_STAGE = 0.3  # of the time of a method that searches its epoch and trains twice


def expected_seconds(task: Task) -> float:
    """A rough guess from runs made before."""
    if isinstance(task, FigureTask | RuleTask):
        return task.expected
    assert isinstance(task, MethodTask)
    whole = _of_source(task.source)
    searched = METHODS[task.method].defaults.get("validation_fraction", 0.0) > 0
    return whole if searched else _ONE_STAGE * whole


def _of_source(source: Source) -> float:
    if isinstance(source, CorpusSource):
        return _CORPORA.get(source.dataset, _USUAL)
    assert isinstance(source, ScenarioSource)
    return _SCENARIOS.get(source.scenario, _USUAL)
