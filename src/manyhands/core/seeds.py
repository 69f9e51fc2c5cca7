"""Seeds: the one place that turns a seed into random numbers."""

import zlib

import numpy as np

from manyhands.core.settings import require


def generator(seed: int, purpose: str) -> np.random.Generator:
    """A random generator for one purpose; purposes have independent streams.

    >>> int(generator(0, "labels").integers(1000)) == int(generator(0, "labels").integers(1000))
    True
    """
    require(
        isinstance(seed, int | np.integer) and seed >= 0, "seed", "a whole number, 0 or more", seed
    )
    return np.random.default_rng([int(seed), zlib.crc32(purpose.encode())])


def seed_for(seed: int, purpose: str) -> int:
    """A seed for the random generator of another library, for one purpose."""
    return int(generator(seed, purpose).integers(2**63))
