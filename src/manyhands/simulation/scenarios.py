"""Named crowds to try methods on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from manyhands.core.errors import SettingError, UnknownNameError
from manyhands.core.registry import Registry, nearest_names
from manyhands.simulation.common_noise import CommonNoiseSettings, common_noise
from manyhands.simulation.copycats import CopycatSettings, copycats
from manyhands.simulation.crowds import SimulatedCrowd
from manyhands.simulation.independent import (
    SensitivitySettings,
    adversarial,
    confusions,
    sensitivities,
    spammers,
    symmetric,
)
from manyhands.simulation.items import Items
from manyhands.simulation.perturbed_networks import (
    PerturbedImageSettings,
    PerturbedNetworkSettings,
    perturbed_networks,
)
from manyhands.simulation.settings import CrowdSettings, CrowdSizes

S = TypeVar("S", bound=CrowdSizes)


@dataclass(frozen=True)
class Scenario(Generic[S]):
    """A named crowd: the settings it has, and what it makes of them.

    Called with settings it gives a crowd, with none the crowd of its defaults. The classes and
    features of items can be given instead of drawn.

    >>> crowd = SCENARIOS["sensitivities"](SensitivitySettings(n_items=10))
    >>> crowd.annotations
    Annotations(50 labels of 10 items by 5 annotators, 2 classes)
    """

    settings: type[S]
    make: Callable[[S, Items | None], SimulatedCrowd]

    def __call__(self, settings: S | None = None, items: Items | None = None) -> SimulatedCrowd:
        """The crowd of these settings."""
        chosen = self.settings() if settings is None else settings
        if not isinstance(chosen, self.settings):
            raise SettingError(
                f"settings must be {self.settings.__name__} in this scenario; "
                f"got {type(chosen).__name__}"
            )
        return self.make(chosen, items)

    def settle(self, chosen: Mapping[str, Any]) -> S:
        """Settings by their names; an unknown name is refused with the known ones."""
        known = [field.name for field in fields(self.settings)]
        for name in chosen:
            if name not in known:
                near = nearest_names(name, known)
                hint = f" did you mean {' or '.join(near)}?" if near else ""
                raise UnknownNameError(
                    f"this scenario has no setting {name!r};{hint} known: {', '.join(known)}"
                )
        return self.settings(**chosen)


SCENARIOS: Registry[Scenario[Any]] = Registry(
    "scenario",
    {
        "symmetric": Scenario(CrowdSettings, symmetric),
        "confusions": Scenario(CrowdSettings, confusions),
        "spammers": Scenario(CrowdSettings, spammers),
        "adversaries": Scenario(CrowdSettings, adversarial),
        "copycats": Scenario(CopycatSettings, copycats),
        "sensitivities": Scenario(SensitivitySettings, sensitivities),
        "common-noise": Scenario(CommonNoiseSettings, common_noise),
        "perturbed-networks": Scenario(PerturbedNetworkSettings, perturbed_networks),
        "perturbed-networks-images": Scenario(PerturbedImageSettings, perturbed_networks),
    },
)
