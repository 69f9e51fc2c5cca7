"""The figures of the papers."""

from manyhands.experiments.figure import FigureExperiment
from manyhands.experiments.figures.p0 import P0_FIGURES
from manyhands.experiments.figures.p1 import P1_FIGURES
from manyhands.experiments.figures.p2 import P2_FIGURES
from manyhands.experiments.figures.p3 import P3_FIGURES
from manyhands.experiments.figures.p4 import P4_FIGURES

FIGURES: tuple[FigureExperiment, ...] = (
    *P0_FIGURES,
    *P1_FIGURES,
    *P2_FIGURES,
    *P3_FIGURES,
    *P4_FIGURES,
)
