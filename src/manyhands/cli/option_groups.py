"""Commands that get several options as one argument: a group."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

_BY_NAME = inspect.Parameter.KEYWORD_ONLY


class OptionGroup:
    """Options that a command gets as one argument; a field may be a group of options too."""

    is_group = True


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the groups that its arguments are annotated with."""

    @functools.wraps(command)
    def with_groups(**arguments: Any) -> None:
        _call(command, arguments)

    signature = inspect.Signature(options_of(command))
    with_groups.__signature__ = signature  # type: ignore[attr-defined]
    return with_groups


def options_of(target: Callable[..., Any]) -> list[inspect.Parameter]:
    """The options of a command or a group, and those of the groups that it takes."""
    options = []
    for each in inspect.signature(target).parameters.values():
        is_group = hasattr(each.annotation, "is_group")
        options += options_of(each.annotation) if is_group else [each.replace(kind=_BY_NAME)]
    return options


def _call(target: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a command, or make a group, with the arguments of its options."""
    made = {}
    for name, each in inspect.signature(target).parameters.items():
        is_group = hasattr(each.annotation, "is_group")
        made[name] = _call(each.annotation, arguments) if is_group else arguments[name]
    return target(**made)
