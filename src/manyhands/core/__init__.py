"""Shared foundations: errors, checks of settings, seeds, registries and compiled kernels."""

from manyhands.core.errors import (
    DataError,
    ManyhandsError,
    SettingError,
    UnknownNameError,
)
from manyhands.core.settings import (
    Registry,
    generator,
    nearest_names,
    require,
    require_choice,
)

__all__ = [
    "DataError",
    "ManyhandsError",
    "Registry",
    "SettingError",
    "UnknownNameError",
    "generator",
    "nearest_names",
    "require",
    "require_choice",
]
