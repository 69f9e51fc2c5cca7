"""manyhands aggregate: labels -> consensus and annotators."""

from typing import Annotated

import typer

import manyhands as mh
from manyhands.cli.options import (
    AnyLabelsFile,
    Json,
    OutFile,
    Reading,
    Repeats,
    TaskOptions,
    Truth,
    takes,
)
from manyhands.cli.output import put_table, records, remark, require_targets, say, say_json, working
from manyhands.cli.reading import consensus_by_name, truth_from
from manyhands.cli.tasks import tokens_layout
from manyhands.core.errors import SettingError


@takes(task_options=TaskOptions, reading=Reading)
def aggregate(
    labels: AnyLabelsFile,
    method: Annotated[
        str | None,
        typer.Option(help="How: majority, dawid-skene, one-coin, glad, worker-clustering, "
                     "common-noise, mixture; for numbers mean, median, gaussian. "
                     "[default: dawid-skene, or gaussian]"),
    ] = None,
    out: OutFile = "-",
    annotators: Annotated[
        str | None, typer.Option(help="Where to write the table of annotators.")
    ] = None,
    spans: Annotated[
        str | None, typer.Option(help="Of tokens: where to write the table of entities.")
    ] = None,
    truth: Truth = None,
    known: Annotated[
        str | None, typer.Option(help="Table item, truth: truths the method may use as certain.")
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(help="Table item, truth: make confidence match accuracy on these items."),
    ] = None,
    duplicates: Repeats = "keep",
    json: Json = False,
    task_options: TaskOptions = TaskOptions(),  # noqa: B008 - frozen
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> None:  # fmt: skip
    """Turn labels into a consensus: the label of every item, how sure it is, who is how good.

    Labels are classes, numbers, or tags of tokens (sequence): of these the tags form whole
    entities, --out may be a file of tokens with their tags (.conll .bio), and --spans takes the
    entities as a table. --truth gold.bio then says how many entities were found.

    Example: manyhands aggregate labels.csv --out consensus.csv --annotators people.csv

    Example: manyhands aggregate ratings.csv --task regression --range 1:5 --out ratings_found.csv

    Example: manyhands aggregate tokens.conll --out found.bio --spans entities.csv
    """
    to_stream = "-" if json and annotators == "-" else None
    layout = tokens_layout(labels, task_options, reading)
    read = [labels, truth, known, calibrate]
    tagged = None if layout is None else out
    require_targets(out, annotators, spans, to_stream, read=read, tagged=tagged)
    if layout is not None:
        _refuse_for_tokens(calibrate, duplicates)
        from manyhands.cli.aggregate_tokens import aggregate_tokens  # --help does without

        aggregate_tokens(
            labels,
            layout,
            method,
            out,
            spans,
            annotators,
            truth,
            known,
            json,
            task_options,
            reading,
        )
        return
    if spans is not None:
        raise SettingError(f"--spans is for tagged tokens; {labels} holds labels of items")
    truths = truth_from(truth, reading) if truth is not None else None
    with working(f"aggregating {labels}"):
        consensus = consensus_by_name(labels, method, known, duplicates, reading, task_options)
    if calibrate is not None:
        consensus = consensus.calibrated(truth_from(calibrate, reading))
    scores = consensus.score(truths).as_dict() if truths is not None else {}
    if annotators:
        put_table(consensus.annotator_columns(), annotators)
    if out != "-" or not json:
        put_table(consensus.item_columns(), out)
    if json:
        content = {"summary": _summary(consensus), "scores": scores}
        rows = {"consensus": records(consensus.item_columns())} if out == "-" else {}
        say_json(content | rows)
        return
    tell = remark if out == "-" else say
    for line in _lines(consensus, scores, task_options.task is None):
        tell(line)


def _refuse_for_tokens(calibrate: str | None, duplicates: str) -> None:
    if calibrate is not None:
        raise SettingError("--calibrate is for labels of items; leave it out for tagged tokens")
    if duplicates != "keep":
        raise SettingError("--duplicates is for tables of labels; tagged tokens have none")


def _summary(consensus: "mh.Consensus") -> dict[str, object]:
    ann = consensus.annotations
    return {
        "method": consensus.method_name,
        "task": "classification" if ann.kind == "classes" else "regression",
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


def _lines(consensus: "mh.Consensus", scores: dict[str, float], guessed: bool) -> list[str]:
    ann = consensus.annotations
    name = consensus.method_name
    by_looks = guessed and ann.kind == "numbers"
    lines = [
        f"{name}: {ann.n_annotations} labels of {ann.n_items} items "
        f"by {ann.n_annotators} annotators"
        + (" (labels are numbers: --task regression)" if by_looks else "")
    ]
    if ann.kind == "classes" and ann.n_classes == 1:
        lines.append(
            f"note: there is only one class, {str(ann.classes[0])!r}; there is nothing to decide"
        )
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


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"
