"""Tables of labels for the engines, and what the engines must agree on."""

import numpy as np
import pandas as pd

import manyhands as mh
from manyhands.io import LabelFile
from manyhands.scale import StreamSettings, stream_files

CLASSES = np.array(["cat", "dog", "eel"])
EXACT = 1e-9  # issues ask for 1e-6
SETTINGS = {"majority": {}, "mean": {}, "median": {}, "glad": {"max_iter": 6},
            "mixture": {"max_iter": 20, "n_restarts": 3}}  # fmt: skip


def settings_of(method):
    return SETTINGS.get(method, {"max_iter": 12})


def class_table(n_items=120, n_labels=900, seed=0):
    """Labels of a crowd in which annotator 0 gave half of all labels."""
    rng = np.random.default_rng(seed)
    item = rng.integers(0, n_items, n_labels)
    annotator = np.where(rng.random(n_labels) < 0.5, 0, rng.integers(1, 15, n_labels))
    truth = rng.integers(0, 3, n_items)
    right = rng.random(n_labels) < 0.5 + 0.03 * annotator
    label = np.where(right, truth[item], rng.integers(0, 3, n_labels))
    frame = pd.DataFrame({"item": item, "annotator": annotator, "label": CLASSES[label]})
    return frame.drop_duplicates(["item", "annotator"], ignore_index=True)


def number_table(seed=0):
    frame, rng = class_table(seed=seed), np.random.default_rng(seed + 1)
    value = frame["item"] % 7 + 0.1 * frame["annotator"] + rng.normal(size=len(frame))
    return frame.assign(label=value.round(3))


def write(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(
        path, index=False
    )
    return str(path)


def streamed(path, method=None, *, known=None, parts=None, settings=None, stream=None, **reading):
    """The tables of items and annotators by the engine stream, and its consensus."""
    consensus = stream_files(
        LabelFile(path, **reading), method, known=known, settings=settings or {},
        stream=StreamSettings(parts=parts, **(stream or {})),
    )  # fmt: skip
    with consensus:
        return (
            in_one(consensus.item_tables()),
            pd.DataFrame(consensus.annotator_columns()),
            consensus,
        )


def in_one(tables):
    return pd.concat([pd.DataFrame(each) for each in tables], ignore_index=True)


def in_memory(path, method=None, *, known=None, settings=None, **reading):
    consensus = mh.aggregate(
        mh.read(path, **reading), method, known=known or {}, **(settings or {})
    )
    return (
        pd.DataFrame(consensus.item_columns()),
        pd.DataFrame(consensus.annotator_columns()),
        consensus,
    )


def assert_same(found, expected, within=EXACT):
    """Both tables have the same rows; labels that are words are equal."""
    for one, other in zip(found[:2], expected[:2], strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=0, atol=within)
    assert found[2].warnings == expected[2].warnings
    assert found[2].n_iterations == expected[2].n_iterations
