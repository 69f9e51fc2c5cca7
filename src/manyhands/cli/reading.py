"""From file names and method names to a consensus."""

from typing import Any, cast

import manyhands as mh
from manyhands.cli.options import Reading


def annotations_from(labels: str, reading: Reading, duplicates: str = "keep") -> "mh.Annotations":
    """The labels of a file."""
    return mh.read_annotations(labels, duplicates=cast(Any, duplicates), **reading.settings())


def features_from(path: str, reading: Reading) -> "mh.io.Features":
    """The features of a file that goes with a file of labels."""
    return mh.io.read_features(path, encoding=reading.encoding)


def truth_from(path: str, reading: Reading) -> dict[Any, Any]:
    """The truths of a file that goes with a file of labels."""
    return mh.io.read_truth(path, encoding=reading.encoding)


def consensus_by_name(
    labels: str, method: str | None, known: str | None, duplicates: str, reading: Reading
) -> "mh.Consensus":
    """The consensus of a file by a method's name."""
    if method is not None:
        mh.AGGREGATORS[method]  # an unknown name is told before a long file is read
    annotations = annotations_from(labels, reading, duplicates)
    truths = truth_from(known, reading) if known is not None else None
    return mh.aggregate(annotations, method, known=truths)
