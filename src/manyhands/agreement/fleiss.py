"""Agreement of the whole crowd above chance."""

from manyhands.annotations import Labels, as_annotations


def fleiss_kappa(annotations: Labels) -> float:
    """Fleiss' kappa of class labels: 1 is full agreement, 0 is what chance would give.

    Items may have different numbers of labels; those with one label say how often the classes are
    used. NaN if no item has two labels, or if only one class is used.

    >>> round(fleiss_kappa([[0, 0, 0], [1, 1, 1], [0, 0, 1]]), 3)
    0.55
    """
    counts_ik = as_annotations(annotations, kind="classes").label_counts()
    n_i = counts_ik.sum(axis=1)
    paired, labelled = n_i >= 2, n_i >= 1
    if not paired.any():
        return float("nan")
    same_i = (counts_ik[paired] * (counts_ik[paired] - 1.0)).sum(axis=1)
    observed = (same_i / (n_i[paired] * (n_i[paired] - 1.0))).mean()
    by_chance = ((counts_ik[labelled] / n_i[labelled, None]).mean(axis=0) ** 2).sum()
    return float((observed - by_chance) / (1.0 - by_chance)) if by_chance < 1.0 else float("nan")
