"""The data of the demo: real images, simulated annotators."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from manyhands.core.arrays import Floats
from manyhands.core.seeds import generator
from manyhands.simulation.behaviours import confused, constant_spammers, random_spammers
from manyhands.simulation.crowds import SimulatedCrowd, simulate_crowd

N_ANNOTATORS = 40
LABELS_PER_ITEM = 3


@dataclass(frozen=True)
class DigitsDemo:
    """scikit-learn's handwritten digits (real, 1797 items) labelled by a simulated crowd."""

    features: Floats
    crowd: SimulatedCrowd


def load_demo(seed: int = 0) -> DigitsDemo:
    """Forty simulated annotators, three labels per digit: good, middling, two kinds of spammers.

    >>> load_demo().crowd.annotations
    Annotations(5391 labels of 1797 items by 40 annotators, 10 classes)
    """
    digits = load_digits()
    rng = generator(seed, "demo annotators")
    careful, middling = rng.uniform(0.75, 0.95, 14), rng.uniform(0.35, 0.65, 16)
    confusion_akl = np.concatenate(
        [
            confused(np.concatenate([careful, middling]), 10, 0.3, rng),
            random_spammers(5, 10),
            constant_spammers(rng.integers(0, 10, 5), 10),
        ]
    )
    behaviour = np.array(
        ["careful"] * 14 + ["middling"] * 16 + ["random"] * 5 + ["constant"] * 5, dtype=object
    )
    crowd = simulate_crowd(
        digits.target,
        confusion_akl,
        labels_per_item=LABELS_PER_ITEM,
        seed=seed,
        behaviour=behaviour,
    )
    return DigitsDemo(digits.data, crowd)
