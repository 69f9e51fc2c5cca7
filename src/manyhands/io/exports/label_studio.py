"""Label Studio's JSON export: tasks with the annotations of every annotator."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from manyhands.annotations.out_of_scope import refusal, tool_for
from manyhands.core.errors import DataError, SettingName
from manyhands.io.exports.exported import (
    ExportedLabels,
    LabelRows,
    Record,
    Records,
    field_of,
    is_records,
    no_id,
    pick,
    refuse_spans,
)
from manyhands.io.exports.span_documents import (
    GROUND_TRUTH,
    MarkedDocument,
    MarkedSpan,
    text_field,
)

NAME = "label-studio"
REMEDY = "export again as JSON, which has completed_by"
PATH = " / "  # between the levels of a taxonomy
TEXT_SPANS = ("labels", "hypertextlabels")
_REGION = {"start", "end", "x", "y", "points", "startOffset"}


def _path(levels: Any) -> Any:
    return PATH.join(str(level) for level in levels) if isinstance(levels, list) else levels


# How every type of control keeps what was chosen; the result is a label or a list of labels.
VALUES: dict[str, Callable[[Record], Any]] = {
    "choices": lambda value: value.get("choices"),
    "rating": lambda value: value.get("rating"),
    "number": lambda value: value.get("number"),
    "taxonomy": lambda value: [_path(each) for each in value.get("taxonomy") or []],
    "pairwise": lambda value: value.get("selected"),
}


def matches(content: Any) -> bool:
    """Whether this is a list of Label Studio's tasks."""
    tasks = [content] if isinstance(content, Mapping) else content
    if not is_records(tasks):
        return False
    return all(isinstance(task.get("data"), Mapping) for task in tasks[:20]) and any(
        isinstance(task.get(key), list)
        for task in tasks[:20]
        for key in ("annotations", "completions", "predictions")
    )


def read(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of a JSON export.

    Cancelled annotations, drafts and predictions are skipped and counted. Annotations that are
    marked as ground truth become known truths.

    Parameters
    ----------
    content : list of dict
        The parsed file.
    item : str
        Field of a task or of its data that names the item; by default the id of the task.
    annotator : str
        Field of an annotation or of its `completed_by` that names the annotator; by default the
        email, or the id.
    label : str
        Name of the control (`from_name`), if there are several.
    """
    tasks: Records = [content] if isinstance(content, Mapping) else content
    if not any(annotations_of(task) for task in tasks):
        n_predictions = sum(len(task.get("predictions") or []) for task in tasks)
        raise DataError(
            f"the tasks have no annotations, and {n_predictions} predictions; export tasks that "
            "annotators have labelled"
        )
    control = _control(tasks, label)
    answer = f"{control['from_name']!r} ({control['type']})"
    places = places_of(tasks, control["from_name"])
    rows = LabelRows(NAME, annotator or places[1], REMEDY, item or places[0], answer)
    for number, task in enumerate(tasks):
        name = _item(task, item, number)
        rows.data[name] = dict(task.get("data") or {})
        rows.own[name] = own_of(task)
        rows.skipped["draft"] += len(task.get("drafts") or [])
        rows.skipped["prediction"] += len(task.get("predictions") or [])
        for annotation in annotations_of(task):
            if is_cancelled(annotation):
                rows.skipped["cancelled"] += 1
                continue
            said = _said(annotation, control["from_name"], control["type"])
            rows.skipped["span of text"] += sum(map(_is_text_span, results_of(annotation)))
            if annotation.get("ground_truth") is True:
                rows.add_known(name, said)
                continue
            rows.add(
                name, annotator_of(annotation, annotator), said,
                annotation_id=annotation.get("id"), lead_time=annotation.get("lead_time"),
                created_at=annotation.get("created_at"),
            )  # fmt: skip
    return rows.finish(**control)


def own_of(task: Record) -> dict[str, Any]:
    """The id of a task, which may be 0, and what else is kept beside its data."""
    return {key: task[key] for key in ("id", "meta") if task.get(key) not in (None, {}, "")}


def annotations_of(task: Record) -> list[Record]:
    """The annotations of a task; old versions call them completions."""
    return list(task.get("annotations") or task.get("completions") or [])


def is_cancelled(annotation: Record) -> bool:
    """Whether the annotator skipped the task."""
    return bool(annotation.get("was_cancelled") or annotation.get("skipped"))


def results_of(annotation: Record) -> Iterator[Record]:
    """What the annotator said, one result per control or region."""
    for result in annotation.get("result") or []:
        if result.get("from_name") is not None:  # relations between regions have no control
            yield result


def _controls(tasks: Records) -> dict[str, Record]:
    """The first result of every control that was used."""
    found: dict[str, Record] = {}
    for task in tasks:
        for annotation in annotations_of(task):
            for result in () if is_cancelled(annotation) else results_of(annotation):
                found.setdefault(str(result["from_name"]), result)
    return found


def _is_region(result: Record) -> bool:
    """Whether a result is about a part of an item."""
    return bool(_REGION & set(result.get("value") or {}))


def _is_text_span(result: Record) -> bool:
    """Whether a result marks characters; the same type marks seconds of sounds."""
    value = result.get("value") or {}
    places = value.get("globalOffsets") or value
    return (
        result.get("type") in TEXT_SPANS
        and "channel" not in value
        and all(isinstance(places.get(name), int) for name in ("start", "end"))
    )


def places_of(content: Any, label: str) -> tuple[str, str]:
    """Where items and annotators stand."""
    return "task id", "completed_by"


def span_answers(content: Any) -> dict[str, bool]:
    """The controls that label whole items or mark spans of texts, and whether they do that."""
    tasks: Records = [content] if isinstance(content, Mapping) else content
    return {
        name: _is_text_span(result)
        for name, result in _controls(tasks).items()
        if _is_text_span(result) or (result.get("type") in VALUES and not _is_region(result))
    }


def documents(
    content: Any, label: str, item: str | None, annotator: str | None
) -> Iterator[MarkedDocument]:
    """What every annotator marked with a control; cancelled annotations do not count."""
    tasks: Records = [content] if isinstance(content, Mapping) else content
    marked = [
        [(annotation, _spans(annotation, label)) for annotation in annotations_of(task)]
        for task in tasks
    ]
    in_tasks = [[span for _, spans in each for span in spans] for each in marked]
    field = text_field(zip((task["data"] for task in tasks), in_tasks, strict=True))
    for number, (task, said) in enumerate(zip(tasks, marked, strict=True)):
        name, text = _item(task, item, number), task["data"].get(field)
        for reason in ("prediction", "draft"):
            for _ in task.get(f"{reason}s") or []:
                yield MarkedDocument(name, text, None, None, reason)
        for annotation, spans in said:
            is_truth = annotation.get("ground_truth") is True
            who = GROUND_TRUTH if is_truth else annotator_of(annotation, annotator)
            cancelled = is_cancelled(annotation)
            n_relations = sum(
                each.get("type") == "relation" for each in annotation.get("result") or []
            )
            yield MarkedDocument(
                name, text, who, None if cancelled else spans, "cancelled",
                n_relations=0 if cancelled else n_relations, is_truth=is_truth,
            )  # fmt: skip


def _spans(annotation: Record, control: str) -> list[MarkedSpan]:
    found = []
    for result in results_of(annotation):
        if result["from_name"] != control or is_cancelled(annotation):
            continue
        value = result["value"]
        places = value.get("globalOffsets") or value
        labels = value.get(str(result["type"])) or []
        found.append(MarkedSpan(places["start"], places["end"], _only(labels), value.get("text")))
    return found


def _only(labels: list[Any]) -> Any:
    return labels[0] if len(labels) == 1 else labels or None


def _control(tasks: Records, given: str | None) -> dict[str, str]:
    """The control that holds the label: its name, what it is about, and its type."""
    found = _controls(tasks)
    types = {name: str(result.get("type")) for name, result in found.items()}
    whole = {
        name: kind
        for name, kind in types.items()
        if kind in VALUES and (name == given or not _is_region(found[name]))
    }
    marks = [name for name, kind in types.items() if kind.endswith("labels")]
    # Regions beside choices may be the labels too: say so, do not choose. Spans are another task.
    regions = {name: types[name] for name in marks if not _is_text_span(found[name])}
    inner = {name: kind for name, kind in types.items() if kind in VALUES and name not in whole}
    name = given if given in marks else None if whole or not marks else marks[0]
    if name is not None:
        if _is_text_span(found[name]):
            raise refuse_spans(f"the control {name!r}")
        raise DataError(
            f"the control {name!r} marks regions ({types[name]}), which are not read, because "
            "labels of whole items are of type " + ", ".join(VALUES) + "; " + tool_for("parts")
        )
    if not (whole or regions or inner) and "textarea" in types.values():
        raise refusal("texts")
    name = pick("control", whole if given is not None else whole | regions or inner, given)
    result = found[name]
    if _is_region(result):
        raise DataError(
            f"the control {name!r} labels regions within items, which are not read; a control that "
            "labels whole items can be named with ", SettingName("label", ...),
        )  # fmt: skip
    return {"from_name": name, "to_name": result.get("to_name") or "", "type": types[name]}


def _said(annotation: Record, control: str, kind: str) -> list[Any]:
    said: list[Any] = []
    for result in results_of(annotation):
        if result["from_name"] == control:
            value = VALUES[kind](result.get("value") or {})
            said += value if isinstance(value, list) else [value]
    return said


def _item(task: Record, field: str | None, number: int) -> Any:
    if field is not None:
        return field_of(task, field, "data", "meta")
    if task.get("id") is None:
        raise no_id(f"task {number}", task.get("data") or {})
    return task["id"]


def annotator_of(annotation: Record, field: str | None) -> Any:
    """The annotator: the named field, or the email or id in `completed_by`."""
    if field is not None:
        return field_of(annotation, field, "completed_by")
    who = annotation.get("completed_by")
    if isinstance(who, Mapping):
        return who.get("email") or who.get("id")
    return who
