"""What a user sets: settings, names of registries, and seeds, each checked in one place.

A setting is a dataclass field made with `setting`: its annotation gives the type and the choices,
`setting` the default, the rule and one line of help. Constructors, command-line options,
documentation and saved files follow from the declaration.
"""

import difflib
import math
import types
import typing
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

import numpy as np

from manyhands.core.errors import SettingError, SettingName, UnknownNameError

V = TypeVar("V")


def require(holds: bool, name: str, rule: str, got: object, *remedy: str | SettingName) -> None:
    """Raise a `SettingError` unless the rule holds; `remedy` are parts of its text.

    >>> require(0 >= 1, "max_iter", ">= 1", 0)
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: max_iter must be >= 1; got 0
    """
    if not holds:
        tail = ("; ", *remedy) if remedy else ()
        raise SettingError(SettingName(name), f" must be {rule}; got {got!r}", *tail)


def require_choice(name: str, got: object, choices: Sequence[str]) -> None:
    """Raise a `SettingError` unless the value is one of the choices.

    >>> require_choice("start", "magic", ["majority", "spectral"])
    Traceback (most recent call last):
    ...
    manyhands.core.errors.SettingError: start must be one of majority, spectral; got 'magic'
    """
    near = difflib.get_close_matches(str(got), choices, n=1) if got not in choices else []
    remedy = [f"did you mean {each}?" for each in near]
    require(got in choices, name, f"one of {', '.join(choices)}", got, *remedy)


@dataclass(frozen=True)
class Rule:
    """What the value of a setting must satisfy, as a function and in words."""

    holds: Callable[[Any], bool]
    text: str


AT_LEAST_ONE = Rule(lambda value: value >= 1, "a whole number >= 1")
FEW = Rule(lambda value: 1 <= value <= 1024, "a whole number in 1..1024")
COUNT = Rule(lambda value: value >= 0, "a whole number >= 0")
POSITIVE = Rule(lambda value: 0 < value < math.inf, "> 0")
NOT_NEGATIVE = Rule(lambda value: 0 <= value < math.inf, ">= 0")
FRACTION = Rule(lambda value: 0 <= value < 1, "in 0..1, below 1")


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting.

    `default` is None for a setting that is left to the method (`by_method`); `fallback` is then the
    value where the method has none of its own.
    """

    name: str
    type: Any
    optional: bool
    choices: tuple[str, ...]
    default: Any
    fallback: Any
    by_method: bool
    help: str
    rule: Rule | None
    group: str

    def checked(self, value: Any) -> Any:
        """The value as a plain Python object, or a `SettingError`."""
        if value is None and (self.optional or self.by_method):
            return None
        if self.choices:
            value = str(value) if isinstance(value, Integral) else value  # 32 means "32"
            require_choice(self.name, value, self.choices)
        elif self.type in _NUMBERS:
            text, number, make = _NUMBERS[self.type]
            require(isinstance(value, number), self.name, text, value)
            if isinstance(value, Integral):  # longer ones have no float
                require(abs(int(value)) < 2**63, self.name, "a number of 64 bits", value)
            value = make(value)  # numpy's numbers, as a grid search gives, become Python's own
        elif typing.get_origin(self.type) is Sequence:
            value = _number_list(self.name, value)
        if self.rule is not None:
            require(self.rule.holds(value), self.name, self.rule.text, value)
        return value


_NUMBERS: dict[Any, tuple[str, Any, Any]] = {
    int: ("a whole number", Integral, int),
    float: ("a number", Real, float),
}


def _number_list(name: str, value: Any) -> list[Any]:
    """The numbers of a list, tuple or array as Python's own; they are saved as a list."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    listed = isinstance(value, list | tuple) and all(isinstance(each, Real) for each in value)
    require(listed, name, "a list of numbers", value)
    return [each.item() if isinstance(each, np.generic) else each for each in value]


def setting(
    default: Any,
    help: str,
    *,
    rule: Rule | None = None,
    by_method: bool = False,
    group: str = "Training",
) -> Any:
    """A dataclass field that declares a setting.

    With `by_method` the field's default is None, which means the method's default; `default` is the
    fallback. `group` is the panel of the command line's help.
    """
    declared = {"fallback": default, "help": help, "rule": rule, "by_method": by_method}
    return field(default=None if by_method else default, metadata={**declared, "group": group})


@cache
def settings_of(owner: Any) -> dict[str, Setting]:
    """The declared settings of a dataclass by name, in the order of their declaration."""
    hints = typing.get_type_hints(owner)
    return {
        each.name: _declared(each.name, hints[each.name], each.default, dict(each.metadata))
        for each in fields(owner)
        if "help" in each.metadata
    }


def describe(owner: Any) -> str:
    """The settings of a dataclass as the "Parameters" section of a docstring."""
    return "\n".join(
        f"{each.name} : {_type_text(each)}\n    {each.help}" for each in settings_of(owner).values()
    )


def _declared(name: str, hint: Any, default: Any, declared: dict[str, Any]) -> Setting:
    optional, choices = False, ()
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        rest = [each for each in typing.get_args(hint) if each is not type(None)]
        optional = len(rest) < len(typing.get_args(hint))
        hint = rest[0] if len(rest) == 1 else hint
    if typing.get_origin(hint) is Literal:
        choices, hint = typing.get_args(hint), str
    return Setting(
        name=name, type=hint, optional=optional, choices=choices, default=default, **declared
    )


def _type_text(declared: Setting) -> str:
    if declared.choices:
        kind = "{" + ", ".join(repr(each) for each in declared.choices) + "}"
    else:
        kind = getattr(declared.type, "__name__", "object")
    if declared.by_method:
        return f"{kind}, default: the method's, else {declared.fallback!r}"
    return f"{kind}, default {declared.default!r}"


class Registry(Mapping[str, V]):
    """A read-only table from names to entries.

    >>> colours = Registry("colour", {"red": 1, "green": 2})
    >>> colours["gren"]
    Traceback (most recent call last):
    ...
    manyhands.core.errors.UnknownNameError: no colour 'gren'; did you mean green? known: green, red
    """

    def __init__(self, noun: str, entries: Mapping[str, V]) -> None:
        self.noun = noun
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> V:
        if name not in self._entries:
            near = nearest_names(str(name), self._entries)
            hint = f" did you mean {' or '.join(near)}?" if near else ""
            known = ", ".join(sorted(self._entries))
            raise UnknownNameError(f"no {self.noun} {name!r};{hint} known: {known}")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"Registry({self.noun!r}: {', '.join(self._entries)})"


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that are similar to this one, best first; case is ignored.

    >>> nearest_names("Lable", ["label", "item"])
    ['label']
    """
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
    return [by_lower[each] for each in close]


def generator(seed: int, purpose: str) -> np.random.Generator:
    """A random generator for one purpose; purposes have independent streams.

    >>> int(generator(0, "labels").integers(1000)) == int(generator(0, "labels").integers(1000))
    True
    """
    whole = isinstance(seed, int | np.integer) and seed >= 0
    require(whole, "seed", "a whole number, 0 or more", seed)
    return np.random.default_rng([int(seed), zlib.crc32(purpose.encode())])


def seed_for(seed: int, purpose: str) -> int:
    """A seed for the random generator of another library, for one purpose."""
    return int(generator(seed, purpose).integers(2**63))
