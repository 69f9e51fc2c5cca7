"""manyhands datasets: the public corpora and item sets, and which are there."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import manyhands as mh
from manyhands.cli.options import Json
from manyhands.cli.output import say, say_json, say_text
from manyhands.core.errors import DataError, SettingError


def datasets(
    action: Annotated[
        Literal["list", "check"],
        typer.Argument(help="List the corpora, or check which are in a folder."),
    ] = "list",
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="Folder with one folder per corpus.")
    ] = None,
    json: Json = False,
) -> None:
    """List the public datasets, or check which are in a folder.

    Corpora are not part of the package: name the folder that has them. Item sets have a truth
    and no labels; simulated crowds label them.

    Example: manyhands datasets

    Example: manyhands datasets check ~/corpora
    """
    if (action == "check") != (folder is not None):
        raise SettingError("give 'manyhands datasets list' or 'manyhands datasets check DIR'")
    if folder is not None and not Path(folder).is_dir():
        raise DataError(f"{folder}: no such folder")
    found = {name: _entry(reader, folder) for name, reader in mh.DATASETS.items()}
    pairs = {name: _entry(each, folder) for name, each in mh.datasets.PAIR_SETS.items()}
    items = {name: _items(each, folder) for name, each in mh.datasets.ITEM_SETS.items()}
    if json:
        say_json(found | {"pair_sets": pairs, "item_sets": items})
        return
    _say_entries(found)
    say_text("\nComparisons of two items, for mh.CrowdRanker:")
    _say_entries(pairs)
    say_text("\nItems for simulated crowds:")
    for name, entry in items.items():
        say(f"{name}: {entry['about']}")
        say(f"    {', '.join(entry['files'])}")


def _say_entries(entries: dict[str, dict[str, Any]]) -> None:
    for name, entry in entries.items():
        say(f"{name}: {entry['about']}")
        for features, state in entry["features"].items():
            say(f"    {features}: {', '.join(state)}")


def _entry(reader: "mh.datasets.Reader[Any]", folder: str | None) -> dict[str, Any]:
    """A corpus; for each set of features the files it needs, or those that are missing."""
    features = {
        name: reader.needed(name) if folder is None else _state(reader.missing(folder, name))
        for name in reader.feature_sets
    }
    return {"about": reader.about, "folder": reader.folder, "features": features}


def _items(items: "mh.datasets.ItemSet", folder: str | None) -> dict[str, Any]:
    """An item set, and the files it needs, or those that are missing."""
    files = list(items.files) if folder is None else _state(items.missing(folder))
    return {"about": items.about, "folder": items.folder, "files": files}


def _state(missing: list[str]) -> list[str]:
    return [f"missing {name}" for name in missing] or ["complete"]
