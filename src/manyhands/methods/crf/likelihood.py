"""How probable given tags are, where some of them may be unknown."""

import numpy as np

from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.methods.crf.forward_backward import log_partition
from manyhands.methods.crf.weights import Links

UNKNOWN = -1


def log_probability(score_tk: Floats, offsets: Offsets, links: Links, tag_t: Codes) -> Floats:
    """Log p(y_s | x_s) of every sentence; tokens whose tag is -1 are summed over.

    >>> tags = np.array([0, -1, 1], dtype=np.int32)
    >>> log_probability(np.zeros((3, 2)), np.array([0, 3]), Links.zeros(2), tags).round(4).tolist()
    [-1.3863]
    """
    known_s = log_partition(pinned(score_tk, tag_t), offsets, links)
    return np.asarray(known_s - log_partition(score_tk, offsets, links))


def pinned(score_tk: Floats, tag_t: Codes) -> Floats:
    """The scores where a token whose tag is known has no other."""
    n_tags = score_tk.shape[1]
    open_tk = (tag_t[:, None] == UNKNOWN) | (tag_t[:, None] == np.arange(n_tags))
    return np.where(open_tk, score_tk, -np.inf)
