"""manyhands aggregate, of tokens: tags that form whole entities, and these entities."""

import manyhands as mh
from manyhands.cli.options import Reading, TaskOptions
from manyhands.cli.output import put_table, records, remark, say, say_json, working
from manyhands.cli.reading import truth_from
from manyhands.cli.tasks import require_aggregator
from manyhands.cli.tokens import TokenFile, put_tokens, require_same, tagged_from, tokens_from
from manyhands.cli.tokens import with_words as with_words_of
from manyhands.core.arrays import AnyArray


def aggregate_tokens(
    labels: str,
    layout: str,
    method: str | None,
    out: str,
    spans: str | None,
    annotators: str | None,
    truth: str | None,
    known: str | None,
    json: bool,
    task_options: TaskOptions,
    reading: Reading,
) -> None:
    """The consensus of a file of tagged tokens, written and told."""
    if method is not None:
        require_aggregator(method, "classes")
    gold = tagged_from(truth, reading) if truth is not None else None
    with working(f"aggregating {labels}"):
        file = tokens_from(labels, layout, task_options, reading)
        if gold is not None:
            require_same(labels, file.sentences, str(truth), gold.sentences)
        truths = truth_from(known, reading) if known is not None else None
        found = mh.aggregate_tokens(file.sentences, file.labels.annotations, method, known=truths)
    scores: dict[str, float] = {}
    if gold is not None:
        offsets = file.sentences.offsets
        scores = mh.evaluation.score_entities(gold.tags, found.tags, offsets).as_dict()
    columns = with_words_of(file.sentences, found.tokens.item_columns())
    if annotators:
        put_table(found.tokens.annotator_columns(), annotators)
    if spans:
        put_table(found.span_columns(file.texts), spans)
    if out != "-" or not json:
        put_tokens(file.sentences, found.tags, columns, out)
    _tell(file, found, columns, scores, out, json, task_options.task is None)


def _tell(
    file: TokenFile,
    found: "mh.aggregation.TokenConsensus",
    columns: dict[str, AnyArray],
    scores: dict[str, float],
    out: str,
    json: bool,
    guessed: bool,
) -> None:
    ann, n_entities = file.labels.annotations, len(found.spans)
    method = found.tokens.method_name
    if json:
        summary = {
            "method": method, "task": "sequence", "sentences": len(file.sentences),
            "tokens": ann.n_items, "annotators": ann.n_annotators, "labels": ann.n_annotations,
            "classes": ann.classes.tolist(), "entities": n_entities,
            "converged": found.tokens.converged, "notes": list(file.notes),
        }  # fmt: skip
        rows = {"consensus": records(columns)} if out == "-" else {}
        say_json({"summary": summary, "scores": scores} | rows)
        return
    tell = remark if out == "-" else say
    tell(
        f"{method}: {ann.n_annotations} tags of {ann.n_items} tokens in {len(file.sentences)} "
        f"sentences by {ann.n_annotators} annotators, {n_entities} entities"
        + (" (tagged tokens: --task sequence)" if guessed else "")
    )
    for note in file.notes:
        tell(f"note: {note}")
    if not found.tokens.converged:
        tell(f"note: not converged after {found.tokens.n_iterations} steps")
    if scores:
        tell(entity_line(scores))


def entity_line(scores: dict[str, float]) -> str:
    """Precision, recall and F1 in one line."""
    shown = ", ".join(f"{name} {scores[name]:.4f}" for name in ("precision", "recall", "f1"))
    return f"entities: {shown} ({scores['n_predicted']} predicted, {scores['n_true']} true)"
