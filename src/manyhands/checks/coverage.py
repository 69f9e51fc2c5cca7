"""Whether there are enough labels: per item, per annotator, per table."""

import numpy as np

from manyhands.checks.chart import Chart, percent
from manyhands.checks.finding import Finding, Severity

MOST_ITEMS = 0.5  # a fault of more than half the items makes the consensus doubtful
SOME_ITEMS = 0.05
FEW_LABELS = 5


def single_label_items(chart: Chart) -> list[Finding]:
    """Items that only one annotator labelled: nothing can confirm or correct that label."""
    n_i = chart.once.labels_per_item
    single, n_labelled = np.flatnonzero(n_i == 1), int(np.count_nonzero(n_i))
    if len(single) == 0:
        return []
    share = len(single) / n_labelled
    message = (
        f"a single annotator for {len(single)} of {n_labelled} labelled items "
        f"({percent(len(single), n_labelled)}); their consensus is that one label"
    )
    remedy = "have them labelled by two more people, those first that matter most"
    severity: Severity = "warning" if share > MOST_ITEMS else "note"
    return [chart.about_items(severity, message, remedy, single)]


def unlabelled_items(chart: Chart) -> list[Finding]:
    """Items that are listed, or stand in the table, without a label that can be used."""
    n_items = len(chart.rows.items)
    bare = np.flatnonzero(np.bincount(chart.rows.item[chart.usable], minlength=n_items) == 0)
    if len(bare) == 0:
        return []
    message = (
        f"no label that can be used for {len(bare)} of {n_items} items "
        f"({percent(len(bare), n_items)}); their consensus can only be a guess"
    )
    remedy = "have them labelled, or leave them out"
    severity: Severity = "warning" if len(bare) / n_items > SOME_ITEMS else "note"
    return [chart.about_items(severity, message, remedy, bare)]


def few_labels_annotators(chart: Chart) -> list[Finding]:
    """Annotators with so few labels that no portrait of them can be drawn."""
    n_a = chart.once.labels_per_annotator
    few = np.flatnonzero((n_a > 0) & (n_a < FEW_LABELS))
    if len(few) == 0:
        return []
    held, total = int(n_a[few].sum()), int(n_a.sum())
    message = (
        f"{len(few)} of {int(np.count_nonzero(n_a))} annotators gave fewer than {FEW_LABELS} "
        f"labels; together they hold {percent(held, total)} of all labels"
    )
    remedy = "treat their portraits as guesses; ask fewer people for more labels each"
    severity: Severity = "warning" if held > total / 2 else "note"
    worst = few[np.argsort(n_a[few], kind="stable")]
    return [chart.about_annotators(severity, message, remedy, worst)]


def too_few_annotators(chart: Chart) -> list[Finding]:
    """A table of one or two annotators: nobody can tell who of them is right."""
    n_a = chart.once.labels_per_annotator
    present = np.flatnonzero(n_a)
    if len(present) == 0 or len(present) > 2:
        return []
    if len(present) == 1:
        message = "all labels come from one annotator; nobody confirms or corrects them"
        remedy = "have some items labelled by others, or use the labels as they are"
        return [chart.about_annotators("warning", message, remedy, present)]
    message = "all labels come from two annotators; where they differ nobody decides"
    remedy = "have the items they differ on labelled by a third"
    return [chart.about_annotators("note", message, remedy, present)]
