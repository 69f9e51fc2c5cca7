"""manyhands report: one page about labels, annotators and items."""

import shlex
import sys
import warnings
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.feature_options import FeatureColumns, matched
from manyhands.cli.options import in_labels, in_output
from manyhands.cli.pair_options import PairOptions
from manyhands.cli.ranking import report_pairs
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import SettingError


def typed(reading: options.LabelOptions) -> list[str]:
    """The options of reading that were given, as they are typed in all commands that use labels.

    >>> typed(options.LabelOptions(item="photo", missing=["NA", "?"], bounds="1:5"))
    ['--item', 'photo', '--missing', 'NA', '--missing', '?', '--range', '1:5']
    """
    words = []
    for each in fields(options.LabelOptions):
        value = getattr(reading, each.name)
        if value is None or value == each.default:
            continue
        name = "range" if each.name == "bounds" else each.name.replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name}", str(one)]
    return words


@dataclass(frozen=True, kw_only=True)
class Request(options.OptionGroup):
    """What to report on, and where the page goes."""

    labels: options.AnyLabelsFiles
    out: Annotated[
        str, in_output("Page to write (.html); - is standard output.", metavar="FILE")
    ] = "report.html"
    method: Annotated[
        str | None,
        options.option(
            "Aggregator of the consensus: {AGGREGATORS classes}; for ordinal labels also "
            "{AGGREGATORS ordinal}; for sets {AGGREGATORS multilabel}; for numbers "
            "{AGGREGATORS numbers}; for comparisons {PAIR_AGGREGATORS}. auto takes the best on "
            "held-out labels.",
            autocompletion=options.completed("AGGREGATORS", "PAIR_AGGREGATORS"),
            show_default="annotator-types; for numbers gaussian, for comparisons crowd-bt",
        ),
    ] = None
    title: Annotated[
        str | None,
        in_output("Heading of the page.", metavar="TEXT", show_default="name of the file"),
    ] = None
    anonymous: Annotated[
        bool,
        in_output("Replace names of annotators and items by numbers, and leave out texts. Classes "
                  "keep their names.", "--anonymous"),
    ] = False  # fmt: skip
    features: Annotated[
        str | None,
        in_labels("Features of the items, as manyhands train takes them: a network is trained, and "
                  "what it says stands beside the consensus.", metavar="FILE"),
    ] = None  # fmt: skip
    truth: options.Truth = None
    seed: options.Seed = 0
    json: options.Json = False
    pairs: PairOptions
    reading: options.TimedLabelOptions
    columns: FeatureColumns

    @cached_property
    def file(self) -> "mh.io.LabelFile":
        """The file of labels."""
        return self.reading.file(self.labels)

    @property
    def as_typed(self) -> str:
        """The labels in a command that reads them in the same way."""
        return shlex.join([*self.labels, *typed(self.reading)])

    @property
    def heading(self) -> str:
        """The heading of the page; the name of a file is a name of the data."""
        if self.title is not None:
            return self.title
        known = not self.anonymous and self.file.shown not in ("-", mh.io.STANDARD_INPUT)
        return f"Report on {Path(self.file.shown).name}" if known else "Annotation report"


@options.takes_groups
def report(request: Request) -> None:
    """Write a page on labels, agreement, annotators and items.

    The page begins with a summary in words: what there is, how far annotators agree, whom to
    trust, and what to do next. Then come annotators with their quality, their typical mistakes and
    flags (labels at random, always the same, against the truth, copied), agreement by class,
    confusions, and items to relabel. It is one file that makes no request: it can be sent on,
    printed, and read on a phone.

    LABELS is a table, or what an annotation tool exported. --truth adds scores and the calibration
    of the confidence. --features trains a network and shows where it differs.

    Of comparisons of two items the page has the ranking with its intervals, and annotators.

    Example: manyhands report labels.csv --out report.html

    Example: manyhands report export.json --anonymous --out for-the-team.html

    Example: manyhands report labels.csv --truth gold.csv --title "Second round" --out report.html
    """
    read = [*request.file.names, request.truth, request.features]
    output.require_targets(for_tools=[request.out], read=read)
    if request.out != "-" and Path(request.out).suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"--out must end in .html; got {request.out}")
    compared = request.pairs.file(request.file)
    if compared is not None:
        report_pairs(request, compared)
        return
    tagging = request.file.tokens is not None
    with warnings.catch_warnings():  # the page tells them
        warnings.simplefilter("ignore", mh.aggregation.ConsensusWarning)
        content = (_report_tokens if tagging else _report_items)(request)
    if request.out == "-":
        sys.stdout.write(mh.report.render(content))
        n_bytes = 0
    else:
        n_bytes = mh.report.write_report(content, request.out)
    _tell(request, content, n_bytes)


def _report_items(request: Request) -> dict[str, Any]:
    reading = request.reading
    truth = reading.truth(request.truth)
    with output.working(f"reading {request.file.shown}"):
        ann = request.file.read_items()
    output.told(ann)
    with output.working("aggregating"):
        known = ann.source.known if ann.source else {}
        consensus = mh.aggregate(ann, request.method, known=known)
    network = None if request.features is None else _network_view(request, ann)
    with output.working("writing the report"):
        return mh.report.report_content(
            consensus, title=request.heading, truth=truth, network=network,
            anonymous=request.anonymous, file=request.as_typed,
        )  # fmt: skip


def _report_tokens(request: Request) -> dict[str, Any]:
    if request.features is not None:
        raise SettingError("--features is for labels of items; leave it out for tagged tokens")
    gold = request.reading.true_tags(request.truth)
    with output.working(f"aggregating {request.file.shown}"):
        marked = request.file.read_tokens()
        labels, ann = marked.labels, marked.labels.annotations
        known = ann.source.known if ann.source else {}
        found = mh.aggregate_tokens(labels.sentences, ann, request.method, known=known)
        truth = None
        if gold is not None:
            mh.io.require_same_tokens(
                request.file.shown, labels.sentences, request.truth, gold.sentences
            )
            truth = dict(zip(ann.items.tolist(), gold.tags.tolist(), strict=True))
    for note in output.token_notes(marked, request.reading.orphan_tags):
        output.remark(f"note: {note}")
    return mh.report.report_content(
        found.tokens, title=request.heading, truth=truth, anonymous=request.anonymous,
        agreement=mh.agreement.summarize_tokens(labels), file=request.as_typed,
        spans=mh.report.SpanView(labels=labels, consensus=found),
    )  # fmt: skip


def _network_view(request: Request, ann: "mh.Annotations") -> "mh.report.NetworkView":
    """Train the default network of the task on the features, and let it predict all items."""
    assert request.features is not None, "features were given"
    table = matched(request.columns.read(request.features, request.reading), ann, request.features)
    model: Any = mh.estimators.estimator_for(ann.kind)(seed=request.seed)
    items = None if table.kind == "images" else table.items
    with output.noting():
        model.fit(table.X, ann, X_items=items)
        found = model.prediction_columns(table.X)
    predicted, sure = found["label"], found.get("confidence", np.ones(len(table.X)))
    row = mh.annotations.Vocabulary.of(table.items.tolist(), "item").codes(ann.items.tolist())
    labels: AnyArray = np.full(ann.n_items, np.nan if ann.kind == "numbers" else None, dtype=object)
    labels[row >= 0] = predicted[row[row >= 0]]
    confidence = np.where(row >= 0, sure[row], 0.0)
    return mh.report.NetworkView(method=model.method, labels=labels, confidence=confidence)


def _tell(request: Request, content: dict[str, Any], n_bytes: int) -> None:
    facts = {
        "report": request.out,
        "bytes": n_bytes,
        "method": content["method"],
        **content["sizes"],
        "summary": content["summary"],
        "flags": {
            row["name"]: [flag["kind"] for flag in row["flags"]]
            for row in content["annotators"]["rows"]
            if row["flags"]
        },
        "relabel": content["items"]["relabel"]["n"],
    }
    if request.json and request.out != "-":
        output.say_json(facts)
        return
    say = output.remark if request.out == "-" else output.say
    titles = {"have": "What we have", "agree": "How far annotators agree",
              "trust": "Whom to trust", "next": "What to do next"}  # fmt: skip
    for name, title in titles.items():
        say(f"{title}:")
        for line in content["summary"][name]:
            say(f"  {line}")
    if request.out != "-":
        say(f"report in {request.out} ({n_bytes / 1e6:.1f} MB); open it in a browser")
