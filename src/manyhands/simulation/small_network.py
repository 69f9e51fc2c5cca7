"""A network with one hidden layer in numpy, which trains and copies in a moment."""

from dataclasses import dataclass

import numpy as np

from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.settings import generator

N_STEPS = 2000
STEPS_PER_EPOCH = 100  # at most, of batches of 64 or more
LEARNING_RATE = 0.01


@dataclass(frozen=True)
class SmallNetwork:
    """Logits are max(0, x V + a) W + b."""

    into_dh: Floats
    bias_h: Floats
    out_hk: Floats
    bias_k: Floats

    def predict(self, features: AnyArray) -> AnyArray:
        """The most probable class of each row."""
        into_dh = self.into_dh.astype(
            features.dtype, copy=False
        )  # the weights, so that the features are not copied
        hidden = np.maximum(features @ into_dh + self.bias_h, 0.0)
        return np.asarray(np.argmax(hidden @ self.out_hk + self.bias_k, axis=1))

    def perturbed(self, level: float, rng: np.random.Generator) -> "SmallNetwork":
        """A copy with normal noise of `level` times the root mean square of a layer's weights."""

        def noisy(weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
            deviation = level * float(np.sqrt(np.mean(weight**2)))
            noise = deviation * rng.standard_normal(weight.shape)
            return weight + noise, bias + deviation * rng.standard_normal(bias.shape)

        return SmallNetwork(*noisy(self.into_dh, self.bias_h), *noisy(self.out_hk, self.bias_k))


def train_network(
    features: AnyArray, truth: AnyArray, n_classes: int, n_hidden: int, seed: int
) -> SmallNetwork:
    """A network trained on the truth by Adam, with cross-entropy.

    >>> x = np.repeat([[-1.0], [1.0]], 50, axis=0)
    >>> net = train_network(x, np.repeat([0, 1], 50), 2, 4, seed=0)
    >>> net.predict(np.array([[-1.0], [1.0]])).tolist()
    [0, 1]
    """
    rng = generator(seed, "network")
    n_rows, n_features = features.shape
    weights = [
        rng.standard_normal((n_features, n_hidden)) * np.sqrt(2 / n_features),
        np.zeros(n_hidden),
        rng.standard_normal((n_hidden, n_classes)) / np.sqrt(n_hidden),
        np.zeros(n_classes),
    ]
    adam = _Adam(weights)
    size = max(64, n_rows // STEPS_PER_EPOCH)
    order, start = rng.permutation(n_rows), 0
    for _ in range(N_STEPS):
        if start >= n_rows:
            order, start = rng.permutation(n_rows), 0
        batch = order[start : start + size]
        adam.step(_gradients(weights, features[batch], truth[batch]))
        start += size
    return SmallNetwork(*weights)


def _gradients(weights: list[Floats], features: AnyArray, truth: AnyArray) -> list[Floats]:
    """The gradients of the mean cross-entropy."""
    into_dh, bias_h, out_hk, bias_k = weights
    hidden = np.maximum(features @ into_dh + bias_h, 0.0)
    logits = hidden @ out_hk + bias_k
    error = np.exp(logits - logits.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(len(truth)), truth] -= 1.0
    error /= len(truth)
    back = (error @ out_hk.T) * (hidden > 0)
    return [features.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]


class _Adam:
    """The Adam optimiser; it updates the weights in place."""

    def __init__(self, weights: list[Floats]) -> None:
        self.weights = weights
        self.moments = [(np.zeros_like(each), np.zeros_like(each)) for each in weights]
        self.n_steps = 0

    def step(self, gradients: list[Floats]) -> None:
        self.n_steps += 1
        rate = LEARNING_RATE * np.sqrt(1 - 0.999**self.n_steps) / (1 - 0.9**self.n_steps)
        for weight, moments, gradient in zip(self.weights, self.moments, gradients, strict=True):
            moments[0][:] += 0.1 * (gradient - moments[0])
            moments[1][:] += 0.001 * (gradient**2 - moments[1])
            weight[:] -= rate * moments[0] / (np.sqrt(moments[1]) + 1e-8)
