"""manyhands reproduce: the tables and figures of papers beside our own runs."""

import os
import shlex
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import DataFolder, Jobs, Json, Seed, completed, in_output, option
from manyhands.cli.output import remark, say, say_json, show_table
from manyhands.core.errors import SettingError

ALL = "all"


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAMES", help="Experiments, such as p0/table-1, or all.",
                       autocompletion=completed("EXPERIMENTS", also=[ALL])),
    ] = None,
    show: Annotated[bool, option("List the experiments and how long they take.", "--list")] = False,
    data: DataFolder = None,
    runs: Annotated[
        int | None,
        option("Seeds per cell.", min=1, show_default="10; 3 or 5 for curves; 1 for other figures"),
    ] = None,
    out: Annotated[
        str, in_output("Folder for records, tables and figures.", metavar="DIR")
    ] = "results",
    jobs: Jobs = None,
    slow: Annotated[bool, option("Also run what takes hours without a GPU.", "--slow")] = False,
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
    options = mh.experiments.RunOptions(data=data, n_runs=runs, seed=seed, slow=slow)
    n_jobs = jobs or os.cpu_count() or 1
    if show:
        _list(options, n_jobs, json)
        return
    if not experiments:
        raise SettingError("name an experiment, or give --list to see all")
    names = list(mh.EXPERIMENTS) if ALL in experiments else list(dict.fromkeys(experiments))
    chosen = [mh.EXPERIMENTS[name] for name in names]
    with mh.io.locked_folder(mh.io.make_folder(out)):
        records = mh.experiments.RecordStore(Path(out) / mh.experiments.FILE)
        _run([run for each in chosen for run in each.runs(options)], records, options, n_jobs)
        told = []
        for each in chosen:
            written = each.write(records, options, Path(out))
            told.append(
                {"experiment": each.name, "cells": list(written.rows), "files": written.files,
                 "missing": each.unavailable(options)}
            )  # fmt: skip
            if not json:
                _show(each, written)
    if json:
        say_json(told[0] if len(told) == 1 else {"experiments": told})


def _run(runs: list[Any], records: Any, options: Any, n_jobs: int) -> None:
    todo = mh.experiments.missing_runs(runs, records)
    if not todo:
        return
    minutes = _minutes(todo, n_jobs)
    remark(f"{len(todo)} runs to make, about {minutes:.0f} min with {n_jobs} at a time")
    mh.experiments.run_missing(
        todo, records, options.data, jobs=min(n_jobs, len(todo)), progress=True
    )


def _show(experiment: Any, written: Any) -> None:
    if written.rows:
        names = [name for name in written.rows[0] if name not in written.hidden]
        rows = [
            {each.replace("_", " "): "-" if row.get(each) is None else str(row[each])
             for each in names}
            for row in written.rows
        ]  # fmt: skip
        show_table(f"{experiment.name}: {experiment.title}", rows)
    written_to = ", ".join(written.files) or "nothing, there is nothing to show"
    say(f"written: {written_to}")


def _list(options: Any, n_jobs: int, json: bool) -> None:
    rows, all_runs = [], []
    for name, each in mh.EXPERIMENTS.items():
        runs = mh.experiments.missing_runs(each.runs(options), None)
        all_runs += runs
        rows.append(
            {
                "experiment": name,
                "paper": each.paper.split(",")[0],
                "title": each.title,
                "needs": ", ".join(each.needs[:3]) + (" ..." if len(each.needs) > 3 else ""),
                "runs": len(runs),
                "missing": len(each.unavailable(options)),
                "minutes": ceil(10 * _minutes(runs, n_jobs)) / 10,
            }
        )
    total = ceil(_minutes(mh.experiments.missing_runs(all_runs, None), n_jobs))
    if json:
        say_json({"experiments": rows, "minutes": total, "jobs": n_jobs})
        return
    show_table("", [{name: str(cell) for name, cell in row.items()} for row in rows])
    folder = "" if options.data is None else f" --data {shlex.quote(options.data)}"
    seeds = "" if options.n_runs is None else f" --runs {options.n_runs}"
    say(f"runs: what can be run here; missing: what cannot; minutes: about, {n_jobs} at a time")
    say(f"all of it takes about {total} min: manyhands reproduce all{folder}{seeds}")


def _minutes(runs: list[Any], n_jobs: int) -> float:
    seconds = sum(run.expected_seconds for run in runs)
    return float(seconds / 60 / min(n_jobs, max(len(runs), 1)))
