"""Argilla's records: the responses of every user to the questions of a dataset.

Records are nested (`responses` by question, as `to_list` and `to_json` of version 2 give them; or a
list of responses, version 1) or flat (`to_list(flatten=True)`, Hugging Face datasets).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
from manyhands.io.exports.span_documents import MarkedDocument, MarkedSpan, text_field
from manyhands.io.json_text import parse_cell

NAME = "argilla"
REMEDY = "export records together with their responses"
_FLAT = ".responses"
_OLD = "annotation"  # the only question of datasets before version 1.8
_OLD_STATUS = {"validated": "submitted", "default": "submitted", "edited": "draft"}
_IDS = ("id", "external_id", "_server_id")
_NO_QUESTION = ""  # of a response without any value


class _Response(NamedTuple):
    question: str
    value: Any
    fields: Record  # of the response: user_id, status


def matches(content: Any) -> bool:
    """Whether these are records of Argilla with responses."""
    records = records_of(content)
    if not is_records(records):
        return False
    shaped = (_is_nested(record) or _is_flat(record) or _is_old(record) for record in records[:20])
    marks = {"_server_id", "suggestions", "external_id", "annotation_agent"}
    return any(shaped) and (
        bool(marks & set(records[0]))
        or any(True for each in records[:200] for _ in _responses(each))
    )


def records_of(content: Any) -> Records:
    """The records of a list, of {"items": list}, of {id: record} and of {field: list}.

    The last two are what `to_dict` of version 2 gives.
    """
    if not isinstance(content, Mapping):
        return content if isinstance(content, Sequence) else []
    values = list(content.values())
    if isinstance(content.get("items"), list):
        return list(content["items"])
    if values and all(isinstance(value, Mapping) and "fields" in value for value in values):
        return values
    listed = _listed(content)
    return listed if isinstance(listed, list) else []


def read(
    content: Any, *, item: str | None = None, annotator: str | None = None, label: str | None = None
) -> ExportedLabels:
    """The labels of exported records.

    Responses that were discarded or are drafts are skipped and counted, as are suggestions.

    Parameters
    ----------
    content : list of dict
        The records.
    item : str
        Field of a record, of its `fields` or of its `metadata` that names the item; by default
        the id of the record.
    annotator : str
        Field of a response that names the annotator; by default `user_id`.
    label : str
        Name of the question, if there are several.
    """
    records = records_of(content)
    responses = [list(_responses(record)) for record in records]
    asked = {each.question: "" for said in responses for each in said if each.value is not None}
    question = pick("question", asked, label)
    who = annotator or "user_id"
    places = places_of(records, question)
    rows = LabelRows(NAME, annotator or places[1], REMEDY, item or places[0], f"{question!r}")
    fields, own = fields_of(records), [own_of(record) for record in records]
    for number, (record, said) in enumerate(zip(records, responses, strict=True)):
        name = _item(record, item, number, fields[number])
        rows.data[name], rows.own[name] = fields[number], own[number]
        rows.skipped["suggestion"] += _n_suggestions(record, question)
        for each in said:
            if each.question not in (question, _NO_QUESTION):
                continue
            status = _status(each)
            if status != "submitted":
                rows.skipped[status] += 1
                continue
            rows.add(name, field_of(each.fields, who), _value(each.value, question))
    return rows.finish(question=question)


def places_of(content: Any, label: str) -> tuple[str, str]:
    """Where items and annotators stand."""
    old = any(map(_is_old, records_of(content)))
    return "record id", "annotation_agent" if old else "user_id"


def span_answers(content: Any) -> dict[str, bool]:
    """The questions that were answered, and whether the answers are spans."""
    found: dict[str, bool] = {}
    for record in records_of(content):
        for each in _responses(record):
            if each.value is not None:
                found[each.question] = found.get(each.question, False) or _are_spans(each.value)
    return found


def documents(
    content: Any, label: str, item: str | None, annotator: str | None
) -> Iterator[MarkedDocument]:
    """What every annotator marked for a question; drafts and discarded responses do not count."""
    records, wanted = records_of(content), (label, _NO_QUESTION)
    responses = [
        [each for each in _responses(record) if each.question in wanted] for record in records
    ]
    fields = fields_of(records)
    said = [[s for r in row if r.value for s in _spans(r.value)] for row in responses]
    column = text_field(zip(fields, said, strict=True))
    for number, record in enumerate(records):
        name = _item(record, item, number, fields[number])
        text = fields[number].get(column) if column else None
        for each in responses[number]:
            who = field_of(each.fields, annotator or "user_id")
            status = _status(each)
            if status != "submitted" or each.value is None:
                reason = status if status != "submitted" else "no label"
                yield MarkedDocument(name, text, who, None, reason)
            else:
                yield MarkedDocument(name, text, who, _spans(each.value))


def _are_spans(value: Any) -> bool:
    value = _listed(value)
    entries = value if isinstance(value, list) else [value]
    return any(isinstance(each, Mapping) and "start" in each for each in entries)


def _spans(value: Any) -> list[MarkedSpan]:
    return [
        MarkedSpan(each["start"], each["end"], each["label"], each.get("text"))
        for each in _listed(value)
    ]


def _status(response: _Response) -> str:
    """The status of a response; some versions write the name of its type before it."""
    return str(response.fields.get("status") or "submitted").rsplit(".", 1)[-1].lower()


def _is_nested(record: Record) -> bool:
    return "fields" in record and isinstance(record.get("responses"), Mapping | list)


def _is_flat(record: Record) -> bool:
    return any(
        (name.endswith(_FLAT) and f"{name}.users" in record)
        or (f"{name}-suggestion" in record and isinstance(value, list))
        or ({"external_id", f"{name}-suggestion"} & set(record) and _are_responses(value))
        for name, value in record.items()
    )


def _is_old(record: Record) -> bool:
    return {_OLD, "annotation_agent", "status"} <= set(record)


def _are_responses(value: Any) -> bool:
    entries = _listed(value)
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(isinstance(each, Mapping) and {"value", "user_id"} <= set(each) for each in entries)
    )


def _listed(value: Any) -> Any:
    """A list of dictionaries; Hugging Face datasets make one dictionary of lists of it."""
    if not isinstance(value, Mapping) or not value:
        return value
    columns = list(value.values())
    if not all(isinstance(each, list) and len(each) == len(columns[0]) for each in columns):
        return value
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]


def _responses(record: Record) -> Iterator[_Response]:
    nested = record.get("responses")
    if _is_old(record):
        status = str(record["status"]).lower()
        fields = {"user_id": record["annotation_agent"]}
        fields["status"] = _OLD_STATUS.get(status, status)
        if record[_OLD] is not None or fields["status"] != "submitted":
            yield _Response(_OLD, _old_value(record[_OLD]), fields)
    elif isinstance(nested, Mapping):
        for question, responses in nested.items():
            for each in responses or []:
                yield _Response(question, each.get("value"), each)
    elif isinstance(nested, list):
        for response in nested:
            if not response.get("values"):
                yield _Response(_NO_QUESTION, None, response)
            for question, value in (response.get("values") or {}).items():
                inner = value.get("value") if isinstance(value, Mapping) else value
                yield _Response(question, inner, response)
    else:
        yield from _flat_responses(record)


def _old_value(value: Any) -> Any:
    """An annotation of an old dataset: spans are (label, start, end) in some of its forms."""
    is_spans = isinstance(value, list | tuple) and all(
        isinstance(each, list | tuple) and len(each) == 3 for each in value
    )
    if not value or not is_spans:
        return value
    return [{"label": label, "start": start, "end": end} for label, start, end in value]


def _flat_responses(record: Record) -> Iterator[_Response]:
    for name, values in record.items():
        if _are_responses(values):
            for each in _listed(values):
                yield _Response(name, each["value"], each)
        elif name.endswith(_FLAT) and values:
            users = record.get(f"{name}.users") or [None] * len(values)
            states = record.get(f"{name}.status") or [None] * len(values)
            for value, user, status in zip(values, users, states, strict=True):
                fields = {"user_id": user, "status": status}
                yield _Response(name.removesuffix(_FLAT), value, fields)


def _value(value: Any, question: str) -> Any:
    entries = value if isinstance(value, list) else [value]
    if _are_spans(value):
        raise refuse_spans(f"the question {question!r}")
    if any(isinstance(each, Mapping) and "rank" in each for each in entries):
        raise DataError(
            f"the question {question!r} ranks its answers; a question with one label can be named "
            "with ", SettingName("label", ...),
        )  # fmt: skip
    return value


def _item(record: Record, field: str | None, number: int, fields: Record) -> Any:
    if field is not None:
        return field_of(record, field, "fields", "metadata")
    for name in _IDS:
        if record.get(name) is not None:
            return record[name]
    raise no_id(f"record {number}", fields)


def own_of(record: Record) -> dict[str, Any]:
    """The id that `Record.from_dict` takes, and the metadata; some exports have it as JSON."""
    ids = [record[name] for name in ("id", "external_id") if record.get(name) is not None]
    found = {"id": ids[0]} if ids else {"_server_id": record.get("_server_id")}
    metadata = record.get("metadata")
    if isinstance(metadata, str):
        metadata = parse_cell(metadata)
    found |= {"metadata": metadata if isinstance(metadata, Mapping) else None}
    return {key: value for key, value in found.items() if value not in (None, {})}


def fields_of(records: Records) -> list[dict[str, Any]]:
    """The fields of every record: in a flat one what is no id, response or suggestion."""
    answers = {name for record in records for name in record if _are_responses(record[name])}
    for number, record in enumerate(records):
        for name in answers & set(record):
            if record[name] and isinstance(_listed(record[name]), Mapping):
                raise DataError(
                    f"record {number}: the lists of {name!r} differ in length; correct it"
                )
    return [dict(record.get("fields") or _flat_fields(record, answers)) for record in records]


def _flat_fields(record: Record, answers: set[str]) -> dict[str, Any]:
    if _is_old(record):
        inputs = record.get("inputs")
        return dict(inputs) if isinstance(inputs, Mapping) else {"text": record.get("text")}
    return {
        name: value
        for name, value in record.items()
        if name not in {*_IDS, "status", "metadata", "vectors"} | answers
        and not any(part in name for part in (_FLAT, ".suggestion", "-suggestion"))
    }


def _n_suggestions(record: Record, question: str) -> int:
    nested = record.get("suggestions")
    if isinstance(nested, Mapping):
        return int(nested.get(question) is not None)
    if isinstance(nested, list):
        return sum(each.get("question_name") == question for each in nested)
    flat = (f"{question}.suggestion", f"{question}-suggestion")
    return int(any(record.get(name) is not None for name in flat))
