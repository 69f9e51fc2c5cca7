"""The most probable class of every item, and how ties are broken."""

import numpy as np

from manyhands.core.arrays import Bools, Codes, Floats

_EQUAL = 1e-9  # probabilities that differ by less are equal


def most_probable(probabilities_ik: Floats) -> tuple[Codes, Bools]:
    """The most probable class of every item, and whether another class is as probable.

    A tie goes to the class that is more probable over all items together, and if these are equal
    too, to the first class.

    >>> codes, tied = most_probable(np.array([[0.5, 0.5], [0.1, 0.9]]))
    >>> codes.tolist(), tied.tolist()
    ([1, 1], [True, False])
    """
    top_i = probabilities_ik.max(axis=1, keepdims=True)
    among_ik = probabilities_ik >= top_i - _EQUAL
    tied = among_ik.sum(axis=1) > 1
    codes = probabilities_ik.argmax(axis=1).astype(np.int32)
    if tied.any():
        mass_k = np.round(probabilities_ik.mean(axis=0), 9)
        codes[tied] = np.where(among_ik[tied], mass_k, -1.0).argmax(axis=1)
    return codes, tied
