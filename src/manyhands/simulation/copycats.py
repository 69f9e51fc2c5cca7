"""A crowd in which some annotators copy the labels of others."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import Bools, Codes
from manyhands.core.settings import generator, require
from manyhands.simulation import crowds
from manyhands.simulation.behaviours import honest
from manyhands.simulation.independent import accuracies
from manyhands.simulation.settings import SHARE, CrowdSettings


@dataclass(frozen=True, kw_only=True)
class CopycatSettings(CrowdSettings):
    """A `share` of the annotators are copycats.

    Each copycat has one source among `n_sources` annotators who do not copy. A copycat gives the
    label of the source with probability `copying`, and otherwise an independent label.
    """

    copying: float = 0.8
    n_sources: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(SHARE, "copying")
        n_honest = self.n_annotators - self.n_copycats
        require(n_honest > 0, "share", "such that one annotator does not copy", self.share)
        rule = f"in 1..{n_honest}, the annotators who do not copy"
        require(1 <= self.n_sources <= n_honest, "n_sources", rule, self.n_sources,
                "lower share or n_sources")  # fmt: skip

    @property
    def n_copycats(self) -> int:
        """Number of annotators who copy."""
        return round(self.share * self.n_annotators)


@dataclass(frozen=True, kw_only=True)
class CopycatCrowd(crowds.SimulatedCrowd):
    """A crowd with the source that each annotator copies (-1: none) and the copied labels."""

    source_a: Codes
    copied_n: Bools


def copycats(settings: CopycatSettings, items: Items | None = None) -> CopycatCrowd:
    """A share of the annotators copies the labels of a few others, including the errors.

    The source has one label for each item, whether or not the table contains it: copycats of one
    source agree on every item whose label they copy.
    """
    known = crowds.draw_items(items, settings)
    n_items, n_annotators = len(known.truth), settings.n_annotators
    own_akl = honest(accuracies(settings), settings.n_classes)
    source_a = _sources(settings)
    item, annotator = crowds.draw_pairs(settings, n_items)
    copying = generator(settings.seed, "copying").random(len(item)) < settings.copying
    copied = copying & (source_a[annotator] >= 0)
    source_n = np.where(copied, source_a[annotator], annotator)
    # One draw per (item, source), whatever the number of copies.
    pairs, pair_n = np.unique(item.astype(np.int64) * n_annotators + source_n, return_inverse=True)
    truth_n, rng = known.truth[pairs // n_annotators], generator(settings.seed, "labels")
    label = crowds.draw_labels(own_akl, truth_n, pairs % n_annotators, rng)[pair_n]
    share = settings.copying
    mixed_akl = (1 - share) * own_akl + share * own_akl[source_a]
    classes = np.arange(settings.n_classes)
    return CopycatCrowd(
        crowds.label_table((item, annotator), label, n_items, n_annotators, classes),
        known.truth,
        np.where((source_a >= 0)[:, None, None], mixed_akl, own_akl),
        np.where(source_a >= 0, "copycat", "honest").astype(object),
        known.features,
        known.test,
        {"copies": source_a},
        {"source": np.where(copied, "copied", "own")},
        source_a=source_a,
        copied_n=copied,
    )


def _sources(settings: CopycatSettings) -> Codes:
    rng = generator(settings.seed, "whom they copy")
    others = np.arange(settings.n_copycats, settings.n_annotators)
    sources = rng.choice(others, size=settings.n_sources, replace=False)
    source_a = np.full(settings.n_annotators, -1, dtype=np.int32)
    source_a[: settings.n_copycats] = rng.choice(sources, size=settings.n_copycats)
    return source_a
