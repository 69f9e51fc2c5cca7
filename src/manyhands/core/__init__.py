"""Shared foundations: errors, checks of settings, seeds, registries and compiled kernels."""

from manyhands.core.errors import (
    DataError,
    ManyhandsError,
    SettingError,
    TooLargeError,
    UnknownNameError,
)

__all__ = ["DataError", "ManyhandsError", "SettingError", "TooLargeError", "UnknownNameError"]
