"""One thing that is wrong or risky in a label table: how bad, where, and what to do."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES = ("error", "warning", "note")  # worst first

MOST_EXAMPLES = 10
MOST_PLACES = 3


@dataclass(frozen=True)
class Finding:
    """What a check found.

    An error keeps the table from being used as it is, a warning makes its consensus doubtful, a
    note is good to know. `count` says how many rows, items, annotators or pairs are concerned;
    `rows` (counted from 1), `names` and `places` show the first or the worst few of them.
    """

    severity: Severity
    message: str
    remedy: str
    count: int
    rows: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    check: str = ""

    def to_json(self) -> dict[str, Any]:
        """The finding in plain values, the check's name first.

        >>> Finding("note", "what", "do", 1, check="imbalance").to_json()["check"]
        'imbalance'
        """
        fields = asdict(self)
        plain = {
            key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()
        }
        return {"check": self.check} | plain
