"""manyhands convert, of tokens: between columns of tags and tables of spans."""

import manyhands as mh
from manyhands.annotations import TokenizedTexts
from manyhands.cli.options import Reading, TaskOptions
from manyhands.cli.output import is_tagged, remark, require_targets
from manyhands.cli.tokens import tokens_from


def convert_tokens(
    source: str, layout: str, target: str, task_options: TaskOptions, reading: Reading
) -> int:
    """Write a file of tagged tokens in the other form, or its own; how many tags it has."""
    require_targets(target, read=[source], tagged=target)
    file = tokens_from(source, layout, task_options, reading)
    for note in file.notes:
        remark(f"note: {note}")
    if is_tagged(target):
        mh.io.write_conll(file.labels, target)
    else:
        words = file.sentences
        texts = file.texts or TokenizedTexts.of_words(words.to_lists(), words.names.tolist())
        mh.io.write_spans(mh.io.TextLabels(texts, file.labels), target)
    return file.labels.annotations.n_annotations
