"""The one place that checks settings."""

from collections.abc import Sequence

from manyhands.core.errors import SettingError


def require(holds: bool, name: str, rule: str, got: object, remedy: str = "") -> None:
    """Raise a `SettingError` unless the rule holds.

    >>> require(0 >= 1, "max_iter", ">= 1", 0)
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: max_iter must be >= 1; got 0
    """
    if not holds:
        raise SettingError(
            f"{name} must be {rule}; got {got!r}" + (f"; {remedy}" if remedy else "")
        )


def require_choice(name: str, got: object, choices: Sequence[str]) -> None:
    """Raise a `SettingError` unless the value is one of the choices.

    >>> require_choice("start", "magic", ["majority", "spectral"])
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: start must be one of majority, spectral; got 'magic'
    """
    require(got in choices, name, f"one of {', '.join(choices)}", got)
