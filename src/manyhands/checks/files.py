"""Examine a label file, even one that cannot be used as it is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from manyhands.annotations.labels import MixedLabelsError
from manyhands.checks.finding import Finding
from manyhands.checks.report import CheckReport, check
from manyhands.io import read_rows


def check_file(path: str | Path, **reading: Any) -> CheckReport:
    """Look for everything that is wrong or risky in a label file.

    `reading` takes what `read_annotations` takes: columns, layout, classes, missing codes. Labels
    that are partly numbers and partly words are reported, and looked at as classes.
    """
    try:
        return check(read_rows(path, **reading))
    except MixedLabelsError as error:
        mixture = _mixture(error)
    examination = check(read_rows(path, **(reading | {"kind": "classes"})))
    return replace(examination, findings=(mixture, *examination.findings))


def _mixture(error: MixedLabelsError) -> Finding:
    what, rest = ("a word", "numbers") if error.is_word else ("a number", "words")
    return Finding(
        severity="error",
        message=f"labels are partly numbers, partly words: {error.label!r} is {what} among {rest}",
        remedy=f"drop it with --missing {error.label!r}, or say --kind classes if it is a class",
        count=1,
        rows=(error.row + 1,),
        names=(error.label,),
        places=(error.where,),
        check="mixed-labels",
    )
