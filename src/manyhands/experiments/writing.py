"""Putting pages and figures into files, whole or not at all."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from manyhands.experiments.experiment import Request
from manyhands.io import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS = 150  # per inch


def put(path: Path, text: str) -> str:
    """Write a page; its place."""
    with atomic_write(path) as stream:
        stream.write(text.encode())
    return str(path)


def put_figure(figure: "Figure", path: Path) -> list[str]:
    """Write a figure as PNG and as SVG; their places."""
    places = []
    for kind in ("png", "svg"):
        place = path.with_name(f"{path.name}.{kind}")
        with atomic_write(place) as stream:
            # Without a date the same figure gives the same file.
            metadata = {"Date": None} if kind == "svg" else {}
            figure.savefig(stream, format=kind, dpi=_DOTS, metadata=metadata)
        places.append(str(place))
    return places


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def command_of(name: str, request: Request) -> str:
    """The command that makes this again."""
    seeds = "" if request.runs is None else f" --runs {request.runs}"
    return f"manyhands reproduce {name} --data DIR{seeds}"
