"""The labels of a crowd in training: batches of items on the device, and validation labels."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.annotations import Annotations
from manyhands.annotations.grouping import run_indices
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.core.settings import generator
from manyhands.engine.chains import TokenPlaces
from manyhands.engine.inputs import Inputs, even_parts
from manyhands.engine.processes import Processes
from manyhands.noise import AnnotationBatch
from manyhands.noise.batch import StepShare

EVALUATION_BATCH = 1024  # items at a time where nothing is trained
_SORTED = 50  # batches whose items are sorted by length together
_ENOUGH = 0.5  # of the labels asked for: with fewer, annotators may lose their only one


class CrowdBatch:
    """Some items: their codes, inputs (a tensor, or tensors by name) and annotations.

    The weights correct the mean over processes: n here x processes / n of the whole step, where n
    counts labels for `label_weight` and items for `item_weight`. `places` tell where tokens are in
    their sentences, if items are tokens. This is no dataclass, because Fabric rebuilds those.
    """

    def __init__(
        self,
        items: Tensor,
        inputs: Any,
        annotations: AnnotationBatch,
        *,
        label_weight: float = 1.0,
        item_weight: float = 1.0,
        places: TokenPlaces | None = None,
    ) -> None:
        self.items, self.inputs, self.annotations = items, inputs, annotations
        self.places = places
        self.label_weight, self.item_weight = label_weight, item_weight


class CrowdData:
    """Inputs and annotations on one device; row i of the inputs belongs to item i.

    With several `processes`, all of them have the same data, and divide the work.
    """

    def __init__(
        self,
        inputs: Inputs,
        annotations: Annotations,
        device: torch.device,
        processes: Processes = Processes(),  # noqa: B008 - it is frozen
    ) -> None:
        if len(inputs) != annotations.n_items:
            raise DataError(f"{len(inputs)} rows of features for {annotations.n_items} items")
        self.inputs, self.annotations, self.device = inputs.to(device), annotations, device
        self.labelled = np.flatnonzero(annotations.labels_per_item > 0)
        self.processes = processes

    def shuffled(self, rng: np.random.Generator, batch_size: int) -> AnyArray:
        """The labelled items in a random order, with items of similar length near each other."""
        edges = self.inputs.boundaries(self.labelled)
        unit = rng.permutation(len(edges) - 1)
        lengths = self.inputs.lengths(self.labelled[edges[:-1]])
        if lengths is not None:
            per_batch = max(batch_size * len(unit) // max(len(self.labelled), 1), 1)
            unit = _by_length(unit, lengths, per_batch, rng)
        return np.asarray(self.labelled[run_indices(edges, unit)])

    def batches(
        self,
        order: AnyArray,
        batch_size: int,
        *,
        rank: int = 0,
        n_ranks: int = 1,
        some: slice = slice(None),
    ) -> Iterator[CrowdBatch]:
        """Items in this order, in batches of nearly equal size.

        A batch holds at most about `batch_size` items. The tokens of a sentence stay together
        (`Inputs.boundaries`), and little is padded (`even_parts`). The order of all annotations is
        computed at once, so that a batch is a handful of slices. With several ranks each gets its
        share of every batch. Inputs are read for these alone, and only for `some` of the batches.
        """
        ann = self.annotations
        counts = ann.labels_per_item[order]
        ends = np.concatenate([[0], np.cumsum(counts)])
        source = np.arange(ends[-1]) + np.repeat(ann.item_offsets[order] - ends[:-1], counts)
        position = self._moved(np.repeat(np.arange(len(order)), counts))
        annotator, label = (self._moved(each[source]) for each in (ann.annotator, labels_of(ann)))
        items = self._moved(order)
        edges = self.inputs.boundaries(order)
        starts = self.inputs.sentence_starts
        places = None if starts is None else TokenPlaces.of(starts, order)
        for part in self._parts(order, edges, batch_size, n_ranks)[some]:
            first, last = edges[list(part)].tolist()
            begin, end = edges[list(_share(*part, rank, n_ranks))].tolist()
            own = slice(int(ends[begin]), int(ends[end]))
            whole = slice(int(ends[first]), int(ends[last]))
            inputs = self.inputs.rows(items[begin:end])
            features = self.inputs.noise_features(inputs)
            share = StepShare(
                labels=(own.stop - own.start) * n_ranks / max(whole.stop - whole.start, 1),
                items=(end - begin) * n_ranks / (last - first),
                annotator=annotator[whole],
                gather=self.processes.gather,
            )
            given = AnnotationBatch(
                position[own] - begin, annotator[own], label[own], features,
                share=share if n_ranks > 1 else None,
            )  # fmt: skip
            yield CrowdBatch(
                items[begin:end],
                inputs,
                given,
                label_weight=share.labels,
                item_weight=share.items,
                places=None if places is None else places[begin:end],
            )

    def evaluated(self, order: AnyArray, most: int = EVALUATION_BATCH) -> Iterator[CrowdBatch]:
        """Batches to evaluate a network on: at most `most` items, fewer where inputs are large."""
        return self.batches(order, self.inputs.items_at_once(most))

    def evaluated_here(self, order: AnyArray, most: int = EVALUATION_BATCH) -> Iterator[CrowdBatch]:
        """The batches of `evaluated` that are for this process, if each sums its own."""
        size = self.inputs.items_at_once(most)
        some = self.processes.share(self.n_batches(order, size))
        return self.batches(order, size, some=some)

    def collect(
        self, function: Callable[[CrowdBatch], tuple[Tensor, ...]], order: AnyArray
    ) -> list[Tensor]:
        """What a function returns for all items in this order, the rows of all batches as one.

        Several processes evaluate some batches each, and all get all rows.
        """
        few = self.n_batches(order, self.inputs.items_at_once(EVALUATION_BATCH)) < self.processes.n
        batches = self.evaluated(order) if few else self.evaluated_here(order)
        found = [torch.cat(parts) for parts in zip(*map(function, batches), strict=True)]
        return found if few else [self.processes.gather(each) for each in found]

    def n_batches(self, order: AnyArray, batch_size: int, n_ranks: int = 1) -> int:
        """How many batches `batches` makes of items in this order."""
        return len(self.parts(order, batch_size, n_ranks))

    def parts(self, order: AnyArray, batch_size: int, n_ranks: int = 1) -> list[tuple[int, int]]:
        """The first unit and the one after the last of every batch, in this order of items.

        A unit is an item, or what `Inputs.boundaries` keep together.
        """
        return self._parts(order, self.inputs.boundaries(order), batch_size, n_ranks)

    def _parts(
        self, order: AnyArray, edges: AnyArray, batch_size: int, n_ranks: int
    ) -> list[tuple[int, int]]:
        lengths = self.inputs.lengths(order[edges[:-1]])
        n_parts = n_ranks // self.processes.n  # steps are the same for any number of processes
        return even_parts(edges, batch_size, lengths, self.inputs.most_tokens * n_parts)

    def _moved(self, array: AnyArray) -> Tensor:
        kind = np.float32 if array.dtype.kind == "f" else np.int64
        return torch.from_numpy(array.astype(kind)).to(self.device)


def labels_of(annotations: Annotations) -> AnyArray:
    """Class codes or numbers (n,); of sets, 1 for the classes of each and 0 for others (n, k)."""
    if annotations.kind != "multilabel":
        return annotations.label
    return annotations.members.astype(np.float32)


def _by_length(
    unit: AnyArray, lengths: AnyArray, per_batch: int, rng: np.random.Generator
) -> AnyArray:
    """A random order in which batches hold units of similar length, to pad little.

    The units of every `_SORTED` batches are sorted by length; then all batches are shuffled.
    """
    batches: list[AnyArray] = []
    for first in range(0, len(unit), per_batch * _SORTED):
        some = unit[first : first + per_batch * _SORTED]
        some = some[np.argsort(lengths[some], kind="stable")]
        batches += np.array_split(some, -(-len(some) // per_batch))
    return np.concatenate([batches[place] for place in rng.permutation(len(batches))])


def _share(first: int, last: int, rank: int, n_ranks: int) -> tuple[int, int]:
    size = last - first
    return first + size * rank // n_ranks, first + size * (rank + 1) // n_ranks


def finite_outputs(outputs: Tensor) -> Tensor:
    """The outputs of a network, or a `DataError` if there is one that is not a finite number."""
    if outputs.isfinite().all():
        return outputs
    row = int((~outputs.isfinite()).any(dim=1).nonzero()[0])
    raise DataError(
        f"the network gives no finite number for row {row}; its features may be too large"
    )


def split_labels(
    annotations: Annotations, share: float, seed: int
) -> tuple[Annotations, Annotations | None]:
    """Split labels at random into those to train on and validation labels (None for share 0).

    Every item keeps a label to train on. Every annotator keeps one too, unless too few labels could
    be held out then: in a crowd of annotators with one label each, some are validated as unseen
    annotators.
    """
    if share == 0:
        return annotations, None
    validation = _spare(annotations, max(1, round(share * annotations.n_annotations)), seed)
    if not validation.any():
        raise DataError(
            "no item has a second label to spare, so none can be held out; set "
            "validation_fraction to 0"
        )
    return annotations.only(~validation), annotations.only(validation)


def split_items(
    annotations: Annotations, edges: AnyArray, share: float, seed: int
) -> tuple[Annotations, Annotations | None]:
    """Split items at random: the labels to train on, and all labels of the validation items.

    `edges` separate the labelled items into units that stay together, such as sentences. A network
    that memorises its items does not predict the labels of other items any better.
    """
    n_units = len(edges) - 1
    if share == 0 or n_units < 2:
        return annotations, None
    n_held = min(max(1, round(share * n_units)), n_units - 1)
    chosen = generator(seed, "items held out").permutation(n_units)[:n_held]
    is_held_u = np.zeros(n_units, dtype=bool)
    is_held_u[chosen] = True
    is_held_i = np.zeros(annotations.n_items, dtype=bool)
    labelled = np.flatnonzero(annotations.labels_per_item > 0)
    is_held_i[labelled] = np.repeat(is_held_u, np.diff(edges))
    validation = is_held_i[annotations.item]
    return annotations.only(~validation), annotations.only(validation)


def _spare(annotations: Annotations, wanted: int, seed: int) -> AnyArray:
    """Up to the wanted number of labels at random, none of them the last label of an item."""
    order = generator(seed, "labels held out").permutation(annotations.n_annotations).tolist()
    left_i = annotations.labels_per_item.copy()
    left_a = annotations.labels_per_annotator.copy()
    validation = np.zeros(annotations.n_annotations, dtype=bool)
    n_held = 0
    for fewest in (2, 0):  # labels that an annotator must have to lose one
        if n_held >= wanted * _ENOUGH:
            break
        for n in order:
            i, a = annotations.item[n], annotations.annotator[n]
            if n_held < wanted and not validation[n] and left_i[i] > 1 and left_a[a] >= fewest:
                left_i[i] -= 1
                left_a[a] -= 1
                validation[n] = True
                n_held += 1
    return validation
