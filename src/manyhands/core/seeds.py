"""The one place that turns a seed into random numbers."""

import zlib

import numpy as np

from manyhands.core.settings import require


def generator(seed: int, purpose: str) -> np.random.Generator:
    """A generator for one purpose: draws for one purpose never shift those for another.

    >>> int(generator(0, "labels").integers(1000)) == int(generator(0, "labels").integers(1000))
    True
    """
    require(
        isinstance(seed, int | np.integer) and seed >= 0, "seed", "a whole number, 0 or more", seed
    )
    return np.random.default_rng([int(seed), zlib.crc32(purpose.encode())])


def seed_for(seed: int, purpose: str) -> int:
    """A seed for another library's generator, for one purpose."""
    return int(generator(seed, purpose).integers(2**63))
