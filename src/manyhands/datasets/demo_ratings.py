"""The data of the demo for numbers: simulated items, rated by simulated people."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.seeds import generator
from manyhands.simulation.assignment import assign

N_ITEMS, N_FEATURES, RATINGS_PER_ITEM = 900, 6, 3
_PEOPLE = {  # behaviour: how many, what they add to the truth, and the deviation of their noise
    "careful": (8, 0.0, 0.5),
    "generous": (8, 2.5, 0.8),
    "harsh": (4, -2.5, 0.8),
    "erratic": (8, 0.0, 4.0),
}


@dataclass(frozen=True)
class RatingsDemo:
    """Items with features and a true rating, the ratings people gave, and what people are like."""

    features: Floats
    truth: Floats
    annotations: Annotations
    behaviour: AnyArray
    bias: Floats
    noise: Floats


def load_ratings_demo(seed: int = 0) -> RatingsDemo:
    """Ratings around 0 to 10 of 900 items by 28 people, three each.

    >>> load_ratings_demo().annotations
    Annotations(2700 labels of 900 items by 28 annotators, numbers)
    """
    rng = generator(seed, "demo ratings")
    x = rng.normal(size=(N_ITEMS, N_FEATURES))
    truth = 5.0 + 2.0 * np.tanh(x[:, 0] + x[:, 1]) + x[:, 2] - x[:, 3] * x[:, 4]
    behaviour = np.repeat(list(_PEOPLE), [n for n, _, _ in _PEOPLE.values()]).astype(object)
    bias = np.array([_PEOPLE[name][1] for name in behaviour]) + rng.normal(0, 0.3, len(behaviour))
    noise = np.array([_PEOPLE[name][2] for name in behaviour])
    item, who = assign(N_ITEMS, len(behaviour), RATINGS_PER_ITEM, rng)
    said = truth[item] + bias[who] + noise[who] * rng.normal(size=len(item))
    annotations = Annotations.from_arrays(
        item, who, said.round(1), items=range(N_ITEMS), annotators=range(len(behaviour)),
        kind="numbers",
    )  # fmt: skip
    return RatingsDemo(x, truth, annotations, behaviour, bias, noise)
