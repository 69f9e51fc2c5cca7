"""manyhands reproduce: the tables and figures of papers beside our own runs."""

import os
import shlex
from dataclasses import replace
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer

import manyhands as mh
from manyhands.cli.options import DataFolder, Jobs, Json, Seed, completed, in_output, option
from manyhands.cli.output import remark, say, say_json, show_grid, show_table
from manyhands.core.errors import SettingError

ALL = "all"


class Protocol(StrEnum):
    """Whose protocol runs follow."""

    published = "published"
    ours = "ours"
    both = "both"


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAMES", help="Experiments, such as p0/table-1, or all.",
                       autocompletion=completed("EXPERIMENTS", also=[ALL])),
    ] = None,
    show: Annotated[bool, option("List the experiments and how long they take.", "--list")] = False,
    data: DataFolder = None,
    protocol: Annotated[
        Protocol,
        option("Whose protocol runs follow: that of the paper, ours, or both."),
    ] = Protocol.both,
    runs: Annotated[
        int | None,
        option("Seeds per cell.", min=1,
               show_default="those of the paper; 10 by our protocol, 1 for figures"),
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

    Every figure is shown three times: as the paper prints it, as our runs by the paper's own
    protocol give it, and as our runs by one protocol for all methods give it. Every finished run is
    recorded in the file records.jsonl of the folder --out: the same command continues where it was
    stopped, and no run is repeated that any file of records in the folder (*.jsonl) has. Cells
    without data or without a method are shown as missing, failed runs as failed. Tables are written
    as Markdown, HTML and CSV, figures as PNG and SVG. --list counts the runs that the folder --out
    has records of.

    Example: manyhands reproduce p3/table-1 --data DIR --runs 10 --out results

    Example: manyhands reproduce p1/table-2 --data DIR --protocol published

    Example: manyhands reproduce all --data DIR --out results
    """
    options = mh.experiments.RunOptions(
        data=data, n_runs=runs, seed=seed, slow=slow, protocol=protocol.value
    )
    n_jobs = jobs or os.cpu_count() or 1
    if show:
        _list(options, Path(out), n_jobs, json)
        return
    if not experiments:
        raise SettingError("name an experiment, or give --list to see all")
    names = list(mh.EXPERIMENTS) if ALL in experiments else list(dict.fromkeys(experiments))
    chosen = [mh.EXPERIMENTS[name] for name in names]
    with mh.io.locked_folder(mh.io.make_folder(out)):
        records = mh.experiments.RecordStore.in_folder(out)
        _run([run for each in chosen for run in each.runs(options)], records, options, n_jobs)
        told = []
        for each in chosen:
            written = each.write(records, options, Path(out))
            told.append(
                {"experiment": each.name, "protocol": options.protocol,
                 "cells": list(written.rows), "files": written.files,
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
    if written.grids:
        say(f"{experiment.name}: {experiment.title}")
        for grid in written.grids:
            for part in grid.parts():
                show_grid(part)
        say(mh.experiments.legend())
    elif written.rows:
        names = [name for name in written.rows[0] if name not in written.hidden]
        rows = [
            {each.replace("_", " "): "-" if row.get(each) is None else str(row[each])
             for each in names}
            for row in written.rows
        ]  # fmt: skip
        show_table(f"{experiment.name}: {experiment.title}", rows)
    written_to = ", ".join(written.files) or "nothing, there is nothing to show"
    say(f"written: {written_to}")


def _list(options: Any, out: Path, n_jobs: int, json: bool) -> None:
    records = mh.experiments.Records.in_folder(out)
    rows, all_runs = [], []
    for each in mh.EXPERIMENTS.values():
        runs = mh.experiments.missing_runs(each.runs(options), None)
        all_runs += runs
        rows.append(_state(each, runs, records, options, n_jobs))
    total = ceil(_minutes(mh.experiments.missing_runs(all_runs, None), n_jobs))
    if json:
        say_json({"experiments": rows, "minutes": total, "jobs": n_jobs})
        return
    shown = ("experiment", "protocol", "as published", "ours", "missing", "stands in", "minutes")
    show_table("", [{name: _short(row, name) for name in shown} for row in rows])
    for reason, names in _reasons(options).items():
        say(f"missing: {reason} ({', '.join(names)})")
    folder = "" if options.data is None else f" --data {shlex.quote(options.data)}"
    seeds = "" if options.n_runs is None else f" --runs {options.n_runs}"
    say(
        "protocol: whether every field of the paper's protocol is stated or read; as published and "
        f"ours: runs recorded in {out} of those that can be made here; missing: parts that cannot; "
        f"minutes: of all runs, about, {n_jobs} at a time; --json has titles, files and more"
    )
    say(f"all of it takes about {total} min: manyhands reproduce all{folder}{seeds}")


def _state(each: Any, runs: list[Any], records: Any, options: Any, n_jobs: int) -> dict[str, Any]:
    """What is known of an experiment: its protocol, its runs, its data, and how long it takes."""
    counts, trains = {}, each.protocol is not None and not each.protocol.nothing
    for name, label in (("published", "as published"), ("ours", "ours")):
        some = each.runs(replace(options, protocol=name)) if trains or name == "ours" else ()
        wanted = {run.key for run in some}
        counts[label] = {"done": sum(map(records.finished, wanted)), "runs": len(wanted)}
    return {
        "experiment": each.name,
        "paper": each.paper.split(",")[0],
        "title": each.title,
        "protocol": _protocol_state(each),
        "needs": ", ".join(each.needs[:3]) + (" ..." if len(each.needs) > 3 else ""),
        "runs": len(runs),
        **counts,
        "missing": len(each.unavailable(options)),
        "missing parts": each.unavailable(options),
        "stands in": each.stand_ins,
        "minutes": ceil(10 * _minutes(runs, n_jobs)) / 10,
    }


def _reasons(options: Any) -> dict[str, list[str]]:
    """Why parts cannot be run here, each with the experiments that need it."""
    found: dict[str, list[str]] = {}
    for name, each in mh.EXPERIMENTS.items():
        for reason in dict.fromkeys(each.reasons(options).values()):
            found.setdefault(reason, []).append(name)
    return found


def _protocol_state(experiment: Any) -> str:
    protocol = experiment.protocol
    if protocol is None:
        return "our own experiment"
    if protocol.nothing:
        return "nothing is trained"
    n_open = len(experiment.open_fields)
    return f"{n_open} fields missing" if n_open else "complete"


def _short(row: dict[str, Any], name: str) -> str:
    """A cell of the list for a terminal."""
    value = row[name]
    if isinstance(value, dict):
        return "-" if not value["runs"] else f"{value['done']}/{value['runs']}"
    return "; ".join(value) or "-" if isinstance(value, list) else str(value)


def _minutes(runs: list[Any], n_jobs: int) -> float:
    seconds = sum(run.expected_seconds for run in runs)
    return float(seconds / 60 / min(n_jobs, max(len(runs), 1)))
