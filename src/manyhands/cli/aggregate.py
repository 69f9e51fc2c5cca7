"""manyhands aggregate: labels -> consensus and annotators."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

import manyhands as mh
from manyhands.cli.options import (
    LABELS,
    OUTPUT,
    AnnotatorsFile,
    AnyLabelsFile,
    Json,
    LabelOptions,
    OutFile,
    Truth,
    aggregator_names,
    takes,
)
from manyhands.cli.output import put_table, records, remark, require_targets, say, say_json, working
from manyhands.cli.tasks import require_aggregator
from manyhands.cli.tokens import notes_on, put_tokens, read_true_tags, with_words
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import SettingError


@dataclass(frozen=True)
class _Request:
    """What to aggregate, how, and where the results go."""

    file: "mh.io.LabelFile"
    options: LabelOptions
    method: str | None
    set: list[str]
    out: str
    annotators: str | None
    spans: str | None
    truth: str | None
    known: str | None
    calibrate: str | None
    json: bool

    def settings(self, kind: Literal["classes", "numbers"]) -> dict[str, Any]:
        """The settings of the aggregator for this kind of labels."""
        return mh.aggregation.parse_settings(self.method or mh.aggregation.DEFAULTS[kind], self.set)

    @property
    def task_note(self) -> bool:
        """Whether to say which task the labels decided."""
        return self.options.task is None


@takes(options=LabelOptions)
def aggregate(
    labels: AnyLabelsFile,
    method: Annotated[
        str | None,
        typer.Option(
            help="Aggregator: majority, dawid-skene, one-coin, glad, worker-clustering, "
            "common-noise or mixture; for numbers mean, median or gaussian.",
            autocompletion=aggregator_names,
            show_default="dawid-skene; for numbers gaussian",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE",
                     help="A setting of the method, such as max_iter=5. Repeatable."),
    ] = None,
    out: OutFile = "-",
    annotators: AnnotatorsFile = None,
    spans: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=OUTPUT,
                     help="For tokens: table of entities to write."),
    ] = None,
    truth: Truth = None,
    known: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=LABELS,
                     help="Table with columns item, truth: truths that the method may use."),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=LABELS,
                     help="Table with columns item, truth: scale the confidence to match the "
                     "accuracy on these items."),
    ] = None,
    json: Json = False,
    options: LabelOptions = LabelOptions(),  # noqa: B008 - frozen
) -> None:  # fmt: skip
    """Aggregate labels into a consensus.

    The result is the most probable label of every item with its confidence, and with
    --annotators the quality of every annotator.

    The labels are classes, numbers or tags of tokens. For tokens the tags form whole entities,
    --out may be a file of tokens with their tags (.conll .bio), --spans writes the entities as
    a table, and --truth gold.bio gives precision and recall of the entities.

    Example: manyhands aggregate labels.csv --out consensus.csv --annotators annotators.csv

    Example: manyhands aggregate labels.csv --method glad --set max_iter=50

    Example: manyhands aggregate ratings.csv --task regression --range 1:5 --out consensus.csv

    Example: manyhands aggregate tokens.conll --out consensus.bio --spans entities.csv
    """
    to_stream = "-" if json and annotators == "-" else None
    file = options.file(labels)
    tagged = None if file.tokens is None else out
    read = [labels, truth, known, calibrate]
    require_targets(out, annotators, spans, to_stream, read=read, tagged=tagged)
    request = _Request(file, options, method, set_ or [], out, annotators, spans,
                       truth, known, calibrate, json)  # fmt: skip
    require_aggregator(method, options.task if file.tokens is None else "tagging")
    run = _aggregate_items if file.tokens is None else _aggregate_tokens
    run(request)


def _aggregate_items(request: _Request) -> None:
    options, json, out = request.options, request.json, request.out
    if request.spans is not None:
        raise SettingError(f"--spans is for tagged tokens; {request.file.path} has labels of items")
    truth = options.truth(request.truth)
    with working(f"aggregating {request.file.path}"):
        ann = request.file.read_items()
        known = options.truth(request.known)
        consensus = mh.aggregate(ann, request.method, known=known, **request.settings(ann.kind))
    if request.calibrate is not None:
        consensus = consensus.calibrated(options.truth(request.calibrate) or {})
    scores = consensus.score(truth).as_dict() if truth is not None else {}
    columns = consensus.item_columns()
    _write_annotators(request, consensus)
    if out != "-" or not json:
        put_table(columns, out)
    _tell(
        request, _summary(consensus), columns, scores, _lines(consensus, scores, request.task_note)
    )


def _aggregate_tokens(request: _Request) -> None:
    file, options = request.file, request.options
    if request.calibrate is not None:
        raise SettingError("--calibrate is for labels of items; leave it out for tagged tokens")
    gold = read_true_tags(request.truth, options)
    with working(f"aggregating {file.path}"):
        marked = file.read_tokens()
        sentences, ann = marked.labels.sentences, marked.labels.annotations
        if gold is not None:
            mh.io.require_same_tokens(file.path, sentences, request.truth, gold.sentences)
        known = options.truth(request.known)
        found = mh.aggregate_tokens(
            sentences, ann, request.method, known=known, **request.settings("classes")
        )
    scores: dict[str, Any] = {}
    if gold is not None:
        scores = mh.evaluation.score_entities(gold.tags, found.tags, sentences.offsets).as_dict()
    columns = with_words(sentences, found.item_columns())
    _write_annotators(request, found.tokens)
    if request.spans:
        put_table(found.span_columns(marked.texts), request.spans)
    if request.out != "-" or not request.json:
        put_tokens(sentences, found.tags, columns, request.out)
    notes = notes_on(marked, options.orphan_tags)
    lines = _token_lines(found, notes, scores, request.task_note)
    _tell(request, _token_summary(found, notes), columns, scores, lines)


def _write_annotators(request: _Request, consensus: "mh.Consensus") -> None:
    if request.annotators:
        put_table(consensus.annotator_columns(), request.annotators)


def _tell(
    request: _Request,
    summary: Mapping[str, Any],
    columns: dict[str, AnyArray],
    scores: Mapping[str, Any],
    lines: list[str],
) -> None:
    if request.json:
        rows = {"consensus": records(columns)} if request.out == "-" else {}
        say_json({"summary": summary, "scores": scores} | rows)
        return
    for line in lines:
        (remark if request.out == "-" else say)(line)


def _summary(consensus: "mh.Consensus") -> dict[str, object]:
    ann = consensus.annotations
    return {
        "method": consensus.method_name,
        "task": "regression" if ann.kind == "numbers" else "classification",
        "kind": ann.kind,
        "items": ann.n_items,
        "annotators": ann.n_annotators,
        "labels": ann.n_annotations,
        "classes": ann.classes.tolist(),
        "iterations": consensus.n_iterations,
        "converged": consensus.converged,
        "ties": int(consensus.tied.sum()),
        "mean_confidence": float(consensus.confidence.mean()),
        "confidence_is_calibrated": consensus.temperature != 1.0,
    }


def _lines(consensus: "mh.Consensus", scores: Mapping[str, Any], task_note: bool) -> list[str]:
    ann = consensus.annotations
    note = " (labels are numbers: --task regression)"
    lines = [
        f"{consensus.method_name}: {ann.n_annotations} labels of {ann.n_items} "
        f"items by {ann.n_annotators} annotators" + note * (task_note and ann.kind == "numbers")
    ]
    if ann.kind == "classes" and ann.n_classes == 1:
        lines.append(f"note: there is only one class, {str(ann.classes[0])!r}")
    if consensus.tied.any():
        lines.append(f"ties: {int(consensus.tied.sum())} items (column tied)")
    if not consensus.converged:
        lines.append(f"note: not converged after {consensus.n_iterations} steps")
    how = "the model's own, not calibrated"
    if consensus.temperature != 1.0:
        how = f"calibrated, temperature {consensus.temperature:.2f}"
    lines.append(f"mean confidence {consensus.confidence.mean():.3f} ({how})")
    if scores:
        lines.append(", ".join(f"{key} {_number(value)}" for key, value in scores.items()))
    return lines


def _token_summary(found: "mh.aggregation.TokenConsensus", notes: list[str]) -> dict[str, object]:
    ann = found.tokens.annotations
    return {
        "method": found.tokens.method_name,
        "task": "tagging",
        "sentences": len(found.sentences),
        "tokens": ann.n_items,
        "annotators": ann.n_annotators,
        "labels": ann.n_annotations,
        "classes": ann.classes.tolist(),
        "entities": len(found.spans),
        "converged": found.tokens.converged,
        "notes": notes,
    }


def _token_lines(
    found: "mh.aggregation.TokenConsensus",
    notes: list[str],
    scores: Mapping[str, Any],
    task_note: bool,
) -> list[str]:
    ann = found.tokens.annotations
    lines = [
        f"{found.tokens.method_name}: {ann.n_annotations} tags of {ann.n_items} "
        f"tokens in {len(found.sentences)} sentences by {ann.n_annotators} annotators, "
        f"{len(found.spans)} entities" + " (tagged tokens: --task tagging)" * task_note
    ]
    lines += [f"note: {note}" for note in notes]
    if not found.tokens.converged:
        lines.append(f"note: not converged after {found.tokens.n_iterations} steps")
    if scores:
        shown = ", ".join(f"{name} {scores[name]:.4f}" for name in ("precision", "recall", "f1"))
        lines.append(
            f"entities: {shown} ({scores['n_predicted']} predicted, {scores['n_true']} true)"
        )
    return lines


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"
