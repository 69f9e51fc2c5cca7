"""Humour: which of two short texts is funnier, by 1059 annotators.

The comparisons of Simpson et al. 2019, "Predicting Humorousness and Metaphor Novelty with Gaussian
Process Preference Learning", which the shared task on learning with disagreements of 2021 used as
its Humour data. `results.tsv` is in their public repository. Its columns are known from programs
that read it, theirs among them: the annotator, the answer, text A and text B, in this order, under
a line of names; the answer is A, B or X, which is neither.
"""

from pathlib import Path

from manyhands.core.errors import DataError
from manyhands.datasets.corpus import PairCorpus, Reader
from manyhands.datasets.sentiment import VECTORIZERS
from manyhands.io import read_comparisons
from manyhands.io.tables import Table

_FILE = "results.tsv"
_N_COLUMNS = 4


def load_humour(home: Path, features: str) -> PairCorpus:
    """141050 comparisons of 4030 texts, five for each of 28210 pairs; X is a tie.

    An item is a text, named by itself. Features `tfidf` are TF-IDF weights of words and word
    pairs, reduced to 300 dimensions; `texts` are the texts. There is no truth.
    """
    names = Table(home / _FILE, "tsv").columns
    if len(names) < _N_COLUMNS:
        raise DataError(
            f"{home / _FILE}: expected the columns annotator, answer, text A and text B; it has "
            f"{len(names)}"
        )
    annotator, answer, left, right = names[:_N_COLUMNS]
    comparisons = read_comparisons(
        home / _FILE, left=left, right=right, annotator=annotator, winner=answer,
        outcomes={"A": "left", "B": "right", "X": "tie"},
    )  # fmt: skip
    texts = [str(text) for text in comparisons.items.tolist()]
    return PairCorpus("humour", VECTORIZERS[features](texts)[0], comparisons)


HUMOUR = Reader(
    "humour",
    "28210 pairs of short texts, 1059 annotators",
    [_FILE],
    {"tfidf": [], "texts": []},
    load_humour,
)
