"""A simulated crowd in which two fifths of the annotators always press the same button."""

import numpy as np

from manyhands.annotations import Annotations


def spam_crowd(n_annotators=600, per_annotator=15, n_classes=3, seed=0):
    """A fifth are experts, two fifths average, two fifths press the same button always."""
    rng = np.random.default_rng(seed)
    n_items = n_annotators * per_annotator // 5
    kind_a = rng.choice(3, size=n_annotators, p=[0.2, 0.4, 0.4])
    truth_i = rng.integers(n_classes, size=n_items)
    item = np.repeat(np.arange(n_items), 5)
    annotator = np.argsort(rng.random((n_items, n_annotators)), axis=1)[:, :5].ravel()
    right = rng.random(len(item)) < np.array([0.95, 0.6, 0.0])[kind_a[annotator]]
    wrong = (truth_i[item] + rng.integers(1, n_classes, size=len(item))) % n_classes
    button = rng.integers(n_classes, size=n_annotators)[annotator]
    label = np.where(right, truth_i[item], np.where(kind_a[annotator] == 2, button, wrong))
    return Annotations.from_arrays(item, annotator, label), truth_i, kind_a
