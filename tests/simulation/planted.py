"""What was counted against what was planted."""

import numpy as np

from manyhands.simulation import SCENARIOS

SMALL = {"n_items": 3000, "n_annotators": 12, "labels_per_item": 4, "seed": 1}


def small_settings(name, **changes):
    """Settings of a scenario, small, with four classes where it may have them."""
    classes = {} if name == "sensitivities" else {"n_classes": 4}
    return SCENARIOS[name].settings(**(SMALL | classes | changes))


def small_crowd(name, **changes):
    return SCENARIOS[name](small_settings(name, **changes))


def label_counts(confusion_akl, annotator, truth_n, label):
    """How often each annotator gave each label to each class."""
    counts = np.zeros_like(confusion_akl)
    np.add.at(counts, (annotator, truth_n, label), 1.0)
    return counts


def assert_follow(counts, probability, deviations=5.0):
    """Counts lie within so many binomial standard deviations (and one label) of their means."""
    total = counts.sum(axis=-1, keepdims=True)
    off = np.abs(counts - total * probability)
    assert (off <= deviations * np.sqrt(total * probability * (1 - probability)) + 1.0).all()


def assert_share(hits, share, deviations=5.0):
    """A share of hits lies within binomial bounds of the one that was set."""
    hits = np.asarray(hits)
    bound = deviations * np.sqrt(share * (1 - share) / len(hits))
    assert abs(hits.mean() - share) <= bound + 1e-12


def same_bits(one, two):
    arrays = [
        (one.annotations.item, two.annotations.item),
        (one.annotations.annotator, two.annotations.annotator),
        (one.annotations.label, two.annotations.label),
        (one.truth, two.truth),
        (one.confusion, two.confusion),
        (one.behaviour, two.behaviour),
    ]
    if one.features is not None:
        arrays.append((one.features, two.features))
    if one.test is not None:
        arrays.append((one.test.features, two.test.features))
        arrays.append((one.test.truth, two.test.truth))
    return all(np.array_equal(first, second) for first, second in arrays)
