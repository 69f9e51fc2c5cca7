"""How the numbers of an annotator differ from the consensus: bias, scale and noise.

    label = mean label + scale (consensus - its mean) + noise

by least squares over the annotator's items. The bias is the mean of label - consensus. A scale
below 1 means that the annotator uses a narrower range than the crowd.
"""

import numpy as np

from manyhands.aggregation import Consensus
from manyhands.core.arrays import AnyArray, Floats

MIN_LABELS = 3


def errors_of_numbers(consensus: Consensus) -> dict[str, Floats] | None:
    """`bias`, `scale` and `noise` of every annotator; None for classes.

    NaN with fewer than three labels, or for the scale and the noise if the items do not vary.

    >>> from manyhands import Annotations, aggregate
    >>> ratings = Annotations.from_dense([[1.0, 1.5], [2.0, 2.5], [4.0, 4.5]])
    >>> found = errors_of_numbers(aggregate(ratings, "mean"))
    >>> found["bias"].tolist(), found["scale"].round(6).tolist()
    ([-0.25, 0.25], [1.0, 1.0])
    """
    if consensus.probabilities is not None:
        return None
    ann = consensus.annotations
    believed_n = np.asarray(consensus.labels[ann.item], dtype=np.float64)
    who, n_annotators = ann.annotator, ann.n_annotators

    def total(value_n: AnyArray) -> Floats:
        return np.asarray(np.bincount(who, value_n, n_annotators), dtype=np.float64)

    n_a = np.where(ann.labels_per_annotator >= MIN_LABELS, ann.labels_per_annotator, np.nan)
    own_n = ann.label - (total(ann.label) / n_a)[who]
    off_n = believed_n - (total(believed_n) / n_a)[who]
    variation_a = total(off_n**2)
    varies = variation_a > 1e-12 * np.maximum(total(believed_n**2), 1e-300)
    scale_a = np.divide(
        total(own_n * off_n), variation_a, out=np.full(n_annotators, np.nan), where=varies
    )
    square_a = total((own_n - scale_a[who] * off_n) ** 2)
    return {
        "bias": total(ann.label - believed_n) / n_a,
        "scale": np.where(np.isnan(n_a), np.nan, scale_a),
        "noise": np.sqrt(square_a / (n_a - 2.0)),
    }
