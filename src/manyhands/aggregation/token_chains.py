"""Which items are neighbouring tokens of one sentence, told from their names."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Codes, Offsets


@dataclass(frozen=True)
class TokenChains:
    """Items in the order of sentences: chain c has `item[offsets[c]:offsets[c + 1]]`.

    Items are tokens if their names are "<sentence>:<token>" (`Sentences.token_names`). A chain is a
    run of neighbouring tokens of a sentence; every other item is a chain of its own.
    """

    item: AnyArray
    offsets: Offsets

    @classmethod
    def of(cls, names: AnyArray) -> "TokenChains":
        """The chains of items with these names.

        >>> chains = TokenChains.of(np.array(["b:1", "a:0", "b:0", "x"], dtype=object))
        >>> chains.item.tolist(), chains.offsets.tolist()
        ([2, 0, 1, 3], [0, 2, 3, 4])
        """
        code_of: dict[Any, int] = {}
        sentence_i = np.empty(len(names), dtype=np.int64)
        token_i = np.zeros(len(names), dtype=np.int64)
        for i, name in enumerate(names.tolist()):
            sentence, colon, token = name.rpartition(":") if isinstance(name, str) else ("", "", "")
            is_token = bool(colon) and token.isascii() and token.isdecimal() and len(token) < 10
            key = ("sentence", sentence) if is_token else ("item", name)
            sentence_i[i] = code_of.setdefault(key, len(code_of))
            token_i[i] = int(token) if is_token else 0
        order = np.lexsort((token_i, sentence_i))
        follows = (np.diff(sentence_i[order]) == 0) & (np.diff(token_i[order]) == 1)
        starts = np.concatenate([[0], np.flatnonzero(~follows) + 1, [len(order)]])
        return cls(order, np.unique(starts))

    @property
    def before(self) -> AnyArray:
        """The item before every item in its chain; -1 for the first one."""
        before_i = np.full(len(self.item), -1, dtype=np.int64)
        before_i[self.item[1:]] = self.item[:-1]
        before_i[self.item[self.offsets[:-1]]] = -1
        return before_i


def labels_before(annotations: Annotations, before_i: AnyArray) -> Codes:
    """The label that its annotator gave to the item before, for every label; -1 if none."""
    n_annotators = annotations.n_annotators
    key_n = annotations.item.astype(np.int64) * n_annotators + annotations.annotator
    order = np.lexsort((annotations.label, key_n))
    item_before_n = before_i[annotations.item]
    wanted_n = item_before_n * n_annotators + annotations.annotator
    place_n = np.minimum(np.searchsorted(key_n[order], wanted_n), len(order) - 1)
    found_n = order[place_n]
    is_there_n = (item_before_n >= 0) & (key_n[found_n] == wanted_n)
    return np.where(is_there_n, annotations.label[found_n], -1).astype(np.int32)
