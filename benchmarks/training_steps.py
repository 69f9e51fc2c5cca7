"""Training steps to be timed on the same labels: ours, crowd-kit's, and the dense public design.

A step is a function of its number. It takes the batch of that number, makes the forward and
backward pass and the optimiser step, and returns the loss. All tools prepare their batches
beforehand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.annotations import Annotations
from manyhands.core.settings import generator, seed_for
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.inputs import TensorInputs
from manyhands.engine.loop import TrainingRun, train
from manyhands.engine.optimisers import Stepper, make_optimisers
from manyhands.engine.settings import TrainingSettings
from manyhands.methods import METHODS, EndToEnd, Problem
from manyhands.networks import MLP
from manyhands.noise import AnnotationBatch, annotation_loss

OURS, OUR_DEFAULTS = "manyhands", "manyhands, its defaults"
OUR_CLASSIFIER = "`CrowdClassifier.fit`"
AS_DOCUMENTED, ONCE_PER_ITEM = "crowd-kit", "crowd-kit, at its best"
DENSE = "dense design"

LABELS_EACH = 3
LEARNING_RATE = 1e-3
AS_PUBLISHED = {"prior_precision": 0.0}  # no prior around a consensus

Step = Callable[[int], Tensor]

_DENSE_BYTES = 200_000_000  # limit of all dense batches of labels together


@dataclass(frozen=True)
class Workload:
    """The size of a training problem."""

    n_annotators: int
    n_classes: int
    n_items: int = 40_000
    n_features: int = 512
    n_hidden: int = 128
    batch_size: int = 64

    def network(self) -> MLP:
        """The network that every tool trains, with the same initial weights."""
        torch.manual_seed(0)
        return MLP(self.n_features, self.n_classes, hidden=(self.n_hidden,))

    def inputs(self) -> Tensor:
        """Random features."""
        rng = generator(0, "features")
        return torch.from_numpy(rng.standard_normal((self.n_items, self.n_features), np.float32))

    def annotations(self, labels_each: float = LABELS_EACH) -> Annotations:
        """Random labels, this many per item on average; annotators take turns."""
        n_labels = round(labels_each * self.n_items)
        counts = np.full(self.n_items, n_labels // self.n_items)
        counts[: n_labels - counts.sum()] += 1
        rng = generator(0, "labels")
        annotator = np.resize(rng.permutation(self.n_annotators), n_labels)
        label = rng.integers(self.n_classes, size=n_labels)
        item = np.repeat(np.arange(self.n_items), rng.permutation(counts))
        return Annotations.from_arrays(
            item,
            annotator,
            label,
            annotators=range(self.n_annotators),
            classes=range(self.n_classes),
        )

    def make_module(
        self,
        method: str,
        annotations: Annotations,
        settings: TrainingSettings,
        *,
        as_published: bool = False,
    ) -> ClassificationModule:
        """The module that `CrowdClassifier` would train, with the same choice of sparse tables.

        As published, a noise model initialises itself and has no prior.
        """
        chosen = METHODS[method]
        if as_published:
            assert isinstance(chosen, EndToEnd), "only noise models are published"
            chosen = chosen.configured(AS_PUBLISHED, "own")
        problem = Problem(annotations=annotations, shape=(self.n_features,))
        return chosen.make_module(self.network(), problem, settings)

    def batches(self) -> list[CrowdBatch]:
        """All items once, in random order."""
        crowd = CrowdData(TensorInputs(self.inputs()), self.annotations(), torch.device("cpu"))
        order = generator(0, "order").permutation(crowd.labelled)
        return list(crowd.batches(order, self.batch_size))


def our_step(
    workload: Workload, method: str, *, as_published: bool = False, **settings: Any
) -> Step:
    """A step of the training loop of manyhands."""
    chosen = TrainingSettings(batch_size=workload.batch_size, **settings)
    module = workload.make_module(
        method, workload.annotations(), chosen, as_published=as_published
    ).train()
    make_step = Stepper(module, make_optimisers(module, chosen), chosen)
    batches = workload.batches()

    def step(number: int) -> Tensor:
        def backward() -> Tensor:
            loss: Tensor = module(batches[number % len(batches)])
            loss.backward()
            return loss.detach()

        return make_step(backward)

    return step


def crowd_kit_step(workload: Workload, layer: str, *, at_its_best: bool = False) -> Step:
    """A step with a layer of crowd-kit and one Adam over all parameters.

    In crowd-kit's tutorial every label is an example of its own, so the network processes an item
    once per label. `at_its_best` processes it once and uses a fused Adam.
    """
    network, crowd_layer = workload.network(), crowd_kit_layer(layer, workload)
    optimiser = torch.optim.Adam(
        [*network.parameters(), *crowd_layer.parameters()],
        lr=LEARNING_RATE,
        fused=True if at_its_best else None,
    )
    batches = workload.batches()
    body, head = network.layers[:-1], network.layers[-1]

    def step(number: int) -> Tensor:
        batch = batches[number % len(batches)]
        given = batch.annotations
        optimiser.zero_grad()
        hidden = body(batch.inputs if at_its_best else batch.inputs[given.row])
        logits = head(hidden)
        if at_its_best:
            hidden, logits = hidden[given.row], logits[given.row]
        seen = (hidden, logits) if layer == "conal" else (logits,)
        loss = functional.cross_entropy(crowd_layer(*seen, given.annotator), given.label)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step


def crowd_kit_layer(layer: str, workload: Workload) -> nn.Module:
    """The crowd layer with matrices, or CoNAL after it has inferred the size of its inputs."""
    from crowdkit.learning import CoNAL, CrowdLayer

    if layer != "conal":
        return CrowdLayer(workload.n_classes, workload.n_annotators, conn_type="mw")
    made: nn.Module = CoNAL(workload.n_classes, workload.n_annotators)
    nobody = torch.zeros(2, dtype=torch.int64)
    made(torch.zeros(2, workload.n_hidden), torch.zeros(2, workload.n_classes), nobody)
    return made


def dense_step(workload: Workload) -> Step:
    """A crowd layer that computes the label of every annotator; -1 marks missing labels.

    The public codes of Rodrigues and Pereira 2018 and of Chu, Ma and Wang 2021 do the same.
    """
    network = workload.network()
    start_akl = torch.eye(workload.n_classes).repeat(workload.n_annotators, 1, 1)
    matrix_alk = nn.Parameter(start_akl)
    optimiser = torch.optim.Adam([*network.parameters(), matrix_alk], lr=LEARNING_RATE)
    tables = _dense_labels(workload)

    def step(number: int) -> Tensor:
        inputs, label_ba = tables[number % len(tables)]
        optimiser.zero_grad()
        f_bk = network(inputs).softmax(dim=-1)
        logits_bla = torch.einsum("alk,bk->bla", matrix_alk, f_bk)
        loss = functional.cross_entropy(logits_bla, label_ba, ignore_index=-1)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step


def _dense_labels(workload: Workload) -> list[tuple[Tensor, Tensor]]:
    most = max(2, _DENSE_BYTES // (8 * workload.batch_size * workload.n_annotators))
    made = []
    for batch in workload.batches()[:most]:
        label_ba = torch.full((len(batch.items), workload.n_annotators), -1)
        given = batch.annotations
        label_ba[given.row, given.annotator] = given.label
        made.append((batch.inputs, label_ba))
    return made


def contestants(workload: Workload, layer: str) -> dict[str, Callable[[], Step]]:
    """Factories of the step of every tool that has this layer."""
    steps: dict[str, Callable[[], Step]] = {
        OURS: lambda: our_step(workload, layer, as_published=True),
        OUR_DEFAULTS: lambda: our_step(workload, layer),
        AS_DOCUMENTED: lambda: crowd_kit_step(workload, layer),
        ONCE_PER_ITEM: lambda: crowd_kit_step(workload, layer, at_its_best=True),
    }
    if layer == "crowd-layer-mw":
        steps[DENSE] = lambda: dense_step(workload)
    return steps


class LoopRace:
    """Training by `train` and by a bare loop over the same batches, from the same weights."""

    def __init__(self, workload: Workload, method: str, epochs: int, labels_each: float) -> None:
        self.workload, self.method, self.inputs = workload, method, workload.inputs()
        self.annotations = workload.annotations(labels_each)
        self.settings = TrainingSettings(epochs=epochs, batch_size=workload.batch_size)
        self._epochs = [self._lists(epoch) for epoch in range(epochs)]

    def make_module(self) -> ClassificationModule:
        """A new module, always with the same weights."""
        return self.workload.make_module(self.method, self.annotations, self.settings)

    def ours(self, module: ClassificationModule) -> list[dict[str, Any]]:
        """Train with the library's loop; its history."""
        inputs = TensorInputs(self.inputs)
        run = TrainingRun(module, inputs, self.annotations, self.settings, progress=False)
        return train(run).history

    def bare(self, module: ClassificationModule) -> list[float]:
        """Train with steps only; the loss of every epoch."""
        network, noise, losses = module.network, module.noise, []
        groups = [{"params": list(part.parameters())} for part in (network, noise)]
        optimiser = torch.optim.AdamW(groups, lr=LEARNING_RATE, weight_decay=0.0, fused=True)
        module.train()
        for seed, batches in self._epochs:
            torch.manual_seed(seed)
            total = torch.zeros(())
            for items, row, annotator, label in batches:
                optimiser.zero_grad()
                x = self.inputs.index_select(0, items)
                batch = AnnotationBatch(row, annotator, label, x)
                loss = annotation_loss(noise, network(x), batch)
                loss.backward()
                optimiser.step()
                total += loss.detach()
            losses.append(float(total) / len(batches))
        return losses

    def _lists(self, epoch: int) -> tuple[int, Sequence[tuple[Tensor, ...]]]:
        """The seed of an epoch and, for every batch of it, items, rows, annotators and labels."""
        crowd = CrowdData(TensorInputs(self.inputs), self.annotations, torch.device("cpu"))
        order = generator(0, f"order of epoch {epoch}").permutation(crowd.labelled)
        batches = crowd.batches(order, self.workload.batch_size)
        lists = [
            (each.items.clone(), given.row, given.annotator.clone(), given.label.clone())
            for each in batches
            for given in [each.annotations]
        ]
        return seed_for(0, f"epoch {epoch} of process 0"), lists
