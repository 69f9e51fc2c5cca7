"""Simulated crowds: annotations of items with known truth by annotators of known behaviour."""

from manyhands.simulation.assignment import assign, assign_varied
from manyhands.simulation.common_noise import CommonNoiseCrowd, CommonNoiseSettings
from manyhands.simulation.copycats import CopycatCrowd, CopycatSettings
from manyhands.simulation.crowds import SimulatedCrowd, draw_labels, simulate_crowd
from manyhands.simulation.folders import write_crowd, write_labels_and_truth
from manyhands.simulation.independent import SensitivitySettings
from manyhands.simulation.perturbed_networks import (
    GroupedCrowd,
    PerturbedImageSettings,
    PerturbedNetworkSettings,
)
from manyhands.simulation.scenarios import SCENARIOS, Scenario
from manyhands.simulation.settings import CrowdSettings, CrowdSizes

__all__ = [
    "SCENARIOS",
    "CommonNoiseCrowd",
    "CommonNoiseSettings",
    "CopycatCrowd",
    "CopycatSettings",
    "CrowdSettings",
    "CrowdSizes",
    "GroupedCrowd",
    "PerturbedImageSettings",
    "PerturbedNetworkSettings",
    "Scenario",
    "SensitivitySettings",
    "SimulatedCrowd",
    "assign",
    "assign_varied",
    "draw_labels",
    "simulate_crowd",
    "write_crowd",
    "write_labels_and_truth",
]
