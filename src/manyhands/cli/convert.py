"""manyhands convert: between formats."""

from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import AnyLabelsFile, Json, Reading, TaskOptions, takes_reading
from manyhands.cli.output import is_tagged, say, say_json
from manyhands.cli.reading import annotations_from
from manyhands.cli.tasks import tokens_layout
from manyhands.core.errors import SettingError


@takes_reading
def convert(
    source: AnyLabelsFile,
    target: Annotated[str, typer.Argument(metavar="OUT", help="File to write; suffix decides.")],
    to: Annotated[
        str, typer.Option(help="Layout of a table written: long, or wide (a column per annotator).")
    ] = "long",
    duplicates: Annotated[
        str,
        typer.Option(help="Repeated (item, annotator) in a change of shape: keep, first, last."),
    ] = "keep",
    task: Annotated[
        str | None, typer.Option(help="sequence where a file of tagged tokens does not look it.")
    ] = None,
    orphan_tags: Annotated[
        str, typer.Option(help="A tag I-X that follows no B-X or I-X: keep, repair (B-X), refuse.")
    ] = "keep",
    alignment: Annotated[
        str, typer.Option(help="A span that cuts through a token: refuse, or widen to whole ones.")
    ] = "refuse",
    json: Json = False,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:
    """Rewrite labels in another format; ids, names and times are kept.

    From a long table to a long table every column and every row stays as it is; other changes
    of shape carry item, annotator and label, and a .txt or .npy matrix labels only.

    Tagged tokens: OUT with the suffix .conll has a column of tags per annotator, a table has a row
    per span with the characters where it starts and ends, of the text or of words parted by spaces.

    Example: manyhands convert matrix.txt labels.csv

    Example: manyhands convert spans.jsonl tokens.conll
    """
    plain = Reading(format=reading.format, encoding=reading.encoding)
    as_it_is = reading == plain and to == "long" and duplicates == "keep" and task is None
    if as_it_is and _is_table(source, reading.format) and _is_table(target):
        n_rows = mh.io.copy_table(source, target, format=plain.format, encoding=plain.encoding)
        what = "rows"
    elif (
        layout := tokens_layout(source, TaskOptions(task=task, alignment=alignment), reading)
    ) is not None:
        if to != "long" or duplicates != "keep":
            raise SettingError("--to and --duplicates are for labels of items, not tagged tokens")
        from manyhands.cli.convert_tokens import convert_tokens  # --help does without

        task_options = TaskOptions(task=task, alignment=alignment, orphan_tags=orphan_tags)
        n_rows = convert_tokens(source, layout, target, task_options, reading)
        what = "tags"
    else:
        if orphan_tags != "keep":
            raise SettingError(
                f"--orphan-tags is for tagged tokens; {source} holds labels of items"
            )
        annotations = annotations_from(source, reading, duplicates)
        mh.io.write_annotations(annotations, target, layout=to)
        n_rows = annotations.n_annotations
        what = "rows"
    if json:
        say_json({"out": target, "rows": n_rows})
    else:
        say(f"{target}: {n_rows} {what} written")


def _is_table(name: str, format: str | None = None) -> bool:
    return not is_tagged(name) and mh.io.is_table(name, format)
