"""manyhands reproduce: the tables and figures of papers beside our own runs."""

import os
import shlex
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import OUTPUT, DataFolder, Jobs, Json, Seed
from manyhands.cli.output import counting, remark, say, say_json, show_table
from manyhands.core.errors import SettingError

ALL = "all"


def _experiments(incomplete: str = "") -> list[str]:
    return [name for name in (ALL, *mh.EXPERIMENTS) if name.startswith(incomplete)]


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAMES", help="Experiments, such as p0/table-1, or all.",
                       autocompletion=_experiments),
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="List the experiments and how long they take.")
    ] = False,
    data: DataFolder = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Seeds per cell.",
                     show_default="10; 5 for p3/figure-6; 1 for other figures"),
    ] = None,
    out: Annotated[
        str,
        typer.Option(metavar="DIR", rich_help_panel=OUTPUT,
                     help="Folder for records, tables and figures."),
    ] = "results",
    jobs: Jobs = None,
    slow: Annotated[
        bool, typer.Option("--slow", help="Also run what takes hours without a GPU.")
    ] = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Reproduce the tables and figures of the papers.

    Our numbers are shown beside the published ones. Every finished run is recorded in the
    folder --out: the same command continues where it was stopped, and no run is repeated. Cells
    without data or without a method are shown as missing, failed runs as failed. Tables are
    written as Markdown and HTML, figures as PNG and SVG.

    Example: manyhands reproduce p3/table-1 --data DIR --runs 10 --out results

    Example: manyhands reproduce all --data DIR --out results
    """
    request = mh.experiments.Request(data=data, runs=runs, seed=seed, slow=slow)
    n_jobs = jobs or os.cpu_count() or 1
    if show:
        _list(request, n_jobs, json)
        return
    if not experiments:
        raise SettingError("name an experiment, or give --list to see all")
    names = list(mh.EXPERIMENTS) if ALL in experiments else list(dict.fromkeys(experiments))
    chosen = [mh.EXPERIMENTS[name] for name in names]
    store = mh.experiments.RecordStore(out)
    _run([task for each in chosen for task in each.tasks(request)], store, request, n_jobs)
    told = []
    for each in chosen:
        written = each.write(store, request, Path(out))
        told.append(
            {"experiment": each.name, "cells": list(written.rows), "files": written.files,
             "missing": each.missing(request)}
        )  # fmt: skip
        if not json:
            _show(each, written)
    if json:
        say_json(told[0] if len(told) == 1 else {"experiments": told})


def _run(tasks: list[Any], store: Any, request: Any, n_jobs: int) -> None:
    todo = mh.experiments.missing_tasks(tasks, store)
    if not todo:
        return
    minutes = _minutes(todo, n_jobs)
    remark(f"{len(todo)} runs to make, about {minutes:.0f} min with {n_jobs} at a time")
    with counting("runs", len(todo)) as done:
        mh.experiments.run_missing(
            todo, store, request.data, jobs=min(n_jobs, len(todo)), done=done
        )


def _show(experiment: Any, written: Any) -> None:
    rows = [
        {
            name: "-" if cell is None else str(cell)
            for name, cell in row.items()
            if name not in written.validation_unit
        }
        for row in written.rows
    ]
    if rows:
        header = [name.replace("_", " ") for name in rows[0]]
        title = f"{experiment.name}: {experiment.title}"
        show_table(title, header, [list(row.values()) for row in rows])
    written_to = ", ".join(written.files) or "nothing, there is nothing to show"
    say(f"written: {written_to}")


def _list(request: Any, n_jobs: int, json: bool) -> None:
    rows, all_tasks = [], []
    for name, each in mh.EXPERIMENTS.items():
        tasks = mh.experiments.missing_tasks(each.tasks(request), None)
        all_tasks += tasks
        rows.append(
            {
                "experiment": name,
                "paper": each.paper.split(",")[0],
                "title": each.title,
                "needs": ", ".join(each.needs[:3]) + (" ..." if len(each.needs) > 3 else ""),
                "runs": len(tasks),
                "missing": len(each.missing(request)),
                "minutes": ceil(10 * _minutes(tasks, n_jobs)) / 10,
            }
        )
    total = ceil(_minutes(mh.experiments.missing_tasks(all_tasks, None), n_jobs))
    if json:
        say_json({"experiments": rows, "minutes": total, "jobs": n_jobs})
        return
    show_table("", list(rows[0]), [[str(cell) for cell in row.values()] for row in rows])
    folder = "" if request.data is None else f" --data {shlex.quote(request.data)}"
    seeds = "" if request.runs is None else f" --runs {request.runs}"
    say(f"runs: what can be run here; missing: what cannot; minutes: about, {n_jobs} at a time")
    say(f"all of it takes about {total} min: manyhands reproduce all{folder}{seeds}")


def _minutes(tasks: list[Any], n_jobs: int) -> float:
    seconds = sum(mh.experiments.expected_seconds(task) for task in tasks)
    return float(seconds / 60 / min(n_jobs, max(len(tasks), 1)))
