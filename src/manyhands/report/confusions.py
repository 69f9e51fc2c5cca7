"""The confusions of a report: of the crowd, of annotators, and the most common mistakes."""

from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.report.annotators import MAX_ANNOTATORS, shown_first
from manyhands.report.profiles import Profiles
from manyhands.report.shown import number, shown

MAX_CLASSES = 30  # in charts and matrices: those that are used most
MAX_CELLS = 120_000  # of all confusions of annotators
MAX_CONFUSIONS = 15


def confusions_of(profiles: Profiles) -> dict[str, Any] | None:
    """Confusions with the consensus: of the crowd, of annotators, and the most common ones.

    Those of an annotator are pairs of numbers, since pages with many annotators are mostly these:
    the place of a cell (row times the number of classes, plus column) and its count.
    """
    cells, names = profiles.cells, profiles.class_names
    if cells is None or len(names) < 2:
        return None
    said_k = np.bincount(cells.label, cells.count, len(names))
    kept = np.sort(np.argsort(-said_k, kind="stable")[:MAX_CLASSES])
    place = np.full(len(names), -1)
    place[kept] = np.arange(len(kept))
    row, column = place[cells.consensus], place[cells.label]
    inside = (row >= 0) & (column >= 0)
    crowd = np.zeros((len(kept), len(kept)), dtype=np.int64)
    np.add.at(crowd, (row[inside], column[inside]), cells.count[inside])
    # The annotators that are shown: the flagged and the most active until there are enough cells.
    order = shown_first(profiles)
    size_a = np.diff(cells.offsets)[order]
    order = order[np.cumsum(size_a) <= MAX_CELLS][:MAX_ANNOTATORS]
    own = {}
    for a in order.tolist():
        at = cells.of(a)
        keep = inside[at]
        place_c = row[at][keep].astype(np.int64) * len(kept) + column[at][keep]
        own[str(a)] = np.stack([place_c, cells.count[at][keep]], axis=1).ravel().tolist()
    return {
        "classes": [shown(names[k], 40) for k in kept],
        "n_classes": len(names),
        "crowd": crowd.tolist(),
        "annotators": own,
        "agreement": _agreement_by_class(profiles, order, place),
        "common": _common(profiles),
    }


def _agreement_by_class(
    profiles: Profiles, chosen: AnyArray, place: AnyArray
) -> dict[str, list[float]]:
    """By annotator: class, number of common items, and share of others who say the class too."""
    table = profiles.class_agreement
    assert table is not None, "numbers have no classes"
    bounds = np.searchsorted(table["annotator"], [chosen, chosen + 1])
    own = {}
    for a, begin, end in zip(chosen.tolist(), *bounds.tolist(), strict=True):
        columns = (place[table["class"][begin:end]], table["n_shared"][begin:end])
        rows = zip(*(each.tolist() for each in columns), table["agreement"][begin:end], strict=True)
        own[str(a)] = [each for k, n, x in rows if k >= 0 for each in (k, n, round(float(x), 3))]
    return own


def _common(profiles: Profiles) -> list[dict[str, Any]]:
    """The most frequent mistakes of the crowd, and how few annotators make half of each.

    Labels of annotators to leave out do not count.
    """
    cells, names = profiles.cells, profiles.class_names
    assert cells is not None, "only classes are confused"
    n_classes = len(names)
    kept = ~profiles.left_out[cells.annotator]
    believed_c, count_c = cells.consensus[kept].astype(np.int64), cells.count[kept]
    key = believed_c * n_classes + cells.label[kept]
    wrong = believed_c != cells.label[kept]
    pairs, inverse = np.unique(key[wrong], return_inverse=True)
    total = np.bincount(inverse, count_c[wrong], len(pairs))
    seen = np.unique(cells.annotator[kept].astype(np.int64) * n_classes + believed_c)
    seers = np.bincount(seen % n_classes, minlength=n_classes)
    of_class = np.bincount(believed_c, count_c, n_classes)
    n_labels = int((~profiles.left_out[profiles.consensus.annotations.annotator]).sum())
    is_sets = profiles.consensus.annotations.kind == "multilabel"
    rows = []
    for n in np.argsort(-total, kind="stable")[:MAX_CONFUSIONS].tolist():
        believed, label = divmod(int(pairs[n]), n_classes)
        of = of_class[believed]
        if is_sets and believed == n_classes - 1:  # added: of the labels of items without the class
            of = n_labels - of_class[label]
        rows.append(
            {
                "consensus": shown(names[believed], 60),
                "label": shown(names[label], 60),
                "labels": int(total[n]),
                "share": number(total[n] / max(of, 1)),
                "half_by": _half_by(count_c[wrong][inverse == n]),
                "of_annotators": int(seers[believed]),
            }
        )
    return rows


def _half_by(count_a: AnyArray) -> int:
    """The smallest number of annotators who together made half of some mistakes."""
    most_first = np.cumsum(np.sort(count_a)[::-1])
    return int(np.searchsorted(most_first, 0.5 * most_first[-1])) + 1
