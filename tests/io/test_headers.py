"""Headers of bundles: every field is checked for its type before arrays are read."""

import json

import numpy as np
import pytest

from manyhands.core.errors import DataError
from manyhands.io.bundle import read_bundle, write_bundle
from manyhands.io.headers import (
    COUNT,
    COUNTS,
    FLAG,
    NAMES,
    NUMBER,
    NUMBERS,
    OBJECT,
    OBJECTS,
    TEXT,
    TEXTS,
    optional,
)  # fmt: skip

GOOD = {
    TEXT: "a", FLAG: True, COUNT: 3, NUMBER: 1.5, OBJECT: {"a": None}, NAMES: ["a", 1, True],
    TEXTS: ["a"], OBJECTS: [{}], COUNTS: [1, 2], NUMBERS: {"a": 1.5}, optional(TEXT): None,
}  # fmt: skip
OTHERS = {
    TEXT: [None, 1], FLAG: [0, None], COUNT: [-1, True, 1.0, 1 << 60], NUMBER: [True, "1"],
    OBJECT: [[], None], NAMES: ["ab", [None], [["a"]]], TEXTS: [[1], {}], OBJECTS: [[1], {}],
    COUNTS: [[-1], [True], 3], NUMBERS: [{"a": "x"}, [1]],
}  # fmt: skip


def header_file(folder, **header):
    write_bundle(folder, "thing", {"x": np.arange(3)}, header)
    return folder / "thing.json"


@pytest.mark.parametrize("field", GOOD, ids=lambda field: field.expected)
def test_a_field_is_what_it_may_be(field, tmp_path):
    header_file(tmp_path, part=GOOD[field])
    assert read_bundle(tmp_path, "thing", {"part": field})[1]["part"] == GOOD[field]
    for place, other in enumerate(OTHERS.get(field, [1])):
        header_file(tmp_path / str(place), part=other)
        with pytest.raises(DataError, match=r"does not fit its description: 'part' must be") as no:
            read_bundle(tmp_path / str(place), "thing", {"part": field})
        assert field.expected in str(no.value)
    with pytest.raises(DataError, match="'lost' is missing"):
        read_bundle(tmp_path, "thing", {"lost": field})


@pytest.mark.parametrize(
    "part",
    ["NaN", "-Infinity", "[" * 10**5, "[" * 500 + "]" * 500, "1" * 5000, '{"a": 1, "a": 2}'],
    ids=range(6),
)
def test_a_header_is_plain_bounded_json(part, tmp_path, monkeypatch):
    path = header_file(tmp_path, part="@")
    good = path.read_text()
    path.write_text(good.replace('"@"', part))
    with pytest.raises(DataError, match="is not JSON; the thing is truncated or corrupted"):
        read_bundle(tmp_path, "thing")
    path.write_text(good)
    monkeypatch.setattr("manyhands.io.headers._MAX_BYTES", 100)
    with pytest.raises(DataError, match="truncated or corrupted"):
        read_bundle(tmp_path, "thing")


def test_arrays_are_read_only_if_the_header_fits(tmp_path):
    path = header_file(tmp_path, part=1)
    changed = json.loads(path.read_text()) | {"tensors": 3}
    path.write_text(json.dumps(changed))
    with pytest.raises(DataError, match="'tensors' must be text; got 3"):
        read_bundle(tmp_path, "thing")
