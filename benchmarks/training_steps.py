"""Training steps to be timed on the same labels: ours, crowd-kit's, and the dense public design.

A step is a function of its number: it takes the batch of that number, in turn, makes forward and
backward pass, lets the optimiser work and gives the loss. Batches are made beforehand by all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.annotations import Annotations
from manyhands.core.seeds import generator, seed_for
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
AS_PUBLISHED = {"prior_precision": 0.0}  # noise models without the prior around a consensus

Step = Callable[[int], Tensor]

_DENSE_BYTES = 200_000_000  # what dense batches of labels may take together


@dataclass(frozen=True)
class Scene:
    """How large a training problem is."""

    n_annotators: int
    n_classes: int
    n_items: int = 40_000
    n_features: int = 512
    n_hidden: int = 128
    batch_size: int = 64

    def network(self) -> MLP:
        """The network that everybody trains, with the same weights at the start."""
        torch.manual_seed(0)
        return MLP(self.n_features, self.n_classes, hidden=(self.n_hidden,))

    def inputs(self) -> Tensor:
        """Features without meaning."""
        rng = generator(0, "features")
        return torch.from_numpy(rng.standard_normal((self.n_items, self.n_features), np.float32))

    def annotations(self, labels_each: float = LABELS_EACH) -> Annotations:
        """As many labels per item on average; people take turns, and say what comes to mind."""
        n_labels = round(labels_each * self.n_items)
        counts = np.full(self.n_items, n_labels // self.n_items)
        counts[: n_labels - counts.sum()] += 1
        rng = generator(0, "labels")
        who = np.resize(rng.permutation(self.n_annotators), n_labels)
        said = rng.integers(self.n_classes, size=n_labels)
        item = np.repeat(np.arange(self.n_items), rng.permutation(counts))
        people, classes = range(self.n_annotators), range(self.n_classes)
        return Annotations.from_arrays(item, who, said, annotators=people, classes=classes)

    def make_module(
        self,
        method: str,
        annotations: Annotations,
        settings: TrainingSettings,
        *,
        as_published: bool = False,
    ) -> ClassificationModule:
        """What `CrowdClassifier` would train: it leaves the choice of sparse tables to the same.

        A noise model as published starts by itself and is not drawn towards its start.
        """
        made = METHODS[method]
        if as_published:
            assert isinstance(made, EndToEnd), "only noise models are published"
            made = made.configured(AS_PUBLISHED, "own")
        problem = Problem(annotations=annotations, shape=(self.n_features,))
        return made.make_module(self.network(), problem, settings)

    def batches(self) -> list[CrowdBatch]:
        """All items once, in random order."""
        crowd = CrowdData(TensorInputs(self.inputs()), self.annotations(), torch.device("cpu"))
        order = generator(0, "order").permutation(crowd.labelled)
        return list(crowd.batches(order, self.batch_size))


def our_step(scene: Scene, method: str, *, as_published: bool = False, **settings: Any) -> Step:
    """A step as the loop of manyhands makes it."""
    chosen = TrainingSettings(batch_size=scene.batch_size, **settings)
    module = scene.make_module(
        method, scene.annotations(), chosen, as_published=as_published
    ).train()
    make_step = Stepper(module, make_optimisers(module, chosen), chosen)
    batches = scene.batches()

    def step(number: int) -> Tensor:
        def backward() -> Tensor:
            loss: Tensor = module(batches[number % len(batches)])
            loss.backward()
            return loss.detach()

        return make_step(backward)

    return step


def crowd_kit_step(scene: Scene, layer: str, *, at_its_best: bool = False) -> Step:
    """A step with a layer of crowd-kit and one Adam over all parameters.

    As crowd-kit's tutorial has it, every label is an entry of its own and the network sees an item
    once per label. At its best the network sees it once, and Adam is the fused one.
    """
    network, made = scene.network(), crowd_kit_layer(layer, scene)
    optimiser = torch.optim.Adam(
        [*network.parameters(), *made.parameters()],
        lr=LEARNING_RATE,
        fused=True if at_its_best else None,
    )
    batches = scene.batches()
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
        loss = functional.cross_entropy(made(*seen, given.annotator), given.label)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step


def crowd_kit_layer(layer: str, scene: Scene) -> nn.Module:
    """The crowd layer with matrices, or CoNAL, once it has seen the size of its inputs."""
    from crowdkit.learning import CoNAL, CrowdLayer

    if layer != "conal":
        return CrowdLayer(scene.n_classes, scene.n_annotators, conn_type="mw")
    made: nn.Module = CoNAL(scene.n_classes, scene.n_annotators)
    nobody = torch.zeros(2, dtype=torch.int64)
    made(torch.zeros(2, scene.n_hidden), torch.zeros(2, scene.n_classes), nobody)
    return made


def dense_step(scene: Scene) -> Step:
    """A crowd layer that gives what every annotator would say; -1 marks who said nothing.

    So do the public programs of Rodrigues and Pereira 2018, and of Chu, Ma and Wang 2021.
    """
    network = scene.network()
    start_akl = torch.eye(scene.n_classes).repeat(scene.n_annotators, 1, 1)
    matrix_alk = nn.Parameter(start_akl)
    optimiser = torch.optim.Adam([*network.parameters(), matrix_alk], lr=LEARNING_RATE)
    tables = _dense_labels(scene)

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


def _dense_labels(scene: Scene) -> list[tuple[Tensor, Tensor]]:
    most = max(2, _DENSE_BYTES // (8 * scene.batch_size * scene.n_annotators))
    made = []
    for batch in scene.batches()[:most]:
        label_ba = torch.full((len(batch.items), scene.n_annotators), -1)
        given = batch.annotations
        label_ba[given.row, given.annotator] = given.label
        made.append((batch.inputs, label_ba))
    return made


def contestants(scene: Scene, layer: str) -> dict[str, Callable[[], Step]]:
    """Makers of a step of every tool that has this layer."""
    found: dict[str, Callable[[], Step]] = {
        OURS: lambda: our_step(scene, layer, as_published=True),
        OUR_DEFAULTS: lambda: our_step(scene, layer),
        AS_DOCUMENTED: lambda: crowd_kit_step(scene, layer),
        ONCE_PER_ITEM: lambda: crowd_kit_step(scene, layer, at_its_best=True),
    }
    if layer == "crowd-layer-mw":
        found[DENSE] = lambda: dense_step(scene)
    return found


class LoopRace:
    """Whole training by `train`, and by a bare loop over the same batches; both from one start."""

    def __init__(self, scene: Scene, method: str, epochs: int, labels_each: float) -> None:
        self.scene, self.method, self.inputs = scene, method, scene.inputs()
        self.annotations = scene.annotations(labels_each)
        self.settings = TrainingSettings(epochs=epochs, batch_size=scene.batch_size)
        self._epochs = [self._lists(epoch) for epoch in range(epochs)]

    def make_module(self) -> ClassificationModule:
        """A new learner, always the same."""
        return self.scene.make_module(self.method, self.annotations, self.settings)

    def ours(self, module: ClassificationModule) -> list[dict[str, Any]]:
        """Train with the library's loop; its log."""
        inputs = TensorInputs(self.inputs)
        job = TrainingRun(module, inputs, self.annotations, self.settings, progress=False)
        return train(job).history

    def bare(self, module: ClassificationModule) -> list[float]:
        """Train with nothing around the steps; the loss of every epoch."""
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
        batches = crowd.batches(order, self.scene.batch_size)
        lists = [
            (each.items.clone(), given.row, given.annotator.clone(), given.label.clone())
            for each in batches
            for given in [each.annotations]
        ]
        return seed_for(0, f"epoch {epoch} of process 0"), lists
