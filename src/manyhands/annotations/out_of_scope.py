"""What is no label here: boxes, masks and free texts; and which tools combine those."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError

# What cannot be combined here: what it is in words, and what to do with it.
_NOT_HERE = {
    "boxes": (
        "boxes around parts of items", "use the package ensemble-boxes (weighted boxes fusion)"
    ),
    "masks": (
        "masks or outlines of parts of items",
        "use the package crowd-kit (crowdkit.aggregation.SegmentationEM)",
    ),
    "parts": (
        "regions within items",
        "use the package ensemble-boxes (weighted boxes fusion) for boxes, and crowd-kit "
        "(crowdkit.aggregation.SegmentationEM) for masks",
    ),
    "texts": (
        "free texts",
        "use the package crowd-kit (crowdkit.aggregation.TextHRRASA, and ROVER for transcripts)",
    ),
}  # fmt: skip
_CORNERS = (
    {"xmin", "ymin", "xmax", "ymax"}, {"x1", "y1", "x2", "y2"}, {"x", "y", "width", "height"},
    {"x", "y", "w", "h"}, {"left", "top", "right", "bottom"}, {"left", "top", "width", "height"},
)  # fmt: skip
_BOX_NAMES = {"bbox", "boundingbox", "bndbox", "boundingboxes", "bboxes", "box2d"}
_MASK_NAMES = {
    "encodedpixels", "rle", "segmentation", "polygon", "polygons", "mask", "masks", "points", "wkt",
    "maskrle", "counts",
}  # fmt: skip
_RUNS = re.compile(r"\d+ \d+ \d+ \d+( \d+ \d+)+")
_WKT = re.compile(r"(MULTI)?POLYGON\s*\(", re.IGNORECASE)
_MOST = 0.9  # of the cells
_SMALLEST = 32.0  # a corner of a box in pixels; lists of smaller whole numbers may be classes


def refusal(kind: str, where: str = "") -> DataError:
    """The error for labels of this kind: "boxes", "masks", "parts" or "texts".

    >>> str(refusal("boxes", "a.json"))[:60]
    'a.json: has boxes around parts of items, which manyhands doe'
    """
    begin = f"{where}: " if where else ""
    what, remedy = _NOT_HERE[kind]
    return DataError(f"{begin}has {what}, which manyhands does not combine; {remedy}")


def tool_for(kind: str) -> str:
    """What to combine such labels with.

    >>> tool_for("boxes")
    'use the package ensemble-boxes (weighted boxes fusion)'
    """
    return _NOT_HERE[kind][1]


def regions_of_columns(names: Iterable[str]) -> str | None:
    """Whether the columns of a table are those of "boxes" or of "masks".

    >>> regions_of_columns(["image", "xmin", "ymin", "xmax", "ymax", "class"])
    'boxes'
    >>> regions_of_columns(["ImageId", "EncodedPixels"])
    'masks'
    """
    plain = {re.sub(r"[^a-z0-9]", "", str(name).lower()) for name in names}
    if plain & _MASK_NAMES:
        return "masks"
    is_box = bool(plain & _BOX_NAMES) or any(corners <= plain for corners in _CORNERS)
    return "boxes" if is_box else None


def regions_of_cells(cells: Sequence[str]) -> str | None:
    """Whether nearly all cells hold "boxes" or "masks".

    >>> regions_of_cells(["[10, 20, 110, 95.5]", "[12, 20, 108, 95]"])
    'boxes'
    >>> regions_of_cells(["1 3 10 5 20 6", "1 3 10 5 20 7"])
    'masks'
    >>> regions_of_cells(["[1, 2, 3, 4]", "cat"]) is None
    True
    """
    kinds = [_region(cell) for cell in cells]
    for kind in ("boxes", "masks"):
        if kinds and sum(each == kind for each in kinds) >= _MOST * len(kinds):
            return kind
    return None


def regions_of_json(content: Any) -> str | None:
    """Whether parsed JSON has "boxes" or "masks": COCO, labelme, VIA and the like.

    >>> regions_of_json({"shapes": [{"label": "car", "shape_type": "rectangle"}]})
    'boxes'
    """
    if not isinstance(content, Mapping):
        return None
    if isinstance(content.get("shapes"), list):  # labelme
        shapes = [_field(each, "shape_type") for each in content["shapes"]]
        return "boxes" if shapes and all(each == "rectangle" for each in shapes) else "masks"
    annotations = content.get("annotations")
    if isinstance(annotations, list) and "images" in content:  # COCO
        if any(_field(each, "segmentation") for each in annotations):
            return "masks"
        return "boxes" if any(_field(each, "bbox") for each in annotations) else None
    marked = content.get("_via_img_metadata", content)  # VIA
    values = list(marked.values()) if isinstance(marked, Mapping) else []
    if values and all(isinstance(_field(each, "regions"), list | dict) for each in values):
        return "parts"
    return None


def are_box_rows(cells: AnyArray) -> bool:
    """Whether rows are those of YOLO: a class, and centre and size of a box as shares.

    >>> are_box_rows(np.array([[0, 0.5, 0.51, 0.2, 0.25], [3, 0.1, 0.2, 0.1, 0.1]]))
    True
    """
    if cells.ndim != 2 or cells.shape[1] != 5 or cells.dtype.kind != "f":
        return False
    shares = cells[:, 1:]
    whole = bool((cells[:, 0] == np.floor(cells[:, 0])).all())
    return whole and bool(((shares >= 0) & (shares <= 1)).all() and (shares % 1 > 0).any(1).all())


def _field(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else None


def _region(cell: str) -> str | None:
    """What a cell holds: a "boxes" of four numbers, "masks", or None."""
    text = cell.strip()
    if (_RUNS.fullmatch(text) and len(text.split()) % 2 == 0) or _WKT.match(text):
        return "masks"
    if not text.startswith(("[", "{")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        return regions_of_columns(value)
    return _region_of_list(value)


def _region_of_list(value: list[Any]) -> str | None:
    """Four corners, a list of four corners, or the points of an outline."""
    if value and all(isinstance(each, list) for each in value):
        kinds = {_region_of_list(each) for each in value}
        points = all(len(each) == 2 and _are_numbers(each) for each in value)
        return "masks" if points and len(value) > 2 else kinds.pop() if len(kinds) == 1 else None
    if value and all(isinstance(each, dict) for each in value):
        kinds = {regions_of_columns(each) for each in value}
        return kinds.pop() if len(kinds) == 1 else None
    if not _are_numbers(value) or not any(_is_corner(each) for each in value):
        return None
    return "boxes" if len(value) == 4 else "masks" if len(value) >= 6 else None


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)


def _is_corner(value: float) -> bool:
    return value != int(value) or abs(value) >= _SMALLEST if abs(value) < 1e300 else False
