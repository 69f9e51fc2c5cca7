"""manyhands train, of tagged tokens: a tagger straight from the disagreement."""

from typing import Any

import manyhands as mh
from manyhands.cli.options import Reading, TaskOptions
from manyhands.cli.output import noting
from manyhands.cli.tokens import require_same, sentences_from, tagged_from, tokens_from
from manyhands.cli.trained import TrainReport, stoppable, tell_trained


def train_tokens(
    model: Any,
    features: str,
    labels: str | None,
    layout: str,
    truth: str | None,
    resume: bool,
    told: TrainReport,
    task_options: TaskOptions,
    reading: Reading,
) -> None:
    """Train a tagger on a file of tagged tokens, save it and say what came out."""
    gold = tagged_from(truth, reading) if truth is not None else None
    file = tokens_from(labels or features, layout, task_options, reading)
    if labels is not None and labels != features:
        words = sentences_from(
            features, reading, [str(tag) for tag in file.labels.annotations.classes]
        )
        require_same(labels, file.sentences, features, words)
    ann, trial = file.labels.annotations, mh.selection.trial_of_tokens(file.labels, gold)
    learnt = None
    if mh.METHODS[model.method].needs_truth and gold is not None:
        require_same(labels or features, file.sentences, str(truth), gold.sentences)
        learnt = gold
    with stoppable(told.out), noting():
        model.fit(file.labels, ann, truth=learnt, resume=resume)
    model.save(told.out)
    scores = mh.selection.scores_of(trial, model) if gold is not None else {}
    notes = list(file.notes)
    if gold is not None and trial.test_features is not None:
        notes.append(f"scored on the {len(gold)} sentences of {truth}, which are others")
    tell_trained(model, ann, scores, told, notes)
