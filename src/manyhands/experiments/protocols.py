"""The protocol of a published experiment as data: what the paper says, and what runs of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from manyhands.core.errors import DataError
from manyhands.methods import METHODS
from manyhands.methods.end_to_end import NO_WARM_UP

PUBLISHED, CHOSEN, OURS = "published", "chosen", "ours"  # whose protocol a run follows
PROTOCOLS = (PUBLISHED, OURS, "both")
SETTING_GROUPS = ("noise", "aggregator", "method", "training")
FIELDS = {
    "model": "model of the annotators",
    "network": "network",
    "normalisation": "batch normalisation",
    "optimizer": "optimiser",
    "learning_rate": "learning rates",
    "batch_size": "batch size",
    "epochs": "epochs",
    "restarts": "restarts",
    "init": "start of the annotators",
    "penalty": "penalties and priors",
    "scale": "features and their scaling",
    "selection": "selection",
    "runs": "number of runs",
}
RULES = {
    "last": "the last epoch",
    "convergence": "the epoch of convergence",
    "crowd": "the epoch with the best score on held-out crowd labels",
    "clean": "the epoch with the best accuracy on clean validation labels",
    "test": "the epoch with the best accuracy on the test items themselves",
}
HONEST_RULES = ("last", "convergence", "crowd")
_ALL_OTHERS = "*"  # in place of a field: all fields that a part does not name
# One protocol for all methods of a table: the network of the column, this search for the epoch on
# held-out crowd labels, and then all labels.
OUR_SEARCH: Mapping[str, Any] = NO_WARM_UP


@dataclass(frozen=True)
class Statement:
    """One field of a protocol.

    `says` is what the paper states, `where` the section it states it in. `reading` is what is taken
    where the paper is silent or can be read in several ways. `settings` are given to the run, by
    group. Of the field "selection", `rule` names how the epoch is chosen without clean labels, and
    `chosen` the rule of the paper if it needs clean labels. Of "runs", `n_runs` is the number.
    """

    says: str = ""
    where: str = ""
    reading: str = ""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rule: str = ""
    chosen: str = ""
    n_runs: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the paper says nothing of it."""
        return not self.says


@dataclass(frozen=True)
class ProtocolPart:
    """Statements for some datasets and methods, by patterns such as "two-stage-*".

    With `instead` nothing of earlier parts holds for these methods.
    """

    statements: Mapping[str, Statement]
    datasets: tuple[str, ...] = ("*",)
    methods: tuple[str, ...] = ("*",)
    instead: bool = False

    def holds_for(self, dataset: str, method: str) -> bool:
        """Whether it is about a method on a dataset."""
        return _any_fits(self.datasets, dataset) and _any_fits(self.methods, method)


@dataclass(frozen=True)
class Protocol:
    """What a paper states about an experiment, and how what it leaves open is read.

    `nothing` says why there is no training to describe, if there is none.
    """

    parts: tuple[ProtocolPart, ...] = ()
    nothing: str = ""

    def statements(self, dataset: str, method: str) -> dict[str, Statement]:
        """The statements for a method on a dataset, by field, in the order of `FIELDS`."""
        found: dict[str, Statement] = {}
        for part in self.parts:
            if part.holds_for(dataset, method):
                found = {} if part.instead else found
                found = {**found, **part.statements}
        return {name: found[name] for name in FIELDS if name in found}

    def missing(self, dataset: str, method: str) -> list[str]:
        """The fields that nothing is written about."""
        return [name for name in FIELDS if name not in self.statements(dataset, method)]

    def settings(self, dataset: str, method: str) -> dict[str, dict[str, Any]]:
        """The settings of a run as published, by group."""
        given = [each.settings for each in self.statements(dataset, method).values()]
        return merged(given)

    def n_runs(self, dataset: str, method: str) -> int | None:
        """The number of runs; None if it is neither stated nor read."""
        runs = self.statements(dataset, method).get("runs")
        return None if runs is None else runs.n_runs

    def selection(self, dataset: str, method: str) -> Statement:
        """How the epoch is chosen."""
        return self.statements(dataset, method).get("selection", Statement())


NO_PROTOCOL = Protocol()


def merged(groups: Iterable[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Several settings by group as one; later ones win.

    >>> merged([{"training": {"epochs": 5}}, {"training": {"epochs": 9}, "noise": {"scale": 2.0}}])
    {'training': {'epochs': 9}, 'noise': {'scale': 2.0}}
    """
    found: dict[str, dict[str, Any]] = {}
    for settings in groups:
        for group, values in settings.items():
            found[group] = {**found.get(group, {}), **values}
    return found


def our_settings(
    method: str, training: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The settings of a run by our protocol, the same for every method of a column.

    `training` holds settings of the column, `options` those of the row. What a method has by
    default is not repeated. A column with a search of its own keeps it, and a method that is solved
    to convergence has no epoch to search for.
    """
    chosen = METHODS[method]
    given = {**training, **options.get("training", {})}
    if not chosen.required_network and "validation_fraction" not in given:
        search = {
            name: value for name, value in OUR_SEARCH.items() if chosen.defaults.get(name) != value
        }
        given = {**search, **given}
    found = merged([options])
    return {**found, "training": given} if given else found


def read_protocol(content: Mapping[str, Any], name: str, others: Mapping[str, Any]) -> Protocol:
    """The protocol in the JSON content of a table or figure, which is checked.

    `like` names another experiment, whose content is in `others` and whose parts come first.
    """
    given = content.get("protocol")
    if not isinstance(given, Mapping):
        raise DataError(f"{name}: protocol is missing")
    _require_known(given, ("like", "parts", "nothing"), name)
    first: tuple[ProtocolPart, ...] = ()
    if "like" in given:
        if given["like"] not in others:
            raise DataError(f"{name}: its protocol is like {given['like']!r}, which is not there")
        first = read_protocol(others[given["like"]], given["like"], others).parts
    parts = tuple(_part(each, name) for each in given.get("parts", ()))
    nothing = given.get("nothing", "")
    if not (first or parts or nothing):
        raise DataError(f"{name}: its protocol is empty; write parts, or why there is nothing")
    return Protocol(first + parts, nothing)


def _part(given: Mapping[str, Any], name: str) -> ProtocolPart:
    _require_known(given, ("datasets", "methods", "instead", "fields"), name)
    _require_known(given["fields"], [*FIELDS, _ALL_OTHERS], name)
    stated = dict(given["fields"])
    others = stated.pop(_ALL_OTHERS, None)
    if others is not None:
        stated = {field: stated.get(field, others) for field in FIELDS}
    part = ProtocolPart(
        {field: _statement(each, f"{name}, {field}") for field, each in stated.items()},
        instead=bool(given.get("instead", False)),
    )
    patterns = {
        key: tuple(given[key]) for key in ("datasets", "methods") if given.get(key) is not None
    }
    return replace(part, **patterns)  # type: ignore[arg-type]


def _statement(given: Mapping[str, Any], where: str) -> Statement:
    _require_known(given, [each.name for each in fields(Statement)], where)
    made = Statement(**given)
    if bool(made.says) != bool(made.where):
        raise DataError(f"{where}: what the paper says needs the section that says it, and no more")
    if not (made.says or made.reading):
        raise DataError(f"{where}: neither what the paper says nor a reading is given")
    _require_known(made.settings, SETTING_GROUPS, where)
    if where.endswith(", selection"):
        if made.rule not in HONEST_RULES:
            raise DataError(f"{where}: rule must be one of {HONEST_RULES}; got {made.rule!r}")
        if made.chosen and (made.chosen not in RULES or made.chosen in HONEST_RULES):
            raise DataError(f"{where}: chosen is for rules with clean labels; got {made.chosen!r}")
    if where.endswith(", runs") and not (isinstance(made.n_runs, int) and made.n_runs > 0):
        raise DataError(f"{where}: n_runs must be a whole number above 0; got {made.n_runs!r}")
    return made


def _require_known(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise DataError(f"{where}: a protocol has no {unknown[0]!r}; known: {', '.join(known)}")


def _any_fits(patterns: Iterable[str], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
