"""A column of labels that are sets, as codes of the distinct sets."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from manyhands.annotations.label_sets import SetVocabulary, classes_of
from manyhands.annotations.labels import EMPTY, OUTSIDE, USED, LabelColumn, state_of_text
from manyhands.annotations.set_cells import find_separator, parse_set, set_texts
from manyhands.annotations.vocabulary import (
    BLANK,
    Vocabulary,
    encode,
    name_to_text,
    normalize_classes,
)
from manyhands.core.settings import require


def encode_sets(
    values: Any,
    *,
    classes: Iterable[Any] | None = None,
    missing: Iterable[Any] = (),
    separator: str | None = None,
) -> LabelColumn:
    """Encode a column of sets; every distinct set is a code.

    A cell is a list or a set, or text: JSON, or names between separators. Without `separator` it is
    the first of `;`, `|` and `,` that a cell has. "[]" is the empty set; a blank cell is no label.

    >>> found = encode_sets(["cat;dog", "[]", "dog;cat"])
    >>> found.values.tolist(), found.classes.names.tolist()
    ([1, 0, 1], ['[]', 'cat;dog'])
    """
    require(separator is None or separator != "", "separator", "at least one character", separator)
    codes, words = encode(set_texts(values), "label", as_text=True)
    texts = [str(name) for name in words.names.tolist()]
    dropped = {name_to_text(code) if code is not None else "" for code in missing}
    state_w = np.array([state_of_text(text, dropped) for text in texts] + [0, 0], dtype=np.int8)
    state_w[BLANK] = state_of_text("", dropped) if "" in dropped else EMPTY
    separator = separator or find_separator(texts)
    used = np.flatnonzero(state_w[: len(texts)] == USED)
    sets = [parse_set(texts[word], separator) for word in used]
    given = None
    if classes is not None:
        given = Vocabulary.of(normalize_classes(list(classes)), "class")
        known = np.array([bool((given.codes(each) >= 0).all()) for each in sets], dtype=bool)
        state_w[used[~known]] = OUTSIDE
        used, sets = used[known], [each for each, fits in zip(sets, known, strict=True) if fits]
    vocabulary = SetVocabulary.of_sets(sets, given or classes_of(sets), separator)
    code_w = np.full(len(texts) + 2, -1, dtype=np.int32)
    code_w[used] = vocabulary.codes(sets)
    return LabelColumn(code_w[codes], state_w[codes], vocabulary)
