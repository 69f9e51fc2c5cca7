"""Music genres: songs of ten classes, 124 features, 44 workers of Mechanical Turk."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, first_line
from manyhands.datasets.corpus import Corpus, Reader, Split


def load_music(home: Path, features: str) -> Corpus:
    """700 labelled training songs and 300 for testing; features are not scaled."""
    labels = _table(home / "music_genre_mturk.csv", ["id", "annotator", "class"])
    train = _table(home / "music_genre_gold.csv", ["id", "class"])
    test = _table(home / "music_genre_test.csv", ["id", "class"])
    annotations = Annotations.from_arrays(
        *(labels.column(name) for name in ("id", "annotator", "class")),
        items=train.column("id").to_pylist(),
        classes=sorted(set(train.column("class").to_pylist())),
    )
    held_out = Split(_features(test), _names(test))
    return Corpus("music", _features(train), annotations, _names(train), held_out)


def _table(path: Path, needed: list[str]) -> pa.Table:
    try:
        table = pacsv.read_csv(path)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: not a readable table ({first_line(error)})") from None
    absent = [name for name in needed if name not in table.column_names]
    if absent:
        raise DataError(
            f"{path}: no column {absent[0]!r}; columns: {', '.join(table.column_names[:5])}"
        )
    return table


def _features(table: pa.Table) -> AnyArray:
    names = [name for name in table.column_names if name.startswith("feature")]
    return np.stack([table.column(name).to_numpy() for name in names], axis=1).astype(np.float32)


def _names(table: pa.Table) -> AnyArray:
    return np.array(table.column("class").to_pylist(), dtype=object)


MUSIC = Reader(
    "music",
    "10 genres, 700 songs, 44 annotators",
    ["music_genre_mturk.csv", "music_genre_gold.csv", "music_genre_test.csv"],
    {"published": []},
    load_music,
)
