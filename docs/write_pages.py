"""Write every page of the documentation that is made from records or from a registry.

python docs/write_pages.py              from the committed records
python docs/write_pages.py --add DIR    first add the records of `manyhands reproduce --out DIR`
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).parent
sys.path[:0] = [str(HOME.parent), str(HOME)]  # the benchmarks, and the module beside this one

import method_table  # noqa: E402
from benchmarks.pages import PAGES  # noqa: E402

import manyhands as mh  # noqa: E402
from manyhands.experiments import FILE, Records, RecordStore, RunOptions  # noqa: E402

RECORDS = HOME / "results" / "records"
ALL = RunOptions(recorded=True)
HEAD = """\
# Results

Every table and figure of five papers on learning from crowds, beside our own runs, and our own
experiments. `manyhands reproduce --list --data DIR` shows what can be run and how long it takes.
`manyhands reproduce NAME --data DIR` runs an experiment; each page shows its command. The pages are
written from the records in the folder `records` beside them, one line of JSON per run.

No result on these pages was selected with clean labels, except where a page says so. End-to-end
methods choose their epoch with held-out crowd labels and are then trained on all labels; two-stage
methods and `truth` use their last epoch. The truth is used for scoring only. The verdict *reached*
means that our result is within one point (0.01 of a share) of the published one.
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
    return Records.read(sorted(RECORDS.glob("*.jsonl")))


def add_records(folder):
    """Add new records of a run to the file of the first experiment that needs them."""
    new, known = Records.read([Path(folder) / FILE]), read_records()
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
    for name, text in {**others, method_table.PAGE: method_table.page()}.items():
        (Path(docs) / name).parent.mkdir(parents=True, exist_ok=True)
        (Path(docs) / name).write_text(text)


def index(records):
    """The first page of the results: all experiments, and how long they took."""
    lines = [HEAD, "## Tables and figures", ""]
    lines += [
        "| page | paper | title | runs | hours on one core |",
        "| --- | --- | --- | --- | --- |",
    ]
    counted = set()
    for name, experiment in mh.EXPERIMENTS.items():
        keys = {run.key for run in experiment.runs(ALL) if records.finished(run.key)}
        counted |= keys
        paper = experiment.paper.split(",")[0]
        lines.append(f"| [{name}]({experiment.file_name}.md) | {paper} | {experiment.title} | "
                     f"{len(keys)} | {_hours(records, keys)} |")  # fmt: skip
    peaks = [records.get(key).get("peak_mib") for key in counted]
    peak = max(each for each in peaks if each is not None) / 1024
    lines += [
        "",
        f"Together {len(counted)} different runs and {_hours(records, counted)} hours on one core, "
        f"half of that on two. No process used more than {peak:.2f} GiB.",
    ]
    names = "\n".join(each.file_name for each in mh.EXPERIMENTS.values())
    return "\n".join([*lines, "", SELECTION, f"```{{toctree}}\n:hidden:\n\n{names}\n```"]) + "\n"


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
            if page.suffix in {".md", ".png"}:
                shutil.copy(page, HOME / page.relative_to(folder))
