"""Write every page of the documentation that is made from records or from a registry.

python docs/write_pages.py              from the committed records
python docs/write_pages.py --add DIR    first add the records of `manyhands reproduce --out DIR`
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).parent
sys.path[:0] = [str(HOME.parent), str(HOME)]  # the benchmarks, and the module beside this one

import method_table  # noqa: E402
import which_method  # noqa: E402
from benchmarks.pages import PAGES  # noqa: E402

import manyhands as mh  # noqa: E402
from manyhands.experiments import (  # noqa: E402
    Records,
    RecordStore,
    RunOptions,
    markdown_table,
)

RECORDS = HOME / "results" / "records"
ALL = RunOptions(recorded=True)
HEAD = """\
# Results

Every table and figure of five papers on learning from crowds, and our own experiments. To compare
methods, read [every method under one protocol](ours-comparison.md); the tables of the papers show
how far each paper is reached. There, a published figure stands beside two of ours:

- *as published*: runs by the protocol of the paper, that is its network, optimiser, rates, batches,
  epochs, starts, penalties, scaling, selection and number of runs. What the paper leaves open is
  listed on the page with the reading taken.
- *ours*: runs by one protocol, the same for every method. The epoch is the best of 100 by held-out
  crowd labels, and the network is then trained on all labels.

*Reached* means that our mean is better than the published one or within one point of it (0.01 of a
share). Neither protocol selects with clean labels; where a paper did, or its code does, that rule
is run too and marked with † or ‡. The truth is used for scoring only. *42 of 53, 18 not run* means
that 42 of 53 published figures are reached and that nothing was run for 18 others: their data are
not available here, or they take hours. Each page says which, beside its cells.

`manyhands reproduce --list --data DIR --out docs/results/records` shows what was run, what can be
run and how long it takes. `manyhands reproduce NAME --data DIR` runs an experiment; each page shows
its command. The pages are written from the records in the folder `records` beside them, one line of
JSON per run.
"""
SELECTION = """\
## What the selection rule is worth

Published accuracies differ in how the reported epoch was chosen, and papers often do not say. Two
practices are common in public code. The first takes the epoch with the best accuracy on *clean*
validation labels. A project that learns from crowds because it has no clean labels cannot do that.
The second takes the best epoch on the test items themselves. Its figure is the best of many
evaluations on the test items and cannot be expected on new items. Both happen easily, because
ordinary training with clean labels also keeps the best epoch.

[The same methods under four rules](ours-selection-rules.md), ten runs each: compared with choosing
by held-out crowd labels, choosing by clean validation labels adds 0.6 to 1.6 points on LabelMe, and
choosing on the test items adds 1.0 to 2.1 points on LabelMe and 1.3 to 2.6 points on music. That is
as much as most methods differ from each other in the published tables.
"""


def read_records():
    """All committed records of experiments."""
    return Records.in_folder(RECORDS)


def add_records(folder):
    """Add new records of a run to the file of the first experiment that needs them."""
    new, known = Records.in_folder(folder), read_records()
    for experiment in mh.EXPERIMENTS.values():
        wanted = {run.key for run in experiment.runs(ALL)}
        found = [key for key in sorted(wanted) if new.finished(key) and not known.finished(key)]
        if found:
            store = RecordStore(RECORDS / f"{experiment.file_name}.jsonl")
            for key in found:
                store.append(new.get(key))
                known.append(new.get(key))


def write_pages(docs):
    """Write every page and figure into a folder."""
    results = Path(docs) / "results"
    results.mkdir(parents=True, exist_ok=True)
    records = read_records()
    for experiment in mh.EXPERIMENTS.values():
        experiment.write(records, ALL, results)
    (results / "index.md").write_text(index(records))
    others = {name: make_page(HOME) for name, make_page in PAGES.items()}
    others[method_table.PAGE] = method_table.page()
    guide = (HOME / which_method.PAGE).read_text()
    others[which_method.PAGE] = which_method.page(guide, records)
    for name, text in others.items():
        (Path(docs) / name).parent.mkdir(parents=True, exist_ok=True)
        (Path(docs) / name).write_text(text)


def index(records):
    """The first page of the results: how far the papers are reached, and all experiments."""
    papers = {}
    for experiment in mh.EXPERIMENTS.values():
        papers.setdefault(experiment.paper, []).append(experiment)
    ours = papers.pop("ours")
    lines = [HEAD, "## In one table", "", summary_table(papers, records), ""]
    counted = set()
    for paper, experiments in [*papers.items(), ("Our own experiments", ours)]:
        table = experiments_table(experiments, records)
        counted |= {run.key for each in experiments for run in each.runs(ALL)}
        lines += [f"## {paper}", "", table, ""]
    counted = {key for key in counted if records.finished(key)}
    peaks = [records.get(key).get("peak_mib") for key in counted]
    peak = max(each for each in peaks if each is not None) / 1024
    lines += [
        f"Together {len(counted)} different runs and {_hours(records, counted)} hours on one core, "
        f"half of that on two. No process used more than {peak:.2f} GiB.",
    ]
    names = "\n".join(each.file_name for each in mh.EXPERIMENTS.values())
    return "\n".join([*lines, "", SELECTION, f"```{{toctree}}\n:hidden:\n\n{names}\n```"]) + "\n"


def summary_table(papers, records):
    """A line for each paper: its figures, how many are reached, and why others are not."""
    header = ["paper", "figures", "reached as published", "reached by our protocol",
              "not reached, and why"]  # fmt: skip
    rows = []
    for paper, experiments in papers.items():
        found = {each.name: each.summary(records, ALL) for each in experiments}
        why = [
            f"[{each.name}]({each.file_name}.md): {found[each.name].why}"
            for each in experiments
            if found[each.name].why
        ]
        n_figures = sum(each.published for each in found.values())
        shares = [share(found.values(), protocol) for protocol in ("published", "ours")]
        authors = re.match(r".*?\d{4}", paper)[0]
        rows.append([authors, str(n_figures), *shares, "<br>".join(why) or "-"])
    return markdown_table(header, rows)


def experiments_table(experiments, records):
    """A line for each table, figure or experiment."""
    ours = experiments[0].paper == "ours"
    header = ["page", "title"]
    header += [] if ours else ["figures", "reached as published", "reached by ours"]
    rows = []
    for experiment in experiments:
        keys = {run.key for run in experiment.runs(ALL)}
        made = {key for key in keys if records.finished(key)}
        row = [f"[{experiment.name}]({experiment.file_name}.md)", experiment.title]
        if not ours:
            found = experiment.summary(records, ALL)
            row.append(str(found.published or "-"))
            row += [share([found], protocol) for protocol in ("published", "ours")]
        rows.append([*row, f"{len(made)} of {len(keys)}", _hours(records, made)])
    return markdown_table([*header, "runs", "hours on one core"], rows)


def share(summaries, protocol):
    """How many of the published figures that were run are reached, and how many were not run."""
    summaries = list(summaries)
    judged = sum(each.judged.get(protocol, 0) for each in summaries)
    n_figures = sum(each.published for each in summaries)
    if not judged:
        return "not run yet" if n_figures else "-"
    reached = sum(each.reached.get(protocol, 0) for each in summaries)
    left = f", {n_figures - judged} not run" if judged < n_figures else ""
    return f"{reached} of {judged}{left}"


def _hours(records, keys):
    seconds = [records.get(key).get("seconds") for key in sorted(keys)]
    known = [each for each in seconds if each is not None]
    return f"{sum(known) / 3600:.2f}" if known else "-"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--add", help="folder of `manyhands reproduce --out`")
    given = parser.parse_args()
    if given.add:
        add_records(given.add)
    with tempfile.TemporaryDirectory() as folder:
        write_pages(folder)
        for page in sorted(Path(folder).rglob("*")):
            if page.suffix in {".md", ".png", ".csv"}:
                shutil.copy(page, HOME / page.relative_to(folder))
