"""From file names and method names to labels, features and a consensus."""

from typing import Any, cast

import manyhands as mh
from manyhands.cli.options import Reading, TaskOptions
from manyhands.cli.tasks import bounds_asked, kind_asked, require_aggregator
from manyhands.core.errors import DataError


def annotations_from(
    labels: str, reading: Reading, duplicates: str = "keep", task_options: TaskOptions | None = None
) -> "mh.Annotations":
    """The labels of a file, of the kind that was asked for and within the range."""
    task_options = task_options or TaskOptions()
    kind, bounds = kind_asked(task_options, reading), bounds_asked(task_options)
    settings = reading.settings() | {"kind": kind}
    try:
        rows = mh.io.read_rows(labels, **settings)
    except mh.annotations.MixedLabelsError as error:
        if task_options.task != "regression":
            raise
        raise DataError(
            f"{error.where}: the label {error.label!r} is a word, and --task regression takes "
            f"numbers; drop it with --missing {error.label!r}, or give --task classification"
        ) from None
    if bounds is not None:
        _require_within(rows, *bounds)
    ann = mh.Annotations.from_rows(rows, duplicates=cast(Any, duplicates))
    if task_options.task == "classification" and ann.kind == "numbers":
        raise DataError(
            f"{labels}: the labels are numbers with decimals, which is --task regression; "
            "--kind classes reads every number as a class of its own"
        )
    return ann


def _require_within(rows: Any, low: float, high: float) -> None:
    for row in (rows.has_label & ~((rows.label >= low) & (rows.label <= high))).nonzero()[0][:1]:
        who = rows.annotators.names[rows.annotator[row]]
        raise DataError(
            f"{rows.place(int(row))}: annotator {who!s} said {rows.label[row]:g}, outside of "
            f"--range {low:g}:{high:g}; mend it, or drop it with --missing {rows.label[row]:g}"
        )


def features_from(path: str, reading: Reading, text: str | None = None) -> "mh.io.Features":
    """The features of a file that goes with a file of labels: numbers, or texts."""
    from manyhands.cli.text_features import texts_from  # it needs readers, which --help does not

    texts = texts_from(path, reading, text)
    return mh.io.read_features(path, encoding=reading.encoding) if texts is None else texts


def truth_from(path: str, reading: Reading) -> dict[Any, Any]:
    """The truths of a file that goes with a file of labels."""
    return mh.io.read_truth(path, encoding=reading.encoding)


def consensus_by_name(
    labels: str,
    method: str | None,
    known: str | None,
    duplicates: str,
    reading: Reading,
    task_options: TaskOptions | None = None,
) -> "mh.Consensus":
    """The consensus of a file by a method's name."""
    if method is not None:
        mh.AGGREGATORS[method]  # an unknown name is told before a long file is read
    if task_options is not None and task_options.task is not None:
        require_aggregator(method, "numbers" if task_options.task == "regression" else "classes")
    annotations = annotations_from(labels, reading, duplicates, task_options)
    truths = truth_from(known, reading) if known is not None else None
    return mh.aggregate(annotations, method, known=truths)
