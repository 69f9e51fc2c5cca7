"""SCENARIOS: named simulated crowds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from manyhands.annotations import Items
from manyhands.core.errors import SettingError, UnknownNameError
from manyhands.core.settings import Registry, nearest_names
from manyhands.simulation import independent
from manyhands.simulation.common_noise import CommonNoiseSettings, common_noise
from manyhands.simulation.copycats import CopycatSettings, copycats
from manyhands.simulation.crowds import SimulatedCrowd
from manyhands.simulation.independent import SensitivitySettings
from manyhands.simulation.judge_panels import JudgePanelSettings, judge_panel
from manyhands.simulation.perturbed_networks import (
    PerturbedImageSettings,
    PerturbedNetworkSettings,
    perturbed_networks,
)
from manyhands.simulation.planted import PlantedSettings, planted
from manyhands.simulation.preferences import (
    PreferenceSettings,
    SimulatedPreferences,
    preferences,
)
from manyhands.simulation.settings import CrowdSettings, CrowdSizes
from manyhands.simulation.shared_mistakes import SharedMistakeSettings, shared_mistakes

S = TypeVar("S", bound=CrowdSizes)
C = TypeVar("C", bound="SimulatedCrowd | SimulatedPreferences")


@dataclass(frozen=True)
class Scenario(Generic[S, C]):
    """A simulated crowd with its class of settings.

    Calling a scenario returns a crowd; the default settings are those of the class. `items` gives
    the classes and features of the items, which are drawn otherwise.

    >>> crowd = SCENARIOS["sensitivities"](SensitivitySettings(n_items=10))
    >>> crowd.annotations
    Annotations(50 labels of 10 items by 5 annotators, 2 classes)
    """

    settings: type[S]
    make: Callable[[S, Items | None], C]

    def __call__(self, settings: S | None = None, items: Items | None = None) -> C:
        """The crowd of these settings."""
        chosen = self.settings() if settings is None else settings
        if not isinstance(chosen, self.settings):
            raise SettingError(
                f"settings must be {self.settings.__name__} in this scenario; "
                f"got {type(chosen).__name__}"
            )
        return self.make(chosen, items)

    def make_settings(self, chosen: Mapping[str, Any]) -> S:
        """Settings from a mapping; an unknown name raises an error with the known names."""
        known = [field.name for field in fields(self.settings)]
        for name in chosen:
            if name not in known:
                near = nearest_names(name, known)
                hint = f" did you mean {' or '.join(near)}?" if near else ""
                raise UnknownNameError(
                    f"this scenario has no setting {name!r};{hint} known: {', '.join(known)}"
                )
        return self.settings(**chosen)


SCENARIOS: Registry[Scenario[Any, Any]] = Registry(
    "scenario",
    {
        "symmetric": Scenario(CrowdSettings, independent.symmetric),
        "confusions": Scenario(CrowdSettings, independent.confusions),
        "spammers": Scenario(CrowdSettings, independent.spammers),
        "adversaries": Scenario(CrowdSettings, independent.adversarial),
        "copycats": Scenario(CopycatSettings, copycats),
        "planted": Scenario(PlantedSettings, planted),
        "preferences": Scenario(PreferenceSettings, preferences),
        "sensitivities": Scenario(SensitivitySettings, independent.sensitivities),
        "common-noise": Scenario(CommonNoiseSettings, common_noise),
        "judge-panel": Scenario(JudgePanelSettings, judge_panel),
        "shared-mistakes": Scenario(SharedMistakeSettings, shared_mistakes),
        "perturbed-networks": Scenario(PerturbedNetworkSettings, perturbed_networks),
        "perturbed-networks-images": Scenario(PerturbedImageSettings, perturbed_networks),
    },
)
