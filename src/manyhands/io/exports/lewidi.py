"""The JSON files of the shared tasks on learning with disagreements (LeWiDi), 2023 and 2025."""

from collections.abc import Iterator, Mapping
from typing import Any

from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.io.exports.exported import ExportedLabels, LabelRows, Record, field_of, pick

NAME = "lewidi"
MAIN = "annotations"
_OTHERS = ("other annotations", "other_annotations")
REMEDY = "every item needs the field annotators"


def matches(content: Any) -> bool:
    """Whether this is {item: {"annotators": ..., "annotations": ...}}."""
    if not isinstance(content, Mapping) or not content:
        return False
    first = [entry for _, entry in zip(range(20), content.values(), strict=False)]
    return all(isinstance(each, Mapping) and {"annotators", MAIN} <= set(each) for each in first)


def read(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of a LeWiDi file.

    The hard and soft labels of the files are made from the labels of the annotators, so they are
    not taken for truths. Items without annotations, as in test sets, are counted.

    Parameters
    ----------
    content : dict
        The parsed file.
    item : str
        Field of an entry, or of its `other_info`, that names the item; by default its key.
    annotator : str
        Not for this format, which has annotators in one place only.
    label : str
        One of the other questions, in "other annotations".
    """
    if annotator is not None:
        raise SettingError(SettingName("annotator"), " is not for LeWiDi files; leave it out")
    others = {
        name: ""
        for entry in content.values()
        for name in _other_annotations(entry)
    }  # fmt: skip
    question = pick("question", {MAIN: ""} | others, label or MAIN)
    rows = LabelRows(NAME, "annotators", REMEDY, item or "key", f"{question!r}")
    for key, entry in content.items():
        name = key if item is None else field_of(entry, item, "other_info")
        text = entry.get("text")
        rows.data[name] = dict(text) if isinstance(text, Mapping) else {"text": text}
        said = entry[MAIN] if question == MAIN else _other_annotations(entry).get(question)
        if not said:
            rows.skipped["no annotations"] += 1
            continue
        for who, each in _pairs(name, entry["annotators"], said):
            rows.add(name, who, each)
    return rows.finish(question=question)


def _other_annotations(entry: Record) -> Record:
    other = entry.get("other_info")
    found = [other.get(name) for name in _OTHERS] if isinstance(other, Mapping) else []
    return next((each for each in found if isinstance(each, Mapping)), {})


def _pairs(item: Any, annotators: Any, said: Any) -> Iterator[tuple[Any, Any]]:
    """Annotators and their labels: {annotator: label} since 2025, two parallel lists before."""
    if isinstance(said, Mapping):
        for who, label in said.items():
            yield who, _split(label) if isinstance(label, str) else label
        return
    who, labels = _split(annotators), _split(said)
    if len(who) != len(labels):
        raise DataError(
            f"item {item!r} has {len(who)} annotators and {len(labels)} annotations; correct it"
        )
    yield from zip(who, labels, strict=True)


def _split(value: Any) -> list[Any]:
    return [each.strip() for each in value.split(",")] if isinstance(value, str) else list(value)
