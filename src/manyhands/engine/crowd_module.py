"""What the epoch loop trains: a network and the annotator model behind it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from manyhands.core.errors import DataError, ManyhandsError, first_line
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.networks.text import WordNetwork
from manyhands.noise import AnnotatorModel
from manyhands.noise.base import warn_of_probabilities

EVALUATION_BATCH = 1024  # items at a time where nothing is trained
VALIDATION = "validation"  # the key of the mean log-likelihood of validation labels in a history
_SMALL = 200_000_000  # multiplications per step up to which one thread is fastest


class CrowdModule(nn.Module, ABC):
    """A network with an annotator model, trained on annotations or on one target per item.

    `targets` hold a row for every item. A two-stage method trains on them throughout
    (`on_targets`), the others during the warm-up.
    """

    targets: Tensor

    def __init__(
        self,
        network: nn.Module,
        noise: AnnotatorModel,
        targets: Tensor,
        *,
        on_targets: bool = False,
    ) -> None:
        super().__init__()
        self.network, self.noise, self.on_targets = network, noise, on_targets
        self.register_buffer("targets", targets, persistent=False)
        if on_targets:  # the noise model then only holds the profiles, made beforehand
            noise.requires_grad_(False)

    def forward(self, batch: CrowdBatch, warm_up_epoch: bool = False) -> Tensor:
        """The loss of a batch; with mixed precision only the network computes in half precision."""
        outputs: Tensor = self.network(batch.inputs).float()
        with torch.autocast(outputs.device.type, enabled=False):
            return self._loss(outputs, batch, warm_up_epoch)

    def on_epoch_start(self, crowd: CrowdData, number: int) -> None:
        """Called before every epoch; the first epoch after the warm-up has number 0."""

    @abstractmethod
    def profile_annotators(self, crowd: CrowdData) -> None:
        """Called once at the end, for profiles that depend on all labels."""

    @abstractmethod
    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """The log-probability, or log density, of every label of a batch, shape (n,)."""

    @abstractmethod
    def _loss(self, outputs: Tensor, batch: CrowdBatch, warm_up_epoch: bool) -> Tensor:
        """The loss of the network's outputs for a batch."""

    @torch.no_grad()
    def log_likelihood(self, crowd: CrowdData) -> float:
        """The mean log-probability, or log density, of a crowd's labels."""
        self.eval()
        order = crowd.labelled[crowd.inputs.by_length(crowd.labelled)]
        parts = [self.label_log_prob(batch) for batch in crowd.batches(order, EVALUATION_BATCH)]
        return float(torch.cat(parts).double().mean())

    def validation_scores(self, crowd: CrowdData, monitor: str) -> dict[str, float]:
        """The scores of an epoch on validation labels, as the history keeps them."""
        return {VALIDATION: self.log_likelihood(crowd)}

    def add_validation_error(self, searched: "CrowdModule", crowd: CrowdData) -> None:
        """Note what validation items showed about the error of the network, if anything is kept."""


@torch.no_grad()
def network_outputs(network: nn.Module, crowd: CrowdData) -> Tensor:
    """The outputs of a network for every labelled item, in their order."""
    network.eval()
    order = crowd.inputs.by_length(crowd.labelled)
    batches = crowd.batches(crowd.labelled[order], EVALUATION_BATCH)
    parts = [network(batch.inputs) for batch in batches]
    back = torch.from_numpy(np.argsort(order)).to(crowd.device)
    return torch.cat(parts).index_select(0, back)


def predict_outputs(
    network: nn.Module, inputs: Inputs, device: torch.device, settings: TrainingSettings
) -> Tensor:
    """The outputs of a network for all items, in double precision on the CPU."""
    inputs = inputs.to(device)
    network.eval()
    order = inputs.by_length(np.arange(len(inputs)))
    threads = torch_threads(network, inputs.shape, EVALUATION_BATCH, settings)
    with torch.no_grad(), threads:
        parts = [
            network(inputs.rows(index.to(device))).cpu().double()
            for index in map(torch.from_numpy, inputs.parts(order, EVALUATION_BATCH))
        ]
    return torch.cat(parts)[torch.from_numpy(np.argsort(order))]


@torch.no_grad()
def check_network_output(
    network: nn.Module, inputs: Tensor, n_outputs: int, n_items: int, *, warn: bool = True
) -> None:
    """Raise an error unless the network gives `n_outputs` per item; warn of probabilities.

    `n_items` is the number of items that the inputs hold. For regression there is one output.
    """
    was_training = network.training
    network.eval()
    try:
        outputs = network(inputs)
    except ManyhandsError:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(
            f"the network cannot take inputs of shape {tuple(inputs.shape)}: {first_line(error)}"
        ) from error
    finally:
        network.train(was_training)
    if not isinstance(outputs, Tensor) or outputs.shape != (n_items, n_outputs):
        got = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        wanted = f"{n_outputs} logits each are expected; the labels have {n_outputs} classes"
        if n_outputs == 1:
            wanted = "one number each is expected, in shape (b, 1); the labels are numbers"
        raise DataError(f"the network gives {got} for {n_items} items where {wanted}")
    if warn:
        warn_of_probabilities(outputs)


@contextmanager
def torch_threads(
    network: nn.Module, shape: tuple[int, ...], n_items: int, settings: TrainingSettings
) -> Iterator[None]:
    """Set the number of torch threads while a network is used on `n_items` at once.

    The threads of a small step mostly wait for each other: one thread is as fast and never waits
    for a core that another program uses. The size of a step is estimated from the weights of a
    network that uses each of them once per item (flat inputs), or once per word, where the table of
    word vectors does not count.
    """
    before = torch.get_num_threads()
    tables = {each.weight for each in network.modules() if isinstance(each, nn.Embedding)}
    text = any(isinstance(each, WordNetwork) for each in network.modules())
    weights = sum(
        each.numel()
        for each in network.parameters()
        if not is_lazy(each) and not (text and each in tables)
    )
    small = (text or len(shape) <= 1) and weights * n_items < _SMALL
    torch.set_num_threads(settings.threads or (1 if small else max(1, before // settings.devices)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
