"""The tables of the guide to methods, written from records; `write_pages.py` writes them.

The text of the page is written by hand. What stands between `<!-- from records: NAME -->` and
`<!-- end of NAME -->` is replaced by the table of that name.
"""

import re

import numpy as np

import manyhands as mh
from manyhands.evaluation import summarize_runs
from manyhands.experiments import RunOptions, markdown_table
from manyhands.experiments.compared_methods import (
    differs,
    paired_difference,
    shown_difference,
)
from manyhands.experiments.pages import mean_and_deviation

PAGE = "how-to/which-method.md"
CORPORA = ("labelme", "music", "sentiment")
ALL = RunOptions(recorded=True)
BOUND = "truth"  # learns from the truth: no method
BETTER, WORSE = "▲", "▼"
PAIRS = (  # what the text compares: the first, and what it is above or below
    ("two-stage-dawid-skene", "two-stage-majority"),
    ("em", "two-stage-dawid-skene"),
    ("max-mig", "two-stage-dawid-skene"),
    ("conal", "two-stage-dawid-skene"),
    ("cross-fit", "two-stage-dawid-skene"),
    ("conal", "em"),
    ("cross-fit", "em"),
    ("cross-fit", "geocrowdnet"),
    ("crowd-layer-mw", "conal"),
    ("crowd-layer-over", "crowd-layer-mw"),
    ("speelfc", "crowd-layer-mw"),
    ("geocrowdnet", "speelfc"),
    ("trace-reg", "speelfc"),
    ("conal-groups", "conal"),
    ("mixture", "em"),
    ("raykar", "em"),
    ("ma-lr", "two-stage-majority"),
)
TRIED = ("two-stage-majority", "two-stage-dawid-skene", "em", "conal", "cross-fit", BOUND)
TOGETHER = (
    "two-stage-majority", "two-stage-dawid-skene", "em", "conal", "geocrowdnet", "cross-fit",
)  # fmt: skip
NAMELESS = (
    "two-stage-majority", "two-stage-dawid-skene", "em", "mixture", "mixture-e2e", "speelfc",
    "crowd-layer-mw", BOUND,
)  # fmt: skip
CROWDS = (
    "two-stage-majority", "two-stage-dawid-skene", "em", "mixture", "mixture-e2e", "speelfc",
    "crowd-layer-mw", "cross-fit", BOUND,
)  # fmt: skip
RATINGS = (
    "two-stage-mean", "two-stage-gaussian", "em-regression", "doctor-net", "weighted-doctor-net",
    "crowd-layer-s", "crowd-layer-sb", "crowd-layer-b", "cross-fit", "ma-slda-r", BOUND,
)  # fmt: skip
TAGS = (
    "two-stage-majority", "two-stage-dawid-skene", "em", "doctor-net", "weighted-doctor-net",
    "crowd-layer-mw", "speelfc", "crf-ma", "bsc-crf", BOUND,
)  # fmt: skip


class Comparison:
    """The records of `ours/comparison`, by corpus and method."""

    def __init__(self, records):
        self.experiment = mh.EXPERIMENTS["ours/comparison"]
        self.planned = self.experiment.groups(ALL)
        self.found = self.experiment.found(records, ALL)
        self.methods = list(dict.fromkeys(method for _, method in self.planned))
        self.default = mh.CrowdClassifier().method

    def scored(self, corpus, method):
        """The records of the runs that were made and did not fail."""
        return [each for each in self.found.get((corpus, method), []) if "scores" in each]

    def finished(self, corpus, method):
        """Whether all runs were made and none failed."""
        planned = self.planned.get((corpus, method))
        return planned is not None and len(self.scored(corpus, method)) == len(planned)

    def settled(self, corpus, *methods):
        """Whether all runs of methods were made, even if some failed: only then they are judged."""
        return all(
            len(self.found.get((corpus, each), [])) == len(self.planned.get((corpus, each), [0]))
            for each in methods
        )

    def difference(self, corpus, one, other):
        """How much better the first is; None as long as runs of one of them are to be made."""
        if not self.settled(corpus, one, other):
            return None
        return paired_difference(self.scored(corpus, one), self.scored(corpus, other))

    def shown(self, corpus, one, other):
        """The same as text that stays on one line."""
        if not self.settled(corpus, one, other):
            return "not finished"
        shown = shown_difference(self.scored(corpus, one), self.scored(corpus, other))
        return shown.replace(" ", "\N{NO-BREAK SPACE}")

    def mark(self, corpus, method):
        """Whether it differs from the default."""
        found = self.difference(corpus, method, self.default)
        if method == self.default or found is None or not differs(found):
            return ""
        return BETTER if found.mean > 0 else WORSE

    def standing(self, method):
        """On how many corpora it is better than the default less worse, and the mean difference."""
        found = [self.difference(each, method, self.default) for each in CORPORA]
        marks = [self.mark(each, method) for each in CORPORA]
        means = [each.mean for each in found if each is not None]
        return marks.count(BETTER) - marks.count(WORSE), float(np.mean(means)) if means else -np.inf

    def accuracy(self, corpus, method):
        """A cell of the main table."""
        planned = self.planned.get((corpus, method))
        if planned is None:
            return "no such features"
        scored = self.scored(corpus, method)
        if not scored:
            return "not run yet"
        shown = _mean([100 * each["scores"]["accuracy"] for each in scored])
        failed = sum("error" in each for each in self.found[corpus, method])
        notes = [] if len(scored) == len(planned) else [f"{len(scored)} of {len(planned)} runs"]
        notes += [f"{failed} failed"] if failed else []
        mark = self.mark(corpus, method)
        return shown + (f" {mark}" if mark else "") + (f" ({', '.join(notes)})" if notes else "")


def main_table(records):
    """Accuracies of every method, best first."""
    comparison = Comparison(records)
    methods = [each for each in comparison.methods if each != BOUND]
    methods.sort(key=lambda each: (comparison.standing(each), each), reverse=True)
    rows = [
        [f"`{method}`", *(comparison.accuracy(corpus, method) for corpus in CORPORA)]
        for method in [*methods, BOUND]
    ]
    return markdown_table(["method", *CORPORA], rows, left=1)


def against_default(records):
    """Differences to the default of all methods that are better on a corpus."""
    comparison = Comparison(records)
    better = [
        method
        for method in comparison.methods
        if method != BOUND and BETTER in [comparison.mark(each, method) for each in CORPORA]
    ]
    better.sort(key=lambda each: (comparison.standing(each), each), reverse=True)
    rows = [
        [f"`{method}`", *(comparison.shown(each, method, comparison.default) for each in CORPORA)]
        for method in better
    ]
    return markdown_table([f"above `{comparison.default}`", *CORPORA], rows, left=1)


def pairs_table(records):
    """Differences of the pairs that the text compares."""
    comparison = Comparison(records)
    rows = [
        [f"`{one}` above `{other}`", *(comparison.shown(each, one, other) for each in CORPORA)]
        for one, other in PAIRS
    ]
    return markdown_table(["", *CORPORA], rows, left=1)


def choice_table(records):
    """What the default rate and dropout give, and what the settings that are chosen give."""
    comparison = Comparison(records)
    rows = []
    for method in TRIED:
        cells = []
        for corpus in CORPORA:
            scored = comparison.scored(corpus, method)
            scored = [each for each in scored if "accuracy" in each["tried"][0]]
            first = [100 * each["tried"][0]["accuracy"] for each in scored]
            chosen = [100 * each["scores"]["accuracy"] for each in scored]
            change = f"{np.mean(first):.1f} → {np.mean(chosen):.1f}" if scored else "not run yet"
            cells.append(change.replace(" ", "\N{NO-BREAK SPACE}"))
        rows.append([f"`{method}`", *cells])
    return markdown_table(["first → chosen settings", *CORPORA], rows, left=1)


def picks_table(records):
    """The method under which the held-out labels of a seed are most probable."""
    comparison = Comparison(records)
    ways = {"pick": [], "best possible": [], "average method": [], "`two-stage-majority`": []}
    n_methods = []
    for corpus in CORPORA:
        finished = [
            each
            for each in comparison.methods
            if each != BOUND and comparison.finished(corpus, each)
        ]
        n_methods.append(str(len(finished)))
        means = picked_accuracies(comparison, corpus, finished)
        for way, mean in zip(ways, means, strict=True):
            ways[way].append("not run yet" if mean is None else f"{100 * mean:.1f}")
    rows = [["methods", *n_methods], *([way, *cells] for way, cells in ways.items())]
    return markdown_table(["", *CORPORA], rows, left=1)


def picked_accuracies(comparison, corpus, methods):
    """Mean accuracy of the pick, of the best, of all, and of the majority."""
    by_seed = {}
    for method in methods:
        for each in comparison.scored(corpus, method):
            by_seed.setdefault(each["seed"], {})[method] = each
    picks = []
    for found in by_seed.values():
        accuracies = {method: each["scores"]["accuracy"] for method, each in found.items()}
        likely = {method: each["tried"][each["chosen"]]["held_out"]
                  for method, each in found.items()}  # fmt: skip
        picks.append([
            accuracies[max(likely, key=likely.get)],
            max(accuracies.values()),
            float(np.mean(list(accuracies.values()))),
            accuracies.get("two-stage-majority", np.nan),
        ])  # fmt: skip
    means = np.mean(picks, axis=0) if picks else np.full(4, np.nan)
    return [None if np.isnan(each) else float(each) for each in means]


def together_table(records):
    """Accuracies of network and labels together, on the training items."""
    comparison = Comparison(records)
    rows = []
    for method in TOGETHER:
        found = {corpus: comparison.scored(corpus, method) for corpus in CORPORA}
        means = [100 * np.mean([each["scores"]["inferred"] for each in runs]) if runs else None
                 for runs in found.values()]  # fmt: skip
        rows.append([f"`{method}`", *("not run yet" if x is None else f"{x:.1f}" for x in means)])
    return markdown_table(["method", *CORPORA], rows, left=1)


def nameless_table(records):
    """LabelMe with and without the names of annotators, and how close confusions are."""
    columns = {
        "annotators known": "labelme/individual/accuracy",
        "unknown": "labelme/global/accuracy",
        "distance of confusions": "labelme/individual/i-js",
    }
    return cells_table(records, "p4/table-3", NAMELESS, columns, 2, {"labelme/individual/i-js": 4})


def crowds_table(records):
    """Simulated crowds by the number of annotators."""
    columns = {f"T = {n}": f"simulated/setup-1/T={n}/accuracy" for n in (100, 1500, 10000)}
    return cells_table(records, "p4/table-2", CROWDS, columns, 1)


def ratings_table(records):
    """R2 on reviews of films."""
    return cells_table(records, "p0/table-2", RATINGS, {"R2": "moviereviews/r2"}, 2)


def tags_table(records):
    """F1, precision and recall of entities."""
    columns = {name: f"ner/{name.lower()}" for name in ("Precision", "Recall", "F1")}
    return cells_table(records, "p0/table-3", TAGS, columns, 4)


def cells_table(records, name, methods, columns, digits, others=None):
    """Cells of a published table by our protocol, of rows with default settings.

    `others` are the decimals of columns that have not `digits`.
    """
    decimals = [(others or {}).get(key, digits) for key in columns.values()]
    found = {
        (cell.row.method, cell.column.key): cell.result("ours", records)
        for cell in reversed(mh.EXPERIMENTS[name].cells(ALL))
        if not cell.row.options and "ours" in cell.runs_by
    }
    rows = []
    for method in methods:
        results = [found[method, key] for key in columns.values()]
        rows.append([f"`{method}`", *map(_cell, results, decimals)])
    return markdown_table(["method", *columns], rows, left=1)


def _cell(result, digits):
    scores = result.scores
    if not scores:
        return "not run yet"
    part = "" if len(scores) == result.n_planned else f" ({len(scores)} of {result.n_planned} runs)"
    return _mean(scores, digits) + part


def _mean(scores, digits=1):
    summary = summarize_runs(scores)
    return mean_and_deviation(summary.mean, summary.deviation, digits)


TABLES = {
    "accuracies": main_table,
    "differences to the default": against_default,
    "differences": pairs_table,
    "choice of settings": choice_table,
    "with labels": together_table,
    "picks": picks_table,
    "unknown annotators": nameless_table,
    "large crowds": crowds_table,
    "ratings": ratings_table,
    "tags": tags_table,
}
_TABLE = re.compile(r"(<!-- from records: ([a-z ]+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def page(text, records):
    """The text of the page with its tables written again."""
    named = [name for _, name, _ in _TABLE.findall(text)]
    if sorted(named) != sorted(TABLES):
        raise ValueError(f"the page has the tables {named}; expected {list(TABLES)}")
    return _TABLE.sub(lambda found: f"{found[1]}\n{TABLES[found[2]](records)}\n\n{found[3]}", text)


def without_tables(text):
    """What is written by hand."""
    return _TABLE.sub("", text)
