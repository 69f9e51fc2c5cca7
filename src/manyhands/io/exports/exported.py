"""The labels of an annotation tool's export, in one form for all tools."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from manyhands.annotations.labels import is_blank
from manyhands.core.errors import DataError, ManyhandsError, SettingName, first_line
from manyhands.core.settings import nearest_names

Record = Mapping[str, Any]
Records = Sequence[Record]

SEVERAL = "several labels at once"
NO_ANNOTATOR = "no annotator"
NO_LABEL = "no label"
FILE_NAME = "file name"  # stands for a field: the name of the file that a record is from
_SESSION = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")
# The tools in plain words, for notes.
TITLES = {
    "label-studio": "Label Studio", "label-studio-table": "Label Studio", "prodigy": "Prodigy",
    "argilla": "Argilla", "mturk": "Mechanical Turk", "lewidi": "LeWiDi", "doccano": "doccano",
    "list-columns": "records with lists",
}  # fmt: skip
MAX_LEFT_OUT = 0.1  # a larger share without an annotator, or with several labels, is no accident


class Fields(NamedTuple):
    """What was taken for item, annotator and label, in words."""

    item: str = ""
    annotator: str = ""
    label: str = ""


@dataclass(frozen=True)
class ExportedLabels:
    """Labels as a tool exported them: one row per label, in the order of the export.

    Parameters
    ----------
    tool : str
        Name of the format in `EXPORTS`.
    item, annotator, label : list
        One entry per label. Names and labels keep the type that they have in the export.
    extras : dict
        Further columns, one entry per label: ids of annotations, times.
    data : dict
        What the export holds of every item, items without labels included.
    own : dict
        What the tool keeps of an item beside its data: its id in the tool, metadata.
    known : dict
        Truths that the export marks as such, by item.
    skipped : dict
        How many entries are not among the labels, by reason.
    question : dict
        Where the tool keeps the label; the functions that write for the tool take it.
    fields : Fields
        What was taken for item, annotator and label, in words.
    notes : tuple of str
        What else to know.
    """

    tool: str
    item: list[Any]
    annotator: list[Any]
    label: list[Any]
    extras: dict[str, list[Any]] = field(default_factory=dict)
    data: dict[Any, dict[str, Any]] = field(default_factory=dict)
    own: dict[Any, dict[str, Any]] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    question: dict[str, Any] = field(default_factory=dict)
    fields: Fields = field(default_factory=Fields)
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """What was read and what was skipped, in one line.

        >>> labels = ExportedLabels("prodigy", [1, 1], ["ann", "bob"], ["a", "b"])
        >>> labels.summary()
        'Prodigy: 2 labels of 1 items by 2 annotators'
        """
        n_items, n_annotators = len(set(self.item)), len(set(self.annotator))
        parts = [f"{len(self.label)} labels of {n_items} items by {n_annotators} annotators"]
        if self.known:
            parts.append(f"{len(self.known)} known truths (ground truth), used for the consensus")
        if self.skipped:
            parts.append("skipped: " + counted(self.skipped))
        remarks = [*self.notes, *remarks_on(self.annotator)]
        return f"{TITLES.get(self.tool, self.tool)}: " + "; ".join([*parts, *remarks])

    @property
    def texts(self) -> dict[Any, str]:
        """The text of every item that has one: the field `text`, or the only field of words."""
        found = {item: _text(fields) for item, fields in self.data.items()}
        return {item: text for item, text in found.items() if text is not None}


class LabelRows:
    """Collects the labels of one export, and counts what is left out."""

    def __init__(
        self, tool: str, annotator_field: str, remedy: str, item_field: str, label_field: str
    ) -> None:
        """The fields are where the tool keeps them; `remedy` is how to export annotators."""
        self.tool, self.annotator_field, self.remedy = tool, annotator_field, remedy
        self.fields = Fields(item_field, annotator_field, label_field)
        self.notes: list[str] = []
        self.skipped: Counter[str] = Counter()
        self.data: dict[Any, dict[str, Any]] = {}
        self.own: dict[Any, dict[str, Any]] = {}
        self.known: dict[Any, Any] = {}
        self._rows: list[tuple[Any, Any, Any]] = []
        self._extras: list[dict[str, Any]] = []
        self._first: dict[str, Any] = {}
        self._disputed: set[Any] = set()

    def add(self, item: Any, annotator: Any, label: Any, **extras: Any) -> None:
        """Add one label; a list of labels must have one entry, the others are counted."""
        labels = [each for each in _as_list(label) if not is_blank(each)]
        if is_blank(item):
            raise DataError(
                "an entry has no item; name the field of items with ", SettingName("item", ...)
            )
        if isinstance(annotator, dict | list):
            raise DataError(
                f"item {item!r}: the annotator {str(annotator)[:60]} is no name; name the field of "
                "annotators with ", SettingName("annotator", ...),
            )  # fmt: skip
        if is_blank(annotator) or annotator == "None":  # Argilla writes None as text
            self._leave_out(NO_ANNOTATOR, item)
        elif not labels:
            self.skipped[NO_LABEL] += 1
        elif len(labels) > 1:
            self._leave_out(SEVERAL, item)
        else:
            self._rows.append((item, annotator, self._plain(item, labels[0])))
            self._extras.append(extras)

    def add_known(self, item: Any, label: Any) -> None:
        """Add a truth; truths of one item that differ are dropped and counted."""
        labels = [each for each in _as_list(label) if not is_blank(each)]
        if len(labels) != 1:
            self.skipped["truth with no or several labels"] += 1
        elif self.known.setdefault(item, self._plain(item, labels[0])) != labels[0]:
            self._disputed.add(item)

    def finish(self, **question: Any) -> ExportedLabels:
        """All labels; an error if none is left, or if too many had to be left out."""
        self._check(NO_ANNOTATOR, f"has no annotator ({self.annotator_field}); {self.remedy}")
        self._check(
            SEVERAL,
            "has several labels of one annotator; one label per item and annotator is read: keep "
            "one class as a table with columns item, annotator, label that says yes or no",
        )
        for item in self._disputed:
            del self.known[item]
            self.skipped["truths that differ"] += 1
        if not self._rows:
            counts = counted({**self.skipped, "known truths": len(self.known)})
            why = f"; what it has: {counts}" if counts else ""
            if self.known or self._disputed:
                why += (
                    "; what is marked as ground truth is no label: remove the mark from the "
                    "annotations of annotators, and export again"
                )
            raise DataError(f"the export has no label of an annotator{why}")
        labelled = {item for item, _, _ in self._rows}
        for item in [item for item in self.known if item not in labelled]:
            del self.known[item]
            self.skipped["truth of an item that nobody labelled"] += 1
        names = {name: None for extras in self._extras for name in extras}
        extras = {name: [each.get(name) for each in self._extras] for name in names}
        return ExportedLabels(
            self.tool,
            item=[item for item, _, _ in self._rows],
            annotator=[annotator for _, annotator, _ in self._rows],
            label=[label for _, _, label in self._rows],
            extras={k: v for k, v in extras.items() if any(each is not None for each in v)},
            data=self.data,
            own=self.own,
            known=self.known,
            skipped={reason: n for reason, n in self.skipped.items() if n},
            question=question,
            fields=self.fields,
            notes=tuple(self.notes),
        )

    def _leave_out(self, reason: str, item: Any) -> None:
        self.skipped[reason] += 1
        self._first.setdefault(reason, item)

    def _check(self, reason: str, text: str) -> None:
        n = self.skipped[reason]
        if n > MAX_LEFT_OUT * (n + len(self._rows)):
            raise DataError(f"item {self._first[reason]!r} {text} ({n} such entries)")

    def _plain(self, item: Any, label: Any) -> Any:
        if isinstance(label, dict | list):
            raise DataError(
                f"item {item!r}: the label {str(label)[:60]} is neither a class nor a number; name "
                "another one with ", SettingName("label", ...),
            )  # fmt: skip
        return label


def pick(noun: str, found: Mapping[str, str], given: str | None, role: str = "label") -> str:
    """The given name, or the only one; `found` maps names to what they hold.

    >>> pick("control", {"mood": "choices"}, None)
    'mood'
    """
    if given is not None:
        if given in found:
            return given
        near = nearest_names(given, found)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise DataError(f"no {noun} {given!r}; {hint}the export has {_listed(found)}")
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise DataError(f"the export has no {noun} with labels of items")
    raise DataError(
        f"several {noun}s may be the {role}: {_listed(found)}; name one with ",
        SettingName(role, next(iter(found))),
    )  # fmt: skip


@contextmanager
def well_formed(tool: str) -> Iterator[None]:
    """Within it, an entry that does not have the form of the tool's entries is a `DataError`."""
    try:
        yield
    except ManyhandsError:
        raise
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise DataError(
            f"an entry does not have the form that {tool} gives it "
            f"({type(error).__name__}: {first_line(error)})"
        ) from error


class SpansError(DataError):
    """The export has spans of texts, which are labels of tokens; `read_marked_spans` reads them."""


def refuse_spans(where: str) -> SpansError:
    """The error for an export of marked spans where labels of items are read."""
    return SpansError(
        f"{where} marks spans of text, which are not labels of items but ",
        SettingName("task", "tagging"),
    )


def field_of(record: Record, name: str, *inner: str) -> Any:
    """A field of a record, or of a dictionary within it; a missing one raises a `DataError`."""
    places = [record, *(record.get(each) for each in inner)]
    for place in places:
        if isinstance(place, Mapping) and name in place:
            return place[name]
    known = {str(key): None for place in places if isinstance(place, Mapping) for key in place}
    near = nearest_names(name, known)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise DataError(f"a record has no field {name!r}; {hint}fields: {', '.join(known)}")


def no_id(what: str, fields: Record) -> DataError:
    """The error for a record without an id, with a field that may stand for it."""
    words = [name for name, value in fields.items() if isinstance(value, str) and value]
    name = "text" if "text" in words else words[0] if words else ...
    return DataError(
        f"{what} has no id; name a field that tells the items apart with ",
        SettingName("item", name),
    )


def is_records(content: Any, n: int = 20) -> bool:
    """Whether the content is a list of dictionaries with names; the first n are looked at."""
    return (
        isinstance(content, Sequence)
        and not isinstance(content, str | bytes)
        and len(content) > 0
        and all(
            isinstance(record, Mapping) and all(isinstance(name, str) for name in record)
            for record in content[:n]
        )
    )


def names_of(records: Iterable[Record]) -> dict[str, None]:
    """The fields of all records, in order."""
    return {name: None for record in records for name in record}


def remarks_on(annotators: Iterable[Any]) -> list[str]:
    """What to know of the annotators: Prodigy names a session that has no name by its start.

    >>> remarks_on(["2024-02-06_10-17-19"])
    ['annotators are sessions without a name, and one person may have several']
    """
    if all(_SESSION.fullmatch(str(each)) for each in annotators):
        return ["annotators are sessions without a name, and one person may have several"]
    return []


def counted(counts: Mapping[str, int]) -> str:
    """Reasons with their numbers, those without any left out."""
    return ", ".join(f"{reason} ({n})" for reason, n in counts.items() if n)


def _as_list(label: Any) -> list[Any]:
    return list(label) if isinstance(label, list | tuple) else [label]


def _text(fields: Mapping[str, Any]) -> str | None:
    if isinstance(fields.get("text"), str):
        return str(fields["text"])
    words = [each for each in fields.values() if isinstance(each, str)]
    return words[0] if len(words) == 1 else None


def _listed(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({what})" if what else name for name, what in found.items())
