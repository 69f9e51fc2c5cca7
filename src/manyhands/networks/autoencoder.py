"""A generative model of features given the class of an item and a latent code."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from manyhands.core.settings import require
from manyhands.networks.mlp import flat
from manyhands.networks.sizes import require_size, require_sizes


class ClassAutoencoder(nn.Module):
    """A conditional variational autoencoder of the features x of an item of class t with a code z.

    ::

        x ~ N(decoder(t, z), variance I),    z ~ N(0, I)
        q(z | x, t) = N(mean, diag(deviation^2)),    mean and deviation from encoder(x, t)

    The class adds a row of weights to the first layer of encoder and decoder. These start at zero,
    so that all classes start equal and their order has no influence.

    Settings
    --------
    n_features, n_classes:
        numbers in the input of one item, and classes.
    n_codes:
        dimensions of z.
    hidden:
        softplus units of the encoder's hidden layers; the decoder's are the same, last one first.
    variance:
        of every feature around the output of the decoder; None learns it.

    Source: M2 in Kingma et al. 2014.

    >>> ClassAutoencoder(5, 3)(torch.zeros(2, 5), torch.zeros(2, 32)).shape
    torch.Size([2, 3])
    """

    log_variance: Tensor

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        n_codes: int = 32,
        hidden: Sequence[int] = (128,),
        variance: float | None = None,
    ) -> None:
        super().__init__()
        require_size("n_features", n_features)
        require_size("n_classes", n_classes)
        require_autoencoder(n_codes, hidden, variance)
        self.n_features, self.n_codes, self.learns_variance = n_features, n_codes, variance is None
        self.encoder = _layers(n_features, hidden, 2 * n_codes, n_classes)
        self.decoder = _layers(n_codes, tuple(reversed(hidden)), n_features, n_classes)
        start = torch.tensor(0.0 if variance is None else math.log(variance))
        if self.learns_variance:
            self.log_variance = nn.Parameter(start)
        else:
            self.register_buffer("log_variance", start)

    def forward(self, features_b: Tensor, noise_bz: Tensor) -> Tensor:
        """A lower bound of log p(x | t = k), shape (b, k), on one sample of z for every class.

        log p(x | k, z) - KL(q(z | x, k) || p(z)) at z = mean_k + deviation_k * noise. All classes
        share the noise, so that they do not differ by it.
        """
        x_b1j = flat(features_b, self.n_features).unsqueeze(1)
        mean_bkz, log_square_bkz = self.encoder(x_b1j).chunk(2, dim=-1)
        z_bkz = mean_bkz + (0.5 * log_square_bkz).exp() * noise_bz.unsqueeze(1)
        off_bk = (x_b1j - self.decoder(z_bkz)).square().sum(dim=-1)
        log_volume = self.n_features * (self.log_variance + math.log(2.0 * math.pi))
        log_features_bk = -0.5 * (off_bk / self.log_variance.exp() + log_volume)
        divergence_bkz = mean_bkz.square() + log_square_bkz.exp() - log_square_bkz - 1.0
        bound_bk: Tensor = log_features_bk - 0.5 * divergence_bkz.sum(dim=-1)
        return bound_bk

    @torch.no_grad()
    def init_from_features(self, features_b: Tensor) -> None:
        """Set the decoder's last bias to the mean of the features, a learnt variance to theirs."""
        x_bj = flat(features_b, self.n_features)
        variance_j, mean_j = torch.var_mean(x_bj, dim=0, correction=0)
        last = self.decoder[-1]
        assert isinstance(last, nn.Linear), "the decoder ends in a linear map"
        last.bias.copy_(mean_j)
        spread = variance_j.mean()
        if self.learns_variance and spread > 0:
            self.log_variance.copy_(spread.log())


def require_autoencoder(n_codes: int, hidden: Sequence[int], variance: float | None) -> None:
    """Raise a `SettingError` unless these are settings of an autoencoder."""
    require_size("n_codes", n_codes)
    require_sizes("hidden", hidden)
    require(len(hidden) >= 1, "hidden", "one hidden layer or more", hidden)
    require(variance is None or 0 < variance < math.inf, "variance", "> 0", variance)


class _ClassLinear(nn.Module):
    """A linear map with a bias for each class: from (b, 1 or k, j) to (b, k, units)."""

    def __init__(self, n_inputs: int, n_units: int, n_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_inputs, n_units)
        self.of_class = nn.Parameter(torch.zeros(n_classes, n_units))

    def forward(self, inputs: Tensor) -> Tensor:
        mapped: Tensor = self.linear(inputs)
        return mapped + self.of_class


def _layers(n_inputs: int, hidden: Sequence[int], n_outputs: int, n_classes: int) -> nn.Sequential:
    layers: list[nn.Module] = [_ClassLinear(n_inputs, hidden[0], n_classes), nn.Softplus()]
    for before, n_units in pairwise(hidden):
        layers += [nn.Linear(before, n_units), nn.Softplus()]
    return nn.Sequential(*layers, nn.Linear(hidden[-1], n_outputs))
