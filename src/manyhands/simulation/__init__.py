"""Simulated crowds: annotations of items with known truth by annotators of known behaviour."""

from manyhands.simulation.common_noise import CommonNoiseSettings
from manyhands.simulation.copycats import CopycatSettings
from manyhands.simulation.crowds import SimulatedCrowd, simulate_crowd
from manyhands.simulation.folders import write_crowd, write_labels_and_truth
from manyhands.simulation.independent import SensitivitySettings
from manyhands.simulation.judge_panels import JudgePanelSettings
from manyhands.simulation.perturbed_networks import PerturbedImageSettings, PerturbedNetworkSettings
from manyhands.simulation.planted import PlantedSettings
from manyhands.simulation.preferences import PreferenceSettings, SimulatedPreferences
from manyhands.simulation.scenarios import SCENARIOS, Scenario
from manyhands.simulation.settings import CrowdSettings
from manyhands.simulation.shared_mistakes import SharedMistakeSettings

__all__ = [
    "SCENARIOS",
    "CommonNoiseSettings",
    "CopycatSettings",
    "CrowdSettings",
    "JudgePanelSettings",
    "PerturbedImageSettings",
    "PerturbedNetworkSettings",
    "PlantedSettings",
    "PreferenceSettings",
    "Scenario",
    "SensitivitySettings",
    "SharedMistakeSettings",
    "SimulatedCrowd",
    "SimulatedPreferences",
    "simulate_crowd",
    "write_crowd",
    "write_labels_and_truth",
]
