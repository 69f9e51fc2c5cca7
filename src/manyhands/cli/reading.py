"""From file names and method names to a consensus."""

from typing import Any, cast

import manyhands as mh
from manyhands.cli.options import Reading


def annotations_from(
    labels: str, reading: Reading, kind: str | None, duplicates: str = "keep"
) -> "mh.Annotations":
    """The labels of a file, read as the kind that a method needs unless the person said which."""
    settings = reading.settings()
    settings["kind"] = settings["kind"] or kind
    return mh.read_annotations(labels, duplicates=cast(Any, duplicates), **settings)


def consensus_by_name(
    labels: str, method: str | None, known: str | None, duplicates: str, reading: Reading
) -> "mh.Consensus":
    """The consensus of a file by a method's name."""
    kind = mh.AGGREGATORS[method].kind if method else None
    annotations = annotations_from(labels, reading, kind, duplicates)
    truths = mh.io.read_truth(known) if known else None
    return mh.aggregate(annotations, method, known=truths)
