"""A finding: one thing that is wrong or risky in a label table."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES = ("error", "warning", "note")  # worst first

MAX_EXAMPLES = 10
MAX_PLACES = 3


@dataclass(frozen=True)
class Finding:
    """The result of a check: what is wrong, where, and what to do.

    The table cannot be used after an error. After a warning its consensus is doubtful. A note is
    information. `count` is the number of rows, items, annotators or pairs concerned; `rows`
    (counted from 1), `names` and `places` show the first or the worst of them.
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
        """The finding as plain values, the name of the check first.

        >>> Finding("note", "what", "do", 1, check="imbalance").to_json()["check"]
        'imbalance'
        """
        fields = asdict(self)
        plain = {
            key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()
        }
        return {"check": self.check} | plain
