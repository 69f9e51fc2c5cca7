"""manyhands aggregate: labels -> consensus and annotators."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.engines import (
    EngineOptions,
    aggregate_spark,
    aggregate_stream,
    may_be_parted,
)
from manyhands.cli.options import in_labels, in_output
from manyhands.cli.pair_options import PairOptions
from manyhands.cli.ranking import aggregate_pairs
from manyhands.cli.scoring import Truths, score_lines
from manyhands.cli.tool_files import ToolFiles, written_lines
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class Request(options.OptionGroup):
    """What to aggregate, how, and where the results go."""

    labels: options.AnyLabelsFiles
    method: Annotated[
        str | None,
        options.option(
            "Aggregator: {AGGREGATORS classes}; for ordinal labels also {AGGREGATORS ordinal}; for "
            "sets of classes {AGGREGATORS multilabel}; for numbers {AGGREGATORS numbers}; for "
            "comparisons {PAIR_AGGREGATORS}. auto takes the best on held-out labels.",
            autocompletion=options.completed("AGGREGATORS", "PAIR_AGGREGATORS"),
            show_default="annotator-types; for sets multilabel-mixture, for numbers gaussian, for "
            "comparisons crowd-bt",
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        options.option("A setting of the method, such as max_iter=5. Repeatable.", "--set",
                       metavar="NAME=VALUE"),
    ] = None  # fmt: skip
    device: Annotated[
        Literal["cpu", "cuda"] | None,
        options.option("Where the passes over labels run; cuda is a GPU.", show_default="cpu"),
    ] = None
    out: options.OutFile = "-"
    annotators: options.AnnotatorsFile = None
    spans: Annotated[
        str | None, in_output("For tokens: table of entities to write.", metavar="FILE")
    ] = None
    tools: ToolFiles
    truth: options.Truth = None
    known: Annotated[
        str | None,
        in_labels("Table with columns item, truth: truths that the method may use.",
                  metavar="FILE"),
    ] = None  # fmt: skip
    calibrate: Annotated[
        str | None,
        in_labels("Table with columns item, truth: scale the confidence to match the accuracy on "
                  "these items.", metavar="FILE"),
    ] = None  # fmt: skip
    json: options.Json = False
    engine: EngineOptions
    pairs: PairOptions
    reading: options.LabelOptions

    @cached_property
    def file(self) -> "mh.io.LabelFile":
        """The file of labels; a method for sets reads sets."""
        reading, method = self.reading, self.method
        if reading.kind is None and method is not None and method in mh.AGGREGATORS:
            of_sets = mh.AGGREGATORS[method].kind == "multilabel"
            reading = replace(reading, kind="multilabel") if of_sets else reading
        return reading.file(self.labels)

    def settings(self, kind: "mh.annotations.Kind") -> dict[str, Any]:
        """The settings of the aggregator for this kind of labels."""
        method = self.method or mh.aggregation.DEFAULTS[kind]
        if method == mh.aggregation.AUTO:
            given = [
                name for name, value in (("--set", self.set_), ("--device", self.device)) if value
            ]
            if given:
                raise SettingError(f"{given[0]} goes with a named method; auto has no settings")
            return {}
        device = [] if self.device is None else [f"device={self.device}"]
        return mh.aggregation.parse_settings(method, [*(self.set_ or []), *device])


@options.takes_groups
def aggregate(request: Request) -> None:
    """Combine labels into a consensus, and profile annotators.

    The result is the most probable label of every item with its confidence, and with
    --annotators the quality of every annotator.

    The labels are classes, numbers or tags of tokens. Classes that have an order, such as ratings
    or bad, fair, good, are ordinal (--kind ordinal or --levels): the table then has the median and
    the expected level of every item, and a 90 % interval. Labels with several classes, such as
    cat;dog or a column of 0 and 1 per class, are sets (--kind multilabel): the table has the set of
    every item and the probability of each class. For tokens the tags form whole entities,
    --out may be a file of tokens with their tags (.conll .bio), --spans writes the entities as
    a table, and --truth gold.bio gives precision and recall of the entities.

    LABELS may be what an annotation tool exported: Label Studio, Prodigy, Argilla, doccano,
    Mechanical Turk. Then --suggestions writes the consensus for the tool, and --relabel the items
    that need more labels.

    LABELS may be comparisons: rows with two items and a winner or tie. The result is then the
    ranking of the items: scores, ranks and their intervals.

    Labels that do not fit into memory are aggregated in parts on disk (--engine stream) or on a
    Spark cluster (--engine spark), with the same result.

    Example: manyhands aggregate labels.csv --out consensus.csv --annotators annotators.csv

    Example: manyhands aggregate round1.csv round2.csv.gz --out consensus.csv

    Example: manyhands aggregate labels.csv --method glad --set max_iter=50

    Example: manyhands aggregate labels.parquet --method dawid-skene --device cuda --out out.parquet

    Example: manyhands aggregate "lake/*.parquet" --engine stream --memory 2 --out out.parquet

    Example: manyhands aggregate ratings.csv --task regression --range 1:5 --out consensus.csv

    Example: manyhands aggregate grades.csv --levels bad,fair,good --out consensus.csv

    Example: manyhands aggregate topics.csv --kind multilabel --out consensus.csv
    Example: manyhands aggregate pairs.csv --out ranking.csv --annotators annotators.csv

    Example: manyhands aggregate tokens.conll --out consensus.bio --spans entities.csv

    Example: manyhands aggregate export.json --suggestions predictions.json --relabel unsure.json
    """
    compared = request.pairs.file(request.file)
    if compared is not None:
        request.engine.require_unused(request.engine.engine or "memory")
        aggregate_pairs(request, compared)
        return
    if request.method in mh.PAIR_AGGREGATORS:
        raise SettingError(
            f"--method {request.method} ranks comparisons of two items, and these are labels of "
            "items; --kind pairs reads a table with two items in a row"
        )
    to_stream = "-" if request.json and request.annotators == "-" else None
    tabular = mh.scale.can_be_streamed(request.file)  # a large table is not opened to be sniffed
    engine = request.engine.chosen(request.file, tabular and may_be_parted(request))
    request.engine.require_unused(engine)
    tagging = engine == "memory" and request.file.tokens is not None
    table = None if engine == "spark" else request.out  # Spark writes a folder
    output.require_targets(
        table, request.annotators, request.spans, to_stream,
        read=[*request.file.names, request.truth, request.known, request.calibrate],
        tagged=request.out if tagging else None, for_tools=request.tools.names,
    )  # fmt: skip
    request.tools.require_use()
    _require_aggregator(request.method, "tagging" if tagging else request.reading.task)
    run = _aggregate_tokens if tagging else _aggregate_items
    if engine != "memory":
        run = aggregate_stream if engine == "stream" else aggregate_spark
    with warnings.catch_warnings():  # the summary tells them
        warnings.simplefilter("ignore", mh.aggregation.ConsensusWarning)
        run(request)


def _require_aggregator(method: str | None, task: str | None) -> None:
    """Raise an error for an unknown aggregator, or one for another kind of labels."""
    if method is None:
        return
    kind = "classes" if method == mh.aggregation.AUTO else mh.AGGREGATORS[method].kind
    wanted = {None: kind, "regression": "numbers"}.get(task, "classes")
    of_items = kind in ("ordinal", "multilabel")
    if (kind == "numbers") != (wanted == "numbers") or (of_items and task == "tagging"):
        fitting = mh.aggregation.aggregators_for(wanted)
        raise SettingError(
            f"--method must be for {wanted}; got {method}; there are {', '.join(fitting)}"
        )


def _aggregate_items(request: Request) -> None:
    if request.spans is not None:
        raise SettingError(
            f"--spans is for tagged tokens; {request.file.shown} has labels of items"
        )
    reading = request.reading
    truths = Truths.read(reading, request.truth)
    with output.working(f"aggregating {request.file.shown}"):
        ann = request.file.read_items()
        request.tools.require_targets(ann)
        known = {**(ann.source.known if ann.source else {}), **(reading.truth(request.known) or {})}
        consensus = mh.aggregate(ann, request.method, known=known, **request.settings(_kind(ann)))
    if request.calibrate is not None:
        consensus = consensus.calibrated(reading.truth(request.calibrate) or {})
    scores = truths.of_consensus(consensus)
    columns = consensus.item_columns()
    written = request.tools.write(consensus)
    if request.annotators:
        output.put_table(consensus.annotator_columns(), request.annotators)
    if request.out != "-" or not request.json:
        output.put_table(columns, request.out)
    facts = {"source": output.source_of(ann), "summary": _summary(consensus) | written}
    lines = _lines(request, consensus, scores) + written_lines(written)
    _tell(request, facts | scores, columns, lines)


def _aggregate_tokens(request: Request) -> None:
    if request.calibrate is not None:
        raise SettingError("--calibrate is for labels of items; leave it out for tagged tokens")
    reading = request.reading
    gold = reading.true_tags(request.truth)
    with output.working(f"aggregating {request.file.shown}"):
        marked = request.file.read_tokens()
        sentences, ann = marked.labels.sentences, marked.labels.annotations
        request.tools.require_span_targets(ann)
        if gold is not None:
            mh.io.require_same_tokens(request.file.shown, sentences, request.truth, gold.sentences)
        known = {**(ann.source.known if ann.source else {}), **(reading.truth(request.known) or {})}
        found = mh.aggregate_tokens(
            sentences, ann, request.method, known=known, **request.settings("classes")
        )
    scores: dict[str, Any] = {}
    if gold is not None:
        scores = mh.evaluation.score_entities(gold.tags, found.tags, sentences.offsets).as_dict()
    columns = output.with_words(sentences, found.item_columns())
    written = request.tools.write_spans(found)
    if request.annotators:
        output.put_table(found.tokens.annotator_columns(), request.annotators)
    if request.spans:
        output.put_table(found.span_columns(marked.texts), request.spans)
    if request.out != "-" or not request.json:
        output.put_tokens(sentences, found.tags, columns, request.out)
    notes = [*request.file.notes, *output.token_notes(marked, reading.orphan_tags)]
    lines = _token_lines(request, found, notes, scores) + written_lines(written)
    source = output.source_of(ann, request.file)
    facts = {"source": source, "summary": _token_summary(found, notes) | written}
    _tell(request, facts | {"scores": scores}, columns, lines)


def _tell(
    request: Request,
    facts: dict[str, Any],
    columns: dict[str, AnyArray],
    lines: list[str],
) -> None:
    if request.json:
        rows = {"consensus": output.records(columns)} if request.out == "-" else {}
        output.say_json(facts | rows)
        return
    for line in lines:
        (output.remark if request.out == "-" else output.say)(line)


def _kind(ann: "mh.Annotations") -> "mh.annotations.Kind":
    return "ordinal" if ann.ordered else ann.kind


def _summary(consensus: "mh.Consensus") -> dict[str, object]:
    ann = consensus.annotations
    return {
        "method": consensus.method_name,
        "task": "regression" if ann.kind == "numbers" else "classification", "kind": _kind(ann),
        "items": ann.n_items, "annotators": ann.n_annotators, "labels": ann.n_annotations,
        "classes": ann.classes.tolist(), "iterations": consensus.n_iterations,
        "converged": consensus.converged, "ties": int(consensus.tied.sum()),
        "mean_confidence": float(consensus.confidence.mean()),
        "confidence_is_calibrated": consensus.temperature != 1.0,
        "chosen": consensus.chosen, "warnings": list(consensus.warnings),
    }  # fmt: skip


def _lines(request: Request, consensus: "mh.Consensus", scores: Mapping[str, Any]) -> list[str]:
    ann = consensus.annotations
    note = request.reading.task_note("regression") if ann.kind == "numbers" else ""
    lines = [
        *output.reading_lines(ann),
        f"{consensus.method_name}: {ann.n_annotations} labels of {ann.n_items} "
        f"items by {ann.n_annotators} annotators{note}",
    ]
    lines += _believed(consensus)
    if ann.n_classes == 1:
        lines.append(f"note: there is only one class, {str(ann.classes[0])!r}")
    if consensus.tied.any():
        lines.append(f"ties: {int(consensus.tied.sum())} items (column tied)")
    if not consensus.converged:
        lines.append(f"note: not converged after {consensus.n_iterations} steps")
    how = "the model's own, not calibrated"
    if consensus.raw_probabilities is not None:
        how = "allows for shared mistakes; not calibrated"
    if consensus.temperature != 1.0:
        how = f"calibrated, temperature {consensus.temperature:.2f}"
    lines.append(f"mean confidence {consensus.confidence.mean():.3f} ({how})")
    return lines + score_lines(scores)


def _believed(consensus: "mh.Consensus") -> list[str]:
    """Why this method, and why its consensus should not be believed."""
    chosen = [f"chosen: {consensus.chosen}"] if consensus.chosen else []
    return [*chosen, *(f"WARNING: {text}" for text in consensus.warnings)]


def _token_summary(found: "mh.aggregation.TokenConsensus", notes: list[str]) -> dict[str, object]:
    ann = found.tokens.annotations
    return {
        "method": found.tokens.method_name, "task": "tagging",
        "sentences": len(found.sentences), "tokens": ann.n_items, "annotators": ann.n_annotators,
        "labels": ann.n_annotations, "classes": ann.classes.tolist(), "entities": len(found.spans),
        "converged": found.tokens.converged, "notes": notes,
        "chosen": found.tokens.chosen, "warnings": list(found.tokens.warnings),
    }  # fmt: skip


def _token_lines(
    request: Request,
    found: "mh.aggregation.TokenConsensus",
    notes: list[str],
    scores: Mapping[str, Any],
) -> list[str]:
    ann = found.tokens.annotations
    lines = [
        f"{found.tokens.method_name}: {ann.n_annotations} tags of {ann.n_items} "
        f"tokens in {len(found.sentences)} sentences by {ann.n_annotators} annotators, "
        f"{len(found.spans)} entities" + request.reading.task_note("tagging")
    ]
    lines += _believed(found.tokens)
    lines += [f"note: {note}" for note in notes]
    if not found.tokens.converged:
        lines.append(f"note: not converged after {found.tokens.n_iterations} steps")
    if scores:
        shown = ", ".join(f"{name} {scores[name]:.4f}" for name in ("precision", "recall", "f1"))
        lines.append(
            f"entities: {shown} ({scores['n_predicted']} predicted, {scores['n_true']} true)"
        )
    return lines
