"""Tables of labels whose coefficients are published, and random tables with gaps."""

import numpy as np
from hypothesis import strategies as st

from manyhands.annotations import Annotations

# Krippendorff (2011), Computing Krippendorff's alpha-reliability: 4 observers, 12 units.
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, -1, -1, -1],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, -1, 3],
        [-1, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, -1],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, -1],
    ]
).T

# Shrout and Fleiss (1979), table 2: 6 targets, 4 judges.
SHROUT_FLEISS = [
    [9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7],
]  # fmt: skip

# Fleiss (1971) as in the table of many textbooks: 10 subjects, 14 raters, 5 categories.
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]
)  # fmt: skip


def from_counts(counts_ik):
    """Annotations with these numbers of labels."""
    rows = [np.repeat(np.arange(len(row)), row) for row in counts_ik]
    return Annotations.from_dense(np.stack(rows), classes=range(len(counts_ik[0])))


@st.composite
def gapped(draw, highest=3, numbers=False):
    """A matrix of items x annotators in which any cell may be missing (NaN)."""
    shape = draw(st.tuples(st.integers(2, 8), st.integers(2, 5)))
    cell = st.none() | st.integers(0, highest)
    cells = [[draw(cell) for _ in range(shape[1])] for _ in range(shape[0])]
    matrix = np.array([[np.nan if c is None else c for c in row] for row in cells], dtype=float)
    return matrix * 1.5 + 0.25 if numbers else matrix


def annotations_of(matrix, **settings):
    """Annotations of a matrix in which NaN is no label; classes unless it has decimals."""
    item, annotator = np.nonzero(~np.isnan(matrix))
    label = matrix[item, annotator]
    settings.setdefault("kind", "classes" if (label % 1 == 0).all() else "numbers")
    if settings["kind"] == "classes":
        label = label.astype(int)
    names = {"items": range(matrix.shape[0]), "annotators": range(matrix.shape[1])}
    return Annotations.from_arrays(item, annotator, label, **names, **settings)
