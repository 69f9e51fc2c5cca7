"""manyhands predict, of tokens: the tags of new sentences."""

import numpy as np

import manyhands as mh
from manyhands.annotations import Sentences
from manyhands.cli.options import Reading, TaskOptions
from manyhands.cli.output import remark
from manyhands.cli.tasks import tokens_layout
from manyhands.cli.tokens import (
    put_tokens,
    require_same,
    sentences_from,
    tokens_from,
    with_words,
)
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError


def predict_tokens(
    trained: "mh.CrowdTagger",
    features: str,
    labels: str | None,
    out: str,
    json: bool,
    task_options: TaskOptions,
    reading: Reading,
) -> dict[str, AnyArray]:
    """The tags of the sentences of a file, written; a table of the tokens."""
    notes: tuple[str, ...] = ()
    if labels is None:
        sentences = _words(features, trained.classes_, task_options, reading)
        columns = _alone(trained, sentences)
    else:
        layout = tokens_layout(labels, task_options, reading)
        if layout is None:
            raise DataError(f"{labels}: the model tags tokens; give labels as tagged tokens")
        file = tokens_from(labels, layout, task_options, reading)
        sentences = file.sentences
        if features != labels:
            require_same(
                labels,
                sentences,
                features,
                _words(features, trained.classes_, task_options, reading),
            )
        columns = trained.infer(sentences, file.labels).tokens.item_columns()
        notes = file.notes
    columns = with_words(sentences, columns)
    if out != "-" or not json:
        put_tokens(sentences, columns["label"], columns, out)
    for note in notes:
        remark(f"note: {note}")
    return columns


def _words(path: str, tags: AnyArray, task_options: TaskOptions, reading: Reading) -> Sentences:
    from manyhands.cli.sniff import layout_of

    if layout_of(path, reading) == "spans":
        return tokens_from(path, "spans", task_options, reading).sentences
    return sentences_from(path, reading, [str(tag) for tag in tags])


def _alone(trained: "mh.CrowdTagger", sentences: Sentences) -> dict[str, AnyArray]:
    probability_tk = trained.predict_proba(sentences)
    names = [tag for tags in trained.predict(sentences) for tag in tags]
    code_of = {str(name): code for code, name in enumerate(trained.classes_)}
    code_t = np.array([code_of[name] for name in names])
    columns: dict[str, AnyArray] = {
        "item": sentences.token_names,
        "label": np.array([*names, None], dtype=object)[:-1],
        "confidence": probability_tk[np.arange(len(code_t)), code_t],
    }
    return columns | {f"p_{name}": probability_tk[:, k] for k, name in enumerate(trained.classes_)}
