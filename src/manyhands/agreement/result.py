"""The result of every coefficient: its value, its interval, and what they mean in words."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Agreement:
    """One coefficient of agreement.

    >>> from manyhands.agreement import alpha
    >>> found = alpha([[0, 0, 0], [1, 1, 1], [0, 0, 1]])
    >>> round(found.value, 3), found.n_items, found.is_defined
    (0.6, 3, True)

    Attributes
    ----------
    name : str
        Name of the coefficient, as in `COEFFICIENTS`.
    title : str
        Its full name, with level of measurement or weights.
    value : float
        The coefficient; NaN if it is undefined, and then `words` begin with the reason.
    low, high : float
        Ends of the interval; NaN if there is none.
    interval : str
        How the interval was computed; "" if there is none.
    confidence : float
        Probability that the interval is made for, such as 0.95.
    observed, expected : float
        The agreement that was found and that by chance; for alpha the disagreements. NaN if the
        coefficient has none.
    n_items, n_annotators, n_labels : int
        What the value is computed from: items with labels of two annotators or more.
    words : tuple of str
        What the number means, and what it hides.
    """

    name: str
    title: str
    value: float
    low: float = math.nan
    high: float = math.nan
    interval: str = ""
    confidence: float = 0.95
    observed: float = math.nan
    expected: float = math.nan
    n_items: int = 0
    n_annotators: int = 0
    n_labels: int = 0
    words: tuple[str, ...] = ()

    @property
    def is_defined(self) -> bool:
        """Whether the labels allow the coefficient to be computed."""
        return not math.isnan(self.value)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if not self.is_defined:
            return f"{self.title}: undefined: {self.words[0]}"
        ends = f" ({self.low:.3f} to {self.high:.3f})" if self.interval else ""
        return f"{self.title}: {self.value:.3f}{ends}"

    def to_json(self) -> dict[str, Any]:
        """The fields by name; None for what is undefined."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in (vars(self) | {"words": list(self.words)}).items()
        }
