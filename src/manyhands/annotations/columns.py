"""Tables: frames of any library, and which columns are item, annotator and label by their names.

narwhals supports pandas, polars, pyarrow and others.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import narwhals as nw
import numpy as np

from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import nearest_names

# What an item says. It names the item only if nothing else does.
TEXTS = (
    "text", "sentence", "document", "doc", "question", "comment", "prompt", "tweet", "post",
    "review", "message", "query", "passage", "utterance", "article", "content", "body", "title",
)  # fmt: skip
WORDS = {
    "item": (
        "item", "task", "example", "unit", "sample", "instance", "image", "object", "hit", "record",
        "id", "conversation", "dialog", "dialogue", "url", *TEXTS,
    ),
    "annotator": (
        "annotator", "worker", "rater", "coder", "user", "labeler", "labeller", "judge",
        "performer", "reviewer", "expert", "participant", "person",
    ),
    "label": (
        "label", "answer", "value", "class", "response", "annotation", "judgment", "judgement",
        "vote", "category", "rating", "score", "tag", "choice", "verdict", "sentiment", "emotion",
        "stance", "polarity", "decision",
    ),
    "truth": ("truth", "gold", "golden", "gt", "target"),
}  # fmt: skip
_IDS = {"id", "ids", "key", "idx", "index", "uid", "uuid", "guid", "hash"}
_FILLERS = {*_IDS, "name", "no", "nr", "number", "code"}
_TIMES = {
    "time", "timestamp", "date", "datetime", "created", "updated", "submitted", "duration", "lead",
    "seconds", "elapsed",
}  # fmt: skip


def find_column(
    columns: Sequence[str], role: str, given: str | None = None, remedy: str = ""
) -> str:
    """The column of a role: the given one, or the only best match by name.

    `remedy` ends the error message if there is no such column; the default is to name the column.

    >>> find_column(["task_id", "WorkerId", "answer"], "annotator")
    'WorkerId'
    """
    if given is not None:
        if list(columns).count(given) > 1:
            raise DataError(f"the column {given!r} appears more than once; rename one of them")
        if given not in columns:
            near = nearest_names(str(given), map(str, columns))
            hint = f"did you mean {' or '.join(near)}?" if near else "no column has a similar name;"
            raise DataError(f"no column {given!r}; {hint} columns: {_listed(columns)}")
        return given
    do = (remedy,) if remedy else ("name it with ", SettingName(role, ...))
    best = _best(columns, role)
    if len(best) == 1:
        return best[0]
    if best:
        raise DataError(f"several columns may be the {role}: {_listed(best)}; ", *do)
    raise DataError(f"no column looks like the {role}; ", *do, f"; columns: {_listed(columns)}")


def find_columns(
    columns: Sequence[str], item: str | None, annotator: str | None, label: str | None
) -> tuple[str, str, str]:
    """The three columns of a long table; a column given for one role has no other role."""
    given = {"item": item, "annotator": annotator, "label": label}
    taken = {name for name in given.values() if name is not None}
    free = [column for column in columns if column not in taken]
    item, annotator, label = (
        find_column(columns if name is not None else free, role, name)
        for role, name in given.items()
    )
    if len({item, annotator, label}) < 3:
        raise DataError(
            "item, annotator and label must be three columns; "
            f"got {item!r}, {annotator!r}, {label!r}"
        )
    return item, annotator, label


def is_candidate(column: str, role: str) -> bool:
    """Whether the name of a column fits a role."""
    return _strength(column, role) > 0


def is_text(column: str) -> bool:
    """Whether the name of a column says that it holds the texts of items, not their ids."""
    return _strength(column, "item") == 1


def _best(columns: Sequence[str], role: str) -> list[str]:
    strengths = [(_strength(column, role), column) for column in columns]
    top = max((strength for strength, _ in strengths), default=0)
    return [column for strength, column in strengths if strength == top and strength > 0]


def _strength(column: str, role: str) -> int:
    """How well a name fits a role, 0 for not at all.

    5: it is a known word; 4: it contains one and is an id; 3: it is just an id; 2: it contains a
    known word; 1: it is the text of an item. A time has no role, and an id is never a label.
    """
    words = _split(str(column))
    content = [word for word in words if word not in _FILLERS]
    is_id = not _IDS.isdisjoint(words) or any(_joined_id(word) for word in words)
    if not _TIMES.isdisjoint(words) or (role in ("label", "truth") and is_id):
        return 0
    known = set(WORDS[role]) - {"id"}
    found = [word for word in content if _is_one_of(known, word)]
    if role == "item" and not is_id and any(_is_one_of(TEXTS, word) for word in found):
        return 1
    if found:
        return 5 if len(content) == 1 else 4 if is_id and role == "item" else 2
    return 3 if role == "item" and words and not content and is_id else 0


def _joined_id(word: str) -> bool:
    """Whether a word ends in an id without a space: "workerid"."""
    return len(word) > 4 and word.endswith(("id", "ids", "uuid")) and word[-3:] != "oid"


def _is_one_of(known: Collection[str], word: str) -> bool:
    """Whether a word is known: as it is, in plural, or joined with a filler ("workerid")."""
    forms = {word} | {word.removesuffix(ending) for ending in ("s", "es", *_FILLERS)}
    return not forms.isdisjoint(known)


def _split(column: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", column)
    return [word.lower() for word in re.split(r"[\W_]+", spaced) if word]


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(repr(column) for column in columns[:12]) + (
        " ..." if len(columns) > 12 else ""
    )


def open_frame(frame: Any) -> "nw.DataFrame[Any]":
    """A frame of any library behind one interface; a lazy frame is computed."""
    try:
        wrapped = nw.from_native(frame)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"a column name appears twice: {' '.join(str(error).split())}") from None
    except TypeError:
        raise DataError(
            f"expected a table (pandas, polars, pyarrow ...); got {type(frame).__name__}"
        ) from None
    return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped


def make_frame(columns: Mapping[str, Any], backend: str) -> Any:
    """A frame of the given library (`backend`) from named columns.

    >>> make_frame({"item": [1, 2]}, "pandas").shape
    (2, 1)
    """
    lists = {
        name: values.tolist()
        if isinstance(values, np.ndarray) and values.dtype == object
        else values
        for name, values in columns.items()
    }
    return nw.from_dict(lists, backend=cast(Any, backend)).to_native()
