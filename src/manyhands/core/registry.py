"""Registries: one explicit table of names per room, with a helpful error for unknown names."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from manyhands.core.errors import UnknownNameError

V = TypeVar("V")


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
