"""Settings of simulated crowds; every scenario has a class of settings."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, get_args, get_origin

from manyhands.core.limits import product, require_memory
from manyhands.core.settings import Rule, require

AT_LEAST_ONE = Rule(lambda got: got >= 1, ">= 1")
_SIZE = Rule(lambda got: 1 <= got <= 10**12, "in 1..10^12")
FINITE = Rule(lambda got: 0 <= got < math.inf, "finite and >= 0")
SHARE = Rule(lambda got: 0 <= got <= 1, "in 0..1")
SHARES = Rule(lambda got: len(got) > 0 and all(map(SHARE.holds, got)), "numbers in 0..1")
_BYTES = 200  # of a label, an item or an annotator, with its name
_BYTES_OF_CONFUSION = 24  # of an entry of a confusion matrix, while it is drawn


@dataclass(frozen=True, kw_only=True)
class CrowdSizes:
    """Settings of every crowd; `n_items` is used if no items are given."""

    n_items: int = 1000
    n_annotators: int = 50
    n_classes: int = 3
    labels_per_item: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            got = getattr(self, field.name)
            _require_kind(field.name, field.type, got)
            if isinstance(got, list):  # from a file or the command line
                object.__setattr__(self, field.name, tuple(got))
        self.require(_SIZE, "n_items", "n_annotators", "n_classes", "labels_per_item")
        rule = f"at most n_annotators ({self.n_annotators})"
        holds = self.labels_per_item <= self.n_annotators
        require(holds, "labels_per_item", rule, self.labels_per_item)
        self._require_memory()

    def _require_memory(self) -> None:
        n_labels, n_confusions = self.n_items * self.labels_per_item, self.n_classes**2
        n_bytes = _BYTES * (n_labels + self.n_items + self.n_annotators)
        n_bytes += _BYTES_OF_CONFUSION * self.n_annotators * n_confusions
        sizes = self.n_items, self.labels_per_item, self.n_annotators, self.n_classes
        need = product(*sizes, of="items x labels per item, annotators, classes")
        require_memory("the crowd", n_bytes, need, "simulate fewer")

    def require(self, rule: Rule, *names: str) -> None:
        """Raise a `SettingError` unless the rule holds for all settings of these names."""
        for name in names:
            require(rule.holds(getattr(self, name)), name, rule.text, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class CrowdSettings(CrowdSizes):
    """Settings of crowds of annotators with different accuracies.

    Accuracies are uniform between `lowest` and `highest`. `share` is the share of spammers,
    adversaries or copycats in the scenarios that have them.
    """

    lowest: float = 0.5
    highest: float = 0.9
    share: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 <= self.lowest <= self.highest <= 1, "lowest, highest", "in order within 0..1",
                (self.lowest, self.highest))  # fmt: skip
        self.require(SHARE, "share")


def _require_kind(name: str, kind: Any, got: object) -> None:
    if get_origin(kind) is tuple:
        rule, fits = _KINDS[get_args(kind)[0]]
        holds = isinstance(got, tuple | list) and all(fits(one) for one in got)
        require(holds, name, f"a list, each {rule}", got)
        return
    rule, fits = _KINDS[kind]
    require(fits(got), name, rule, got)


_KINDS: dict[type, tuple[str, Callable[[object], bool]]] = {
    bool: ("true or false", lambda got: isinstance(got, bool)),
    int: ("a whole number", lambda got: isinstance(got, Integral) and not isinstance(got, bool)),
    float: ("a number", lambda got: isinstance(got, Real) and not isinstance(got, bool)),
    str: ("a word", lambda got: isinstance(got, str)),
}
