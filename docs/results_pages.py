"""Write the pages of results from recorded runs.

python docs/results_pages.py                    from the records that are there
python docs/results_pages.py --add DIR          first take over the records of `reproduce --out DIR`
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import manyhands as mh
from manyhands.experiments import RecordStore, Request

HOME = Path(__file__).parent / "results"
RECORDS = HOME / "records"
HEAD = """\
# Results

Every table and figure of five papers on learning from crowds, beside our own runs. `manyhands
reproduce --list --data DIR` shows what can be run and how long it takes, `manyhands reproduce NAME
--data DIR` runs it; each page says its command. The pages are made from the recorded runs in the
folder `records` beside them, a line of JSON each.

Nothing on these pages was chosen with clean labels: end-to-end methods find their epoch with labels
of the crowd that are kept aside and are then trained on all labels; two-stage methods and `truth`
take their last epoch. Truth only scores. A verdict says *reached* where we are within a point
(0.01 of a share) of the published figure.
"""
TRAPS = """\
## What the rule of selection is worth

Published accuracies differ in how the epoch that they report was chosen, and papers often do not
say. Two practices are common in public code. One takes the epoch with the best accuracy on *clean*
validation labels: a project that learns from crowds because it has no clean labels cannot do that.
The other takes the best epoch on the test items themselves: the figure is then the best of many
looks at the answer, and cannot be expected of new items. Both are easy to slip into, because
ordinary training, where clean labels are at hand, keeps the best epoch in much the same way.

[The same methods under four rules](ours-selection-rules.md), ten runs each: beside the rule by the
crowd's own labels, choosing by clean validation labels adds 0.6 to 1.6 points on LabelMe, and
choosing on the test items 1.0 to 2.1 points there and 1.3 to 2.6 on music. That is as much as most
methods differ from each other in the published tables.
"""


def add(folder):
    """Take over new records of a run, into the file of the first experiment that needs them."""
    fresh = RecordStore(folder)
    known = everything()
    RECORDS.mkdir(parents=True, exist_ok=True)
    for experiment in mh.EXPERIMENTS.values():
        wanted = {task.key for task in experiment.tasks(Request(recorded=True))}
        new = [key for key in wanted if fresh.finished(key) and not known.finished(key)]
        if new:
            path = RECORDS / f"{experiment.file_name}.jsonl"
            with path.open("a") as stream:
                for key in sorted(new):
                    stream.write(json.dumps(fresh.get(key), sort_keys=True) + "\n")
                    known._records[key] = fresh.get(key)


def everything():
    """All committed records in one store."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [path.read_text() for path in sorted(RECORDS.glob("*.jsonl"))]
        (Path(folder) / "records.jsonl").write_text("".join(lines))
        return RecordStore(folder)


def pages(folder):
    """Write every page and figure into a folder."""
    store, folder = everything(), Path(folder)
    for experiment in mh.EXPERIMENTS.values():
        experiment.write(store, Request(recorded=True), folder)
    (folder / "index.md").write_text(index(store))


def index(store):
    """The first page: what there is, and how long it took."""
    lines = [HEAD, "## Tables and figures", ""]
    lines += [
        "| page | paper | title | runs | hours on one core |",
        "| --- | --- | --- | --- | --- |",
    ]
    counted, whole = set(), 0.0
    for name, experiment in mh.EXPERIMENTS.items():
        tasks = experiment.tasks(Request(recorded=True))
        keys = {task.key for task in tasks if store.finished(task.key)}
        seconds = sum(store.get(key)["seconds"] for key in keys)
        whole += sum(store.get(key)["seconds"] for key in keys - counted)
        counted |= keys
        paper = experiment.paper.split(",")[0]
        lines.append(f"| [{name}]({experiment.file_name}.md) | {paper} | {experiment.title} | "
                     f"{len(keys)} | {seconds / 3600:.2f} |")  # fmt: skip
    peak = max(store.get(key)["peak_mib"] for key in counted) / 1024
    told = (
        f"Together {len(counted)} different runs and {whole / 3600:.1f} hours on one core, half of "
    )
    lines += ["", f"{told}that on two; no process had more than {peak:.2f} GiB."]
    names = "\n".join(each.file_name for each in mh.EXPERIMENTS.values())
    return "\n".join([*lines, "", TRAPS, f"```{{toctree}}\n:hidden:\n\n{names}\n```"]) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--add", help="folder of `manyhands reproduce --out`")
    given = parser.parse_args()
    if given.add:
        add(given.add)
    with tempfile.TemporaryDirectory() as made:
        pages(made)
        for place in sorted(Path(made).iterdir()):
            if place.suffix in {".md", ".png"}:
                shutil.copy(place, HOME / place.name)
