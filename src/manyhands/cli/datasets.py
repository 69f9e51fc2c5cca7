"""manyhands datasets: which public corpora and items can be read, and which are there."""

from pathlib import Path
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import Json
from manyhands.cli.output import say, say_json
from manyhands.core.errors import DataError, SettingError


def datasets(
    action: Annotated[str, typer.Argument(help="list, or check a folder.")] = "list",
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="Folder with one folder per corpus.")
    ] = None,
    json: Json = False,
) -> None:
    """List the public corpora that can be read, or check which are in a folder.

    Corpora are not shipped; name the folder that holds them. Item sets have truth and no labels:
    simulated crowds are put on them.

    Example: manyhands datasets check ~/corpora
    """
    if action not in {"list", "check"} or (action == "check") != (folder is not None):
        raise SettingError("say 'manyhands datasets list' or 'manyhands datasets check DIR'")
    if folder is not None and not Path(folder).is_dir():
        raise DataError(f"{folder}: no such folder")
    found = {name: _entry(reader, folder) for name, reader in mh.DATASETS.items()}
    items = {name: _items(each, folder) for name, each in mh.datasets.ITEM_SETS.items()}
    if json:
        say_json(found | {"item_sets": items})
        return
    for name, entry in found.items():
        say(f"{name}: {entry['about']}")
        for features, state in entry["features"].items():
            say(f"    {features}: {', '.join(state)}")
    say("\nItems for simulated crowds:")
    for name, entry in items.items():
        say(f"{name}: {entry['about']}")
        say(f"    {', '.join(entry['files'])}")


def _entry(reader: "mh.datasets.Reader", folder: str | None) -> dict[str, Any]:
    """What a corpus is; for each set of features the files it needs, or those not there."""
    features = {
        name: reader.needed(name) if folder is None else _lost(reader.missing(folder, name))
        for name in reader.feature_sets
    }
    return {"about": reader.about, "folder": reader.folder, "features": features}


def _items(items: "mh.datasets.ItemSet", folder: str | None) -> dict[str, Any]:
    """What an item set is, and the files it needs, or those not there."""
    files = list(items.files) if folder is None else _lost(items.missing(folder))
    return {"about": items.about, "folder": items.folder, "files": files}


def _lost(missing: list[str]) -> list[str]:
    return [f"missing {name}" for name in missing] or ["complete"]
