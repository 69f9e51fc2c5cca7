"""What a method makes of labels: the content of a report, tables to download, and comparisons."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from manyhands.aggregation import (
    AGGREGATORS,
    AUTO,
    DEFAULTS,
    Comparison,
    Consensus,
    ConsensusWarning,
    aggregate,
    aggregate_tokens,
    aggregators_for,
    compare,
    select,
)
from manyhands.agreement import summarize_tokens
from manyhands.annotations import Kind
from manyhands.core.arrays import AnyArray
from manyhands.io import write_table
from manyhands.report.content import Content, report_content
from manyhands.report.items import choose_items
from manyhands.report.live.jobs import Job
from manyhands.report.live.reading import ReadLabels
from manyhands.report.page import write_report
from manyhands.report.spans import SpanView

# For people who do not know the literature; other methods have the first line of their docstring.
IN_WORDS = {
    "annotator-types": "Finds careful annotators, groups that make the same mistakes, and "
    "spammers.",
    "majority": "The label that most annotators gave. Everyone counts the same.",
    "dawid-skene": "Learns what each annotator confuses. For annotators with many labels each.",
    "one-coin": "Learns how often each annotator is right. For few labels.",
    "glad": "Annotators differ in skill, and items in difficulty.",
    "worker-clustering": "Annotators of one group make the same mistakes.",
    "common-noise": "Some mistakes are shared by everyone, and others are personal.",
    "mixture": "Every label comes from one of a few ways to label.",
    "ebcc": "Items of one class come in kinds that are confused in different ways.",
    "bsc-seq": "For words of sentences: knows which tag follows which, and what each annotator "
    "confuses.",
    "ordinal-thresholds": "For levels: learns where each annotator draws the line between them.",
    "ordinal-dawid-skene": "For levels: learns what each annotator confuses, mostly neighbours.",
    "multilabel-majority": "A class applies if more than half say it. Everyone counts the same.",
    "multilabel-dawid-skene": "Learns which classes each annotator misses, or says too often.",
    "multilabel-mixture": "The same, and knows which classes go together.",
    "mean": "The mean of the numbers. Everyone counts the same.",
    "median": "The number in the middle: single wild numbers do not matter.",
    "gaussian": "Learns who gives too high or too low numbers, and who is precise.",
}


@dataclass
class Result:
    """What one method makes of a file; complete when its job is done."""

    id: str
    file: str
    method: str
    job: Job
    folder: Path
    consensus: Consensus | None = None
    words: AnyArray | None = None
    n_left_out: int = 0  # annotators
    content: Content = field(default_factory=dict)

    @property
    def downloads(self) -> tuple[str, ...]:
        """The files that there are."""
        return tuple(name for name in DOWNLOADS if (self.folder / name).is_file())


DOWNLOADS = {
    "consensus.csv": "Consensus of every item",
    "annotators.csv": "Table of annotators",
    "relabel.csv": "Items to relabel",
    "report.html": "Report as one page",
}


@dataclass
class MethodTable:
    """Several methods on one file, ranked; complete when its job is done."""

    id: str
    file: str
    methods: list[str]
    job: Job
    folder: Path
    table: Comparison | None = None
    verdict: str = ""


def methods_for(kind: Kind) -> list[tuple[str, str]]:
    """Methods for such labels with what they do, in words; the default comes first.

    >>> methods_for("numbers")[0][0]
    'gaussian'
    """
    names = aggregators_for(kind)
    names.sort(key=lambda name: name != DEFAULTS[kind])
    found = [(name, IN_WORDS.get(name) or _first_line(name)) for name in names]
    if kind in ("classes", "ordinal"):
        auto = "Tries several, and takes the one that predicts held-out labels best. Takes longer."
        found.insert(1, (AUTO, auto))
    return found


def _first_line(name: str) -> str:
    return (AGGREGATORS[name].__doc__ or "").strip().partition("\n")[0]


N_STEPS = 3  # of a result


def make_result(labels: ReadLabels, result: Result, name: str) -> None:
    """Compute a result and write its tables; `name` is that of the file."""
    job, marked = result.job, labels.tokens
    with warnings.catch_warnings():  # the page tells them
        warnings.simplefilter("ignore", ConsensusWarning)
        job.begin("Combining the labels")
        agreement = columns = spans = None
        if marked is None:
            consensus = aggregate(labels.annotations, result.method)
        else:
            sentences = marked.labels.sentences
            found = aggregate_tokens(sentences, labels.annotations, result.method)
            consensus, spans = found.tokens, SpanView(labels=marked.labels, consensus=found)
            agreement = summarize_tokens(marked.labels)
            result.words = sentences.word
            columns = {"item": sentences.token_names, "word": sentences.word}
        job.advance()
        job.begin("Looking at annotators and items")
        content = report_content(
            consensus, title=f"Report on {name}", agreement=agreement, spans=spans, file=None
        )
        job.advance()
        job.begin("Writing tables and the report")
        result.folder.mkdir()
        _write(result.folder, consensus, (columns or {}) | consensus.item_columns(), content)
    result.consensus, result.content = consensus, content
    job.n_done += 1


def _write(
    folder: Path, consensus: Consensus, columns: dict[str, AnyArray], content: Content
) -> None:
    ann = consensus.annotations
    trusted = np.zeros(ann.n_annotators, dtype=bool)
    relabel = choose_items(consensus, trusted, most_relabel=ann.n_items).relabel
    write_table(columns, folder / "consensus.csv")
    write_table(consensus.annotator_columns(), folder / "annotators.csv")
    if len(relabel):
        write_table({key: each[relabel] for key, each in columns.items()}, folder / "relabel.csv")
    write_report(content, folder / "report.html")


def compare_methods(labels: ReadLabels, made: MethodTable) -> None:
    """Rank methods by labels that are held out: as `manyhands compare`, for classes --select."""
    ann, job = labels.annotations, made.job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        job.begin("Fitting the methods")
        if labels.task == "classification" and ann.kind == "classes":
            choice = select(ann, made.methods, done=job.advance)
            made.table, made.verdict = choice.table, choice.reason
        else:
            made.table = compare(ann, made.methods, done=job.advance)
    made.folder.mkdir()
    write_table(made.table.columns, made.folder / "comparison.csv")
