"""Files that annotation tools import: a consensus as suggestions, and items to relabel."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from manyhands.annotations import Annotations
from manyhands.annotations.vocabulary import name_to_text
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require
from manyhands.io.atomic import atomic_write, require_place
from manyhands.io.exports.suggestions import TOOL_IMPORTS, Believed, ToolImport, ToolItems
from manyhands.io.tables import require_target, write_table

RELABEL_BELOW = 0.7


class ItemConsensus(Protocol):
    """What is asked of a consensus here."""

    @property
    def annotations(self) -> Annotations: ...  # noqa: D102
    @property
    def labels(self) -> AnyArray: ...  # noqa: D102
    @property
    def confidence(self) -> Floats: ...  # noqa: D102
    @property
    def agreement(self) -> Floats: ...  # noqa: D102
    @property
    def probabilities(self) -> Floats | None: ...  # noqa: D102
    @property
    def method_name(self) -> str: ...  # noqa: D102


def write_suggestions(
    consensus: ItemConsensus,
    path: str | Path,
    *,
    annotations: Annotations | None = None,
    model_version: str | None = None,
) -> int:
    """Write a consensus as suggestions, in the format that the annotation tool imports.

    Label Studio imports tasks with predictions (.json), Prodigy tasks (.jsonl), Argilla records
    with suggestions (.json), doccano documents (.jsonl), Mechanical Turk a batch (.csv); for LeWiDi
    the soft labels are written (.tsv). The score of a suggestion is the `confidence`. The number of
    suggestions is returned.

    Parameters
    ----------
    consensus : Consensus
        Of labels that were read from an export of the tool.
    path : str or Path
        The file to write, with the suffix that the tool imports.
    annotations : Annotations
        The export, read again, if the consensus was loaded, unpickled or updated: it does not have
        the data of the items then.
    model_version : str
        Who suggests; by default manyhands and the name of the method.
    """
    export = annotations or consensus.annotations
    require_suggestions_target(export, path)
    items = kept_items(export)
    suggestion, suffix = TOOL_IMPORTS[items.tool].suggestion, TOOL_IMPORTS[items.tool].suffix
    assert suggestion is not None, "the target was checked"
    version = model_version or version_of(consensus)
    place = {name: n for n, name in enumerate(items.data)}
    believed = sorted(_believed(consensus, items), key=lambda each: place[each.item])
    found = [suggestion(each, items, version) for each in believed]
    write_entries(found, Path(path), suffix)
    return len(found)


def write_relabel(
    consensus: ItemConsensus,
    path: str | Path,
    *,
    below: float = RELABEL_BELOW,
    annotations: Annotations | None = None,
) -> int:
    """Write the items that need more labels, the least confident first; return their number.

    Items of an annotation tool are written without labels, as the tool imports them. Items of other
    files are a table with columns item, confidence, agreement, n_annotations, and the texts that
    the file has.

    Parameters
    ----------
    consensus : Consensus
        Of the labels so far.
    path : str or Path
        The file to write, with the suffix that the tool imports, or that of a table.
    below : float
        Items with a confidence below this are written.
    annotations : Annotations
        The export, read again, as for `write_suggestions`.
    """
    require(0 <= below <= 1, "below", "between 0 and 1", below)
    export = annotations or consensus.annotations
    require_relabel_target(export, path)
    confidence = np.where(np.isnan(consensus.confidence), -1.0, consensus.confidence)
    order = np.argsort(confidence, kind="stable")
    rows = order[confidence[order] < below]
    tool = _tool(export)
    if tool is None or tool.bare is None:
        _write_table(consensus, rows, _texts(export), path)
    else:
        items = kept_items(export)
        names = [items.name_of(name) for name in consensus.annotations.items[rows].tolist()]
        write_entries([tool.bare(name, items) for name in names], Path(path), tool.suffix)
    return len(rows)


def require_suggestions_target(annotations: Annotations, path: str | Path) -> None:
    """Raise a `DataError` if `write_suggestions` cannot write this file for these labels."""
    source, tool = annotations.source, _tool(annotations)
    if source is None:
        raise DataError(
            "suggestions go back into the annotation tool of the labels, and these were not read "
            "from a file; give the export as ", SettingName("annotations", ...),
            ", or write the consensus as a table",
        )  # fmt: skip
    if tool is None:
        raise DataError(
            f"{source.path}: suggestions go back into the annotation tool of the labels, and these "
            "are from no tool; write the consensus as a table (write_table, --out FILE)"
        )
    if tool.suggestion is None:
        raise DataError(
            f"{source.path}: JSON-MIN and CSV do not tell which object a control labels; for "
            "suggestions export the project as JSON"
        )
    require_suffix(tool, path)


def require_relabel_target(annotations: Annotations, path: str | Path) -> None:
    """Raise a `DataError` if `write_relabel` cannot write this file for these labels."""
    tool = _tool(annotations)
    if tool is None or tool.bare is None:
        require_target(path)
    else:
        require_suffix(tool, path)


def version_of(consensus: ItemConsensus) -> str:
    """Who suggests, if it is not given."""
    return "-".join(filter(None, ["manyhands", consensus.method_name]))


def require_suffix(tool: ToolImport, path: str | Path) -> None:
    """Raise a `DataError` for a file that a tool does not import."""
    target = Path(path)
    if target.suffix.lower() != tool.suffix:
        better = target.with_suffix(tool.suffix).name
        raise DataError(f"{target}: {tool.tool} imports {tool.suffix} files; name it {better}")
    require_place(target)


def _tool(annotations: Annotations) -> ToolImport | None:
    source = annotations.source
    return None if source is None else TOOL_IMPORTS.get(source.layout)


def kept_items(annotations: Annotations) -> ToolItems:
    """What the export of these labels has of its items."""
    assert annotations.source is not None, "labels of a tool have a source"
    found: ToolItems | None = annotations.source.content
    if found is None:
        raise DataError(
            "the data of the items were not kept with the labels; read the export again and give "
            "it as ", SettingName("annotations", ...),
        )  # fmt: skip
    return found


def _texts(annotations: Annotations) -> Mapping[Any, Mapping[str, Any]]:
    source = annotations.source
    return {} if source is None or source.content is None else source.content.data


def _believed(consensus: ItemConsensus, items: ToolItems) -> Iterator[Believed]:
    """The consensus of every item, with names and labels as the export has them."""
    ann, probabilities = consensus.annotations, consensus.probabilities
    columns = zip(
        ann.items.tolist(), consensus.labels.tolist(), consensus.confidence.tolist(), strict=True
    )
    for row, (item, label, confidence) in enumerate(columns):
        said = items.said(label, numbers=probabilities is None)
        score = None if math.isnan(confidence) else round(confidence, 6)
        of_class = (
            None
            if probabilities is None
            else dict(zip(ann.classes.tolist(), probabilities[row].tolist(), strict=True))
        )
        yield Believed(items.name_of(item), said, score, of_class)


def _write_table(
    consensus: ItemConsensus,
    rows: AnyArray,
    texts: Mapping[Any, Mapping[str, Any]],
    path: str | Path,
) -> None:
    ann = consensus.annotations
    columns: dict[str, Any] = {
        "item": ann.items[rows],
        "confidence": consensus.confidence[rows],
        "agreement": consensus.agreement[rows],
        "n_annotations": ann.labels_per_item[rows],
    }
    by_name = {name_to_text(name): fields for name, fields in texts.items()} if len(rows) else {}
    found = [by_name.get(name_to_text(name), {}) for name in ann.items[rows].tolist()]
    for name in dict.fromkeys(name for fields in found for name in fields):
        cells = np.empty(len(found), dtype=object)
        cells[:] = [fields.get(name) for fields in found]
        columns.setdefault(name if name not in columns else f"{name}_in_file", cells)
    write_table(columns, path)


def write_entries(entries: Sequence[Any], path: Path, suffix: str) -> None:
    """Write what a tool imports; the suffix is that of the tool."""
    try:
        text = _TEXTS[suffix](entries).encode()
    except UnicodeEncodeError:
        raise DataError(f"{path}: a text holds half of a UTF-16 pair; correct the export") from None
    with atomic_write(path) as stream:
        stream.write(text)


def _json(entries: Sequence[Any]) -> str:
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"


def _json_lines(entries: Sequence[Any]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def _csv(entries: Sequence[Mapping[str, Any]]) -> str:
    if not entries:
        return ""
    text = io.StringIO()
    names = dict.fromkeys(name for entry in entries for name in entry)
    writer = csv.DictWriter(text, list(names), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(entries)
    return text.getvalue()


def _bare_lines(entries: Sequence[Sequence[Any]]) -> str:
    return "".join("\t".join(map(str, entry)) + "\n" for entry in entries)


_TEXTS = {".json": _json, ".jsonl": _json_lines, ".csv": _csv, ".tsv": _bare_lines}
