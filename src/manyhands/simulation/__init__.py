"""Truth -> annotations: simulated crowds of known behaviour."""

from manyhands.simulation.crowds import SimulatedCrowd, assign, draw_labels, simulate_crowd
from manyhands.simulation.folders import write_crowd, write_labels_and_truth
from manyhands.simulation.scenarios import SCENARIOS, CrowdSettings

__all__ = [
    "SCENARIOS",
    "CrowdSettings",
    "SimulatedCrowd",
    "assign",
    "draw_labels",
    "simulate_crowd",
    "write_crowd",
    "write_labels_and_truth",
]
