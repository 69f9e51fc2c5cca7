"""manyhands reproduce: a paper's table beside our own runs."""

import os
from pathlib import Path
from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import Json, Seed
from manyhands.cli.output import counting, say, say_json, show_table
from manyhands.core.errors import SettingError


def reproduce(
    experiment: Annotated[
        str | None, typer.Argument(help="Its name, such as p0/table-1; --list shows all.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="Show all experiments and what they need.")
    ] = False,
    data: Annotated[str | None, typer.Option(help="Folder that holds the public corpora.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Seeds per cell.")] = 10,
    out: Annotated[str, typer.Option(help="Folder for records and tables.")] = "results",
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time. [default: one per core]")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run a paper's table on the data there is, and show it beside the published one.

    Every finished run is recorded in the folder --out at once: the same command goes on where it
    was stopped, and a run is never made twice. What has no data or no method yet is shown as
    missing, and a failed run as failed.

    Example: manyhands reproduce p3/table-1 --data DIR --runs 10 --out results
    """
    if show:
        _list(data, runs, json)
        return
    if experiment is None:
        raise SettingError("name an experiment, or give --list to see all")
    chosen = mh.EXPERIMENTS[experiment]
    cells = chosen.cells(data, runs, seed)
    store = mh.experiments.RecordStore(out)
    tasks = [task for cell in cells for task in cell.tasks]
    todo = mh.experiments.missing_tasks(tasks, store)
    if todo and data is not None:
        with counting(experiment, len(todo)) as done:
            mh.experiments.run_missing(
                todo, store, data, jobs=min(jobs or os.cpu_count() or 1, len(todo)), done=done
            )
    lines = mh.experiments.lines_of(cells, store)
    command = f"manyhands reproduce {experiment} --data DIR --runs {runs}"
    pages = {
        ".md": mh.experiments.markdown_page(chosen.table, lines, command),
        ".html": mh.experiments.html_page(chosen.table, lines, command),
    }
    places = [_put(Path(out) / (experiment.replace("/", "-") + suffix), text)
              for suffix, text in pages.items()]  # fmt: skip
    if json:
        rows = [vars(line) for line in lines]
        say_json({"experiment": experiment, "cells": rows, "files": places})
        return
    header = ["published as", "measured", "published", "ours", "difference", "verdict"]
    shown = [
        [line.published_name, line.measured, line.published, line.ours, line.difference,
         line.verdict]
        for line in lines
    ]  # fmt: skip
    show_table(f"{experiment}: {chosen.table.title}", header, shown)
    say(f"written: {', '.join(places)}")


def _list(data: str | None, runs: int, json: bool) -> None:
    rows = []
    for name, each in mh.EXPERIMENTS.items():
        cells = each.cells(data, runs)
        ready = sum(1 for cell in cells if cell.tasks)
        rows.append(
            {
                "experiment": name,
                "paper": each.table.paper,
                "needs": ", ".join(each.needs[:3]) + (" ..." if len(each.needs) > 3 else ""),
                "cells": f"{ready} of {len(cells)}",
                "minutes": round(each.seconds(data, runs) / 60, 1),
            }
        )
    if json:
        say_json({"experiments": rows})
        return
    show_table("", list(rows[0]), [list(row.values()) for row in rows])
    say(f"cells: how many can be run here; minutes: about, for {runs} runs on one core")


def _put(path: Path, text: str) -> str:
    with mh.io.whole_file(path) as stream:
        stream.write(text.encode())
    return str(path)
