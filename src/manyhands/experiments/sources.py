"""Where an experiment's crowd comes from: a public corpus, or a simulated one."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from manyhands.datasets import DATASETS
from manyhands.estimators import Trial, trial_of_corpus


@dataclass(frozen=True)
class Source:
    """A corpus of `DATASETS` by name, with one of its feature sets (None: its first)."""

    dataset: str
    features: str | None = None

    def missing(self, data: str | None) -> str:
        """Why it cannot be used here; empty when it can."""
        if self.dataset not in DATASETS:
            return f"there is no reader of {self.dataset}"
        if data is None:
            return "give --data, the folder that holds the corpora"
        lacking = DATASETS[self.dataset].missing(data, self.features)
        return f"{lacking[0]} is not there" if lacking else ""

    def load(self, data: str) -> Trial:
        """The crowd, its features and its truth."""
        return _loaded(self.dataset, self.features, data)

    def identity(self) -> dict[str, Any]:
        """What tells it from others."""
        return {"dataset": self.dataset, "features": self.features}


@lru_cache(maxsize=2)
def _loaded(dataset: str, features: str | None, data: str) -> Trial:
    return trial_of_corpus(DATASETS[dataset].read(data, features))
