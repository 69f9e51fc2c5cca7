"""A crowd in which some people say what somebody else said."""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes, Floats
from manyhands.core.seeds import generator
from manyhands.core.settings import require
from manyhands.simulation.assignment import assign, in_order
from manyhands.simulation.behaviours import honest
from manyhands.simulation.crowds import SimulatedCrowd, draw_labels, label_table
from manyhands.simulation.independent import accuracies
from manyhands.simulation.items import Items, items_or_drawn
from manyhands.simulation.settings import CrowdSettings, require_share


@dataclass(frozen=True, kw_only=True)
class CopycatSettings(CrowdSettings):
    """A `share` of the crowd copies.

    Each copycat has one source among `n_sources` annotators who do not copy, says what the source
    says with probability `copying`, and else labels on their own.
    """

    copying: float = 0.8
    n_sources: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        require_share("copying", self.copying)
        n_honest = self.n_annotators - self.n_copycats
        require(n_honest > 0, "share", "such that somebody is left to copy", self.share)
        rule = f"in 1..{n_honest}, the annotators who do not copy"
        require(1 <= self.n_sources <= n_honest, "n_sources", rule, self.n_sources,
                "lower share or n_sources")  # fmt: skip

    @property
    def n_copycats(self) -> int:
        """How many annotators copy."""
        return round(self.share * self.n_annotators)


@dataclass(frozen=True, kw_only=True)
class CopycatCrowd(SimulatedCrowd):
    """Also whom each annotator copies (-1 is nobody) and which labels were copied."""

    source_a: Codes
    copied_n: Bools

    @property
    def annotator_notes(self) -> dict[str, AnyArray]:
        """Whom each annotator copies; -1 is nobody."""
        return {"copies": self.source_a}

    @property
    def label_notes(self) -> dict[str, AnyArray]:
        """Whether a label is the annotator's own or copied."""
        return {"source": np.where(self.copied_n, "copied", "own")}


def copycats(settings: CopycatSettings, items: Items | None = None) -> CopycatCrowd:
    """A share of the crowd copies the labels of a few others, their mistakes included.

    An annotator has one label for an item, given or not: copycats of one source who label the same
    item agree, also where the source's own label is not in the table.
    """
    known = items_or_drawn(items, settings)
    n_items, n_annotators = len(known.truth), settings.n_annotators
    own_akl = honest(accuracies(settings), settings.n_classes)
    source_a = _sources(settings)
    rng = generator(settings.seed, "who labels what")
    item, annotator = in_order(*assign(n_items, n_annotators, settings.labels_per_item, rng))
    tossed = generator(settings.seed, "copying").random(len(item)) < settings.copying
    copied = tossed & (source_a[annotator] >= 0)
    teller = np.where(copied, source_a[annotator], annotator)
    label = _label_of_tellers(own_akl, known.truth, item, teller, settings.seed)
    classes = np.arange(settings.n_classes)
    return CopycatCrowd(
        label_table(item, annotator, label, n_items, n_annotators, classes),
        known.truth,
        _portrait(own_akl, source_a, settings.copying),
        np.where(source_a >= 0, "copycat", "honest").astype(object),
        known.features,
        known.test,
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


def _label_of_tellers(
    own_akl: Floats, truth: AnyArray, item: Codes, teller: Codes, seed: int
) -> Codes:
    """One draw per (item, teller), however many repeat it."""
    n_annotators = len(own_akl)
    pairs, place = np.unique(item.astype(np.int64) * n_annotators + teller, return_inverse=True)
    told_i, told_by = pairs // n_annotators, pairs % n_annotators
    return draw_labels(own_akl, truth[told_i], told_by, generator(seed, "labels"))[place]


def _portrait(own_akl: Floats, source_a: Codes, copying: float) -> Floats:
    confusion_akl = own_akl.copy()
    copies = source_a >= 0
    confusion_akl[copies] = (1 - copying) * own_akl[copies] + copying * own_akl[source_a[copies]]
    return confusion_akl
