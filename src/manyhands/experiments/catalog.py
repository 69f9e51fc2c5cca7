"""The table of experiments."""

from manyhands.core.settings import Registry
from manyhands.experiments.compared_methods import Comparison
from manyhands.experiments.curves import CurveExperiment
from manyhands.experiments.dataset_counts import P2_TABLE_4
from manyhands.experiments.epoch_rules import EpochRules
from manyhands.experiments.every_method import EveryMethod
from manyhands.experiments.experiment import Experiment
from manyhands.experiments.figures.p0 import P0_FIGURES
from manyhands.experiments.figures.p1 import P1_FIGURES
from manyhands.experiments.figures.p2 import P2_FIGURES
from manyhands.experiments.figures.p3 import P3_FIGURES
from manyhands.experiments.figures.p4 import P4_FIGURES
from manyhands.experiments.grid import GRIDS
from manyhands.experiments.method_selection import MethodSelection
from manyhands.experiments.preferences import PREFERENCES
from manyhands.experiments.published import published_curves, published_tables
from manyhands.experiments.settings import SettingsExperiment
from manyhands.experiments.tables import TableExperiment

_ALL: list[Experiment] = [
    *(TableExperiment(table) for table in published_tables().values()),
    CurveExperiment(published_curves("p3-figure-4.json")),
    P2_TABLE_4,
    CurveExperiment(published_curves("p3-figure-6.json")),
    *P0_FIGURES,
    *P1_FIGURES,
    *P2_FIGURES,
    *P3_FIGURES,
    *P4_FIGURES,
    *GRIDS,
    EpochRules(),
    EveryMethod(),
    Comparison(),
    MethodSelection(),
    PREFERENCES,
    SettingsExperiment(),
]

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment", {each.name: each for each in sorted(_ALL, key=lambda each: each.name)}
)
