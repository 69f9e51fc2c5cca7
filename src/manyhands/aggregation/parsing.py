"""Settings of aggregators from texts, and what is said of those that do not exist."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from manyhands.core.errors import SettingError
from manyhands.core.settings import Setting, nearest_names, settings_of


def parse_declared(method: str, owner: Any, pairs: Iterable[str]) -> dict[str, Any]:
    """Settings of a class from texts "NAME=VALUE", converted to the types that it declares."""
    known = [each.name for each in dataclasses.fields(owner)]
    declared = settings_of(owner)
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals:
            raise SettingError(f"a setting must be NAME=VALUE; got {pair!r}")
        require_setting(method, name, known)
        if name in settings:
            raise SettingError(f"the setting {name} of {method} is given twice; give it once")
        settings[name] = _parsed(declared.get(name), name, text.strip())
    return settings


def require_setting(method: str, name: str, known: Iterable[str]) -> None:
    """Raise a `SettingError` with the nearest names for a setting that a method lacks."""
    known = list(known)
    if name in known:
        return
    near = nearest_names(name, known)
    hint = f" did you mean {' or '.join(near)}?" if near else ""
    raise SettingError(f"{method} has no setting {name!r};{hint} known: {', '.join(known)}")


def _parsed(declared: Setting | None, name: str, text: str) -> Any:
    """A text as a value of the declared type; rules are checked by the method itself."""
    if declared is None:
        raise SettingError(f"{name} cannot be given as text; set it in Python")
    if declared.type is str:
        return text
    try:
        return declared.type(text)
    except ValueError:
        what = "a whole number" if declared.type is int else "a number"
        raise SettingError(f"{name} must be {what}; got {text!r}") from None
