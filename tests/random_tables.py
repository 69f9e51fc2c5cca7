"""Tables of labels without any structure: nothing about them is easy for a method."""

import numpy as np


def random_labels(seed, n_items=12, n_annotators=5, n_classes=3, n_annotations=40):
    """Three columns of codes."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, n_items, n_annotations),
        rng.integers(0, n_annotators, n_annotations),
        rng.integers(0, n_classes, n_annotations),
    )
