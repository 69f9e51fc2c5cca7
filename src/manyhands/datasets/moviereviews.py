"""Film reviews rated from 0 to 1 by 135 workers of Mechanical Turk, as texts or word counts."""

from pathlib import Path

import numpy as np
from scipy import sparse

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats, object_array
from manyhands.core.errors import DataError
from manyhands.datasets.arrays import read_numbers
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io import read_annotations, read_texts, read_word_counts

SCALE = (0.0, 1.0)
_NO_RATING = -1  # exactly: -0.1 is a rating
_NO_COUNTED_RATING = 999999999
_COUNTED = ("data_train_amt.txt", "data_test.txt")


def load_moviereviews(home: Path, features: str) -> Corpus:
    """1498 rated training reviews and 3508 for testing; features are the texts.

    A few ratings are outside of 0..1. They are kept, and `notes` counts them.
    """
    annotations, notes = read_ratings(home / "answers.txt", _NO_RATING)
    text, rating = read_rated_texts(home / "test_rebuilt.tsv")
    return Corpus(
        "moviereviews",
        read_texts(home / "texts_train.txt"),
        annotations,
        read_numbers(home / "ratings_train.txt"),
        Split(text, rating),
        notes=notes,
    )


def load_word_counts(home: Path, features: str) -> Corpus:
    """The release for topic models: 1500 training reviews, 3506 for testing, as word counts.

    Features are sparse matrices (i, w) over one vocabulary of word codes.
    """
    annotations, notes = read_ratings(home / "answers.txt", _NO_COUNTED_RATING)
    counts = [read_word_counts(home / name) for name in _COUNTED]
    n_words = max(part.shape[1] for part in counts)
    # the same counts over one vocabulary
    train, test = (
        sparse.csr_matrix((part.data, part.indices, part.indptr), shape=(part.shape[0], n_words))
        for part in counts
    )
    return Corpus(
        "moviereviews-words",
        train,
        annotations,
        read_numbers(home / "labels_train_amt.txt"),
        Split(test, read_numbers(home / "labels_test.txt")),
        notes=notes,
    )


def read_ratings(path: Path, missing: int) -> tuple[Annotations, tuple[str, ...]]:
    """The ratings of a matrix, and a note with the number of ratings outside of the scale."""
    annotations = read_annotations(path, kind="numbers", missing=[missing])
    low, high = SCALE
    n_outside = int(((annotations.label < low) | (annotations.label > high)).sum())
    note = f"{n_outside} ratings outside of {low:g}..{high:g} are kept"
    return annotations, (note,) if n_outside else ()


def read_rated_texts(path: Path) -> tuple[AnyArray, Floats]:
    """Texts and ratings of tab-separated lines "id author rating text" after a header line.

    Quotation marks belong to the text.
    """
    lines = read_texts(path).tolist()
    columns = lines[0].split("\t")
    if "rating" not in columns or "text" not in columns:
        raise DataError(f"{path}, line 1: expected columns rating and text; got {lines[0]!r}")
    texts, ratings = [], []
    for number, line in enumerate(lines[1:], 2):
        cells = dict(zip(columns, line.split("\t"), strict=False))
        try:
            ratings.append(float(cells["rating"]))
            texts.append(cells["text"])
        except (KeyError, ValueError):
            raise DataError(
                f"{path}, line {number}: expected {len(columns)} cells with a rating that is a "
                "number; the file may be cut short"
            ) from None
    return object_array(texts), np.array(ratings)


MOVIEREVIEWS = Reader(
    "moviereviews",
    "ratings of 1498 film reviews, 135 annotators",
    ["answers.txt", "ratings_train.txt", "test_rebuilt.tsv"],
    {"texts": ["texts_train.txt"]},
    load_moviereviews,
)
MOVIEREVIEWS_WORDS = Reader(
    "moviereviews/bag_of_words",
    "ratings of 1500 film reviews, 135 annotators",
    ["answers.txt", "labels_train_amt.txt", "labels_test.txt"],
    {"counts": list(_COUNTED)},
    load_word_counts,
)
