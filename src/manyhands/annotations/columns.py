"""Tables: frames of any library, and which columns are item, annotator and label by their names.

narwhals supports pandas, polars, pyarrow and others.
"""

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa

from manyhands.annotations.vocabulary import as_arrow
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import nearest_names

# What an item says. It names the item only if nothing else does.
TEXTS = (
    "text", "sentence", "document", "doc", "question", "comment", "prompt", "tweet", "post",
    "review", "message", "query", "passage", "utterance", "article", "content", "body", "title",
    "headline", "claim", "abstract", "snippet", "statement", "paragraph", "premise", "hypothesis",
    "context",
)  # fmt: skip
_THINGS = (
    "item", "task", "example", "unit", "sample", "instance", "image", "img", "picture", "photo",
    "object", "hit", "record", "conversation", "dialog", "dialogue", "url", "uri", "file",
    "filename", "path", "video", "clip", "audio", "song", "track", "movie", "product", "case",
    "pair", "paper", "doi", "pmid", "stimulus",
)  # fmt: skip
_PEOPLE = ("annotator", "worker", "rater", "coder", "labeler", "labeller", "judge", "performer")
_OTHER_PEOPLE = ("user", "reviewer", "expert", "participant", "person", "respondent")
WORDS = {
    "item": (*_THINGS, *TEXTS),
    "annotator": (*_PEOPLE, *_OTHER_PEOPLE),
    "label": (
        "label", "answer", "value", "class", "response", "annotation", "judgment", "judgement",
        "vote", "category", "rating", "score", "tag", "choice", "verdict", "sentiment", "emotion",
        "stance", "polarity", "decision",
    ),
    "truth": ("truth", "gold", "golden", "gt", "target"),
}  # fmt: skip
# A label with one of these words is what is right, not what somebody said.
_RIGHT = (
    *WORDS["truth"], "true", "correct", "expected", "actual", "reference", "consensus", "majority",
    "adjudicated", "aggregated", "final", "expert",
)  # fmt: skip
# An annotator's label is a label; an annotator's score, class or value is one of the annotator.
_SAID = ("label", "answer", "response", "annotation", "judgment", "judgement", "vote", "choice",
         "verdict", "decision")  # fmt: skip
# These are labels, or facts about an item or a label.
_VAGUE = ("value", "class", "category", "rating", "score", "tag", "annotation", "choice")
# What a score, value or label may be of that is no label of the item.
_ABOUT_LABELS = {
    "confidence", "certainty", "agreement", "trust", "age", "gender", "sex", "country", "language",
    "lang", "model", "predicted", "prediction", "pred", "mean", "average", "avg", "median", "n",
    "num", "count", "old", "previous",
}  # fmt: skip
# An id of something that is not labelled.
_NOT_ITEMS = {
    "batch", "session", "project", "group", "assignment", "row", "line", "job", "campaign", "split",
    "fold", "round", "account", "device", "organization", "team", "parent", "type", "rule",
    "location", "country", "version", "node", "submission",
    "author", "owner", "creator", "uploader", "publisher", "channel",
}  # fmt: skip
_PARTS = {"response", "answer", "output", "completion", "candidate", "generation", "summary"}
_HALVES = {*_PARTS, "reply", "model", "system", "translation"}
_IDS = {"id", "ids", "key", "idx", "index", "uid", "uuid", "guid", "hash"}
_FILLERS = {
    *_IDS, "name", "no", "nr", "number", "code", "email", "login", "handle", "initials", "alias",
    "pseudonym",
}  # fmt: skip
_TIMES = {
    "time", "timestamp", "date", "datetime", "created", "updated", "submitted", "duration", "lead",
    "seconds", "elapsed", "started", "finished", "completed", "ms", "utc",
}  # fmt: skip
# How well the name of a column fits a role.
EXACT, PHRASE, BARE_ID, OTHER_ID, TEXT, NONE = 6, 4, 3, 2, 1, 0


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


def is_candidate(column: str, role: str) -> bool:
    """Whether the name of a column fits a role."""
    return strength(column, role) not in (NONE, OTHER_ID)


def is_text(column: str) -> bool:
    """Whether the name of a column says that it holds the texts of items, not their ids."""
    return strength(column, "item") == TEXT


def is_time(column: str) -> bool:
    """Whether the name of a column says that it holds times."""
    return not _TIMES.isdisjoint(split_name(column))


def is_id(column: str) -> bool:
    """Whether the name of a column says that it holds ids."""
    words = split_name(column)
    return not _IDS.isdisjoint(words) or any(_joined_id(word) for word in words)


def is_part_id(column: str) -> bool:
    """Whether a column has the ids of what belongs to an item and may be labelled itself."""
    return is_id(column) and not _PARTS.isdisjoint(content_words(column))


def is_half(column: str) -> bool:
    """Whether a name tells what an item may be made of together with another column.

    >>> is_half("reply_id"), is_half("model"), is_half("batch_id")
    (True, True, False)
    """
    if is_id(column):
        return strength(column, "item") != NONE
    return not _HALVES.isdisjoint(content_words(column)[-1:])


def may_be_label(column: str) -> bool:
    """Whether nothing in an unknown name tells that a column holds something else than labels."""
    words = set(content_words(column))
    known = is_time(column) or is_id(column) or is_about(column) or is_text(column)
    right = strength(column, "truth") > NONE or not words.isdisjoint({*_RIGHT} - {"correct"})
    named = not all(word.isdigit() for word in words)
    return named and not (known or right) and words.isdisjoint(_NOT_ITEMS)


def is_vague_label(column: str) -> bool:
    """Whether the name of a column fits a label, but as well other facts about an item."""
    return bool(content := content_words(column)) and _is_one_of(_VAGUE, content[-1])


def is_about(column: str) -> bool:
    """Whether the name of a column tells of an annotator, or of how sure a label is."""
    people = set(WORDS["annotator"])
    return any(word in _ABOUT_LABELS or _is_one_of(people, word) for word in content_words(column))


def numbered_annotators(columns: Sequence[str]) -> list[str]:
    """The columns of a wide table that are called annotators with a number or a letter.

    Empty unless there are several, and no other column may be the annotator or have labels.

    >>> numbered_annotators(["id", "rater_1", "rater_2", "gold"])
    ['rater_1', 'rater_2']
    """
    people = set(WORDS["annotator"])
    found = [
        name
        for name in columns
        if (words := _numbered(name)) and all(_is_one_of(people, word) for word in words)
    ]
    rest = [name for name in columns if name not in found]
    labels = [name for name in rest if any(_is_one_of(WORDS["label"], w) for w in _numbered(name))]
    taken = any(is_candidate(name, role) for name in rest for role in ("annotator", "label"))
    return [] if len(found) < 2 or taken or labels else found


def _numbered(column: str) -> list[str]:
    """The words of a name before a number or one letter at its end: rater1, rater_1, Rater A."""
    words = re.findall(r"[a-z]+|[0-9]+", " ".join(split_name(column)))
    return words[:-1] if words and (words[-1].isdigit() or len(words[-1]) == 1) else []


def numbered_items(columns: Sequence[str]) -> list[str]:
    """Columns that are the item together: id1 and id2, or image_a and image_b; or none.

    >>> numbered_items(["id1", "id2", "annotator", "label"])
    ['id1', 'id2']
    """
    things = {*WORDS["item"], *_IDS}
    found = [
        name
        for name in columns
        if (words := _numbered(name)) and all(_is_one_of(things, word) for word in words)
    ]
    return found if len(found) > 1 else []


def content_words(column: str) -> list[str]:
    """The words of a name without those that only say that it is a name: id, number ..."""
    return [word for word in split_name(column) if word not in _FILLERS]


def _best(columns: Sequence[str], role: str) -> list[str]:
    strengths = [(strength(column, role), column) for column in columns]
    top = max((each for each, _ in strengths), default=NONE)
    return [column for each, column in strengths if each == top and each not in (NONE, OTHER_ID)]


def strength(column: str, role: str) -> int:
    """How well a name fits a role.

    `EXACT`: it is a known word; `PHRASE`: its last word is known; `BARE_ID`: it is just an id, or
    a word for people that may also have written the items; `OTHER_ID`: it is the id of something
    unknown; `TEXT`: it is the text of an item. A time has no role, and an id is never a label.

    >>> [strength(name, "label") for name in ("label", "toxicity_label", "label_id", "gold_label")]
    [6, 4, 0, 0]
    """
    content = content_words(column)
    if is_time(column) or (role in ("label", "truth") and is_id(column)):
        return NONE
    if not content:
        return BARE_ID if role == "item" and is_id(column) else NONE
    return {"item": _item_strength, "annotator": _annotator_strength}.get(
        role, functools.partial(_label_strength, role=role)
    )(column, content)


def _item_strength(column: str, content: list[str]) -> int:
    others = {*WORDS["annotator"], *WORDS["label"], *_RIGHT}
    if any(_is_one_of(others, word) for word in content):
        return OTHER_ID if is_part_id(column) else NONE
    if not _is_one_of(WORDS["item"], content[-1]):
        return OTHER_ID if is_id(column) and _NOT_ITEMS.isdisjoint(content) else NONE
    if not is_id(column) and _is_one_of(TEXTS, content[-1]):
        return TEXT
    return EXACT if all(_is_one_of(WORDS["item"], word) for word in content) else PHRASE


def _annotator_strength(column: str, content: list[str]) -> int:
    first, last = content[:-1], content[-1]
    others = {*_THINGS, *TEXTS, *_RIGHT} - {"task", "hit", "unit", "expert"}
    if any(_is_one_of(others, word) for word in first):
        return NONE  # who wrote the item
    if _is_one_of(_PEOPLE, last) or (last == "model" and _is_one_of(_PEOPLE, content[0])):
        return EXACT if not first or last == "model" else PHRASE
    return BARE_ID if _is_one_of(_OTHER_PEOPLE, last) else NONE


def _label_strength(column: str, content: list[str], role: str) -> int:
    first, last = content[:-1], content[-1]
    said, right = (
        _is_one_of(WORDS["label"], last), any(_is_one_of(_RIGHT, word) for word in content)
    )  # fmt: skip
    if role == "truth":
        found = any(_is_one_of(WORDS["truth"], word) for word in content) or (right and said)
        return (EXACT if len(content) == 1 else PHRASE) if found else NONE
    if right or not said or not _ABOUT_LABELS.isdisjoint(first):
        return NONE
    people = any(_is_one_of(WORDS["annotator"], word) for word in first)
    if people and not _is_one_of(_SAID, last):
        return NONE
    return EXACT if all(_is_one_of(WORDS["label"], word) for word in content) else PHRASE


def _joined_id(word: str) -> bool:
    """Whether a word ends in an id without a space: "workerid"."""
    return len(word) > 4 and word.endswith(("id", "ids", "uuid")) and word[-3:] != "oid"


def _is_one_of(known: Collection[str], word: str) -> bool:
    """Whether a word is known: as it is, in plural, or joined with a filler ("workerid")."""
    forms = {word} | {word.removesuffix(ending) for ending in ("s", "es", *_FILLERS)}
    return not forms.isdisjoint(known)


def split_name(column: str) -> list[str]:
    """The words of the name of a column in lower case.

    >>> split_name("HITTypeId"), split_name("Answer.label_2")
    (['hit', 'type', 'id'], ['answer', 'label', '2'])
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", str(column))
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


def arrow_columns(table: "nw.DataFrame[Any]") -> Callable[[Sequence[str]], dict[str, Any]]:
    """What selects some columns of a frame by their names, as arrow arrays."""
    return lambda names: {name: _to_arrow(table.get_column(name)) for name in names}


def _to_arrow(column: "nw.Series[Any]") -> Any:
    """A column as an arrow array; cells of several types are names, written as text."""
    try:
        return column.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return as_arrow(column.to_list())


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
