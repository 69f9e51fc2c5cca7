"""Boxes, masks and free texts are refused, with the package that combines them."""

import json

import pytest

import manyhands as mh
from manyhands.core.errors import DataError

BOXES, MASKS, TEXTS = "ensemble-boxes", "SegmentationEM", "TextHRRASA"
_BOX = {"x": 1, "y": 2, "width": 30, "height": 4}


def label_studio(control, kind, value):
    result = {"from_name": control, "to_name": "image", "type": kind, "value": value}
    return [{"id": 1, "data": {"image": "a.jpg"},
             "annotations": [{"completed_by": 1, "result": [result]}]}]  # fmt: skip


def coco(**annotation):
    return {"images": [{"id": 1}], "annotations": [{"image_id": 1, **annotation}], "categories": []}


JSON_FILES = {
    "coco boxes": (coco(bbox=[1, 2, 3, 4]), BOXES),
    "coco masks": (coco(bbox=[1, 2, 3, 4], segmentation=[[1, 2, 3, 4, 5, 6]]), MASKS),
    "labelme boxes": ({"shapes": [{"shape_type": "rectangle"}], "imagePath": "a.jpg"}, BOXES),
    "labelme outlines": ({"shapes": [{"shape_type": "polygon"}], "imagePath": "a.jpg"}, MASKS),
    "via": ({"a.jpg1": {"filename": "a.jpg", "regions": [{"shape_attributes": _BOX}]}}, BOXES),
    "label studio boxes": (label_studio("b", "rectanglelabels", {"rectanglelabels": ["a"]}), BOXES),
    "label studio masks": (label_studio("b", "brushlabels", {"brushlabels": ["a"]}), MASKS),
    "label studio texts": (label_studio("b", "textarea", {"text": ["a long answer"]}), TEXTS),
}


@pytest.mark.parametrize(("content", "tool"), JSON_FILES.values(), ids=JSON_FILES)
def test_json_files_of_regions_and_texts(content, tool, tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=tool):
        mh.read(path)


def test_pictures_of_prodigy(tmp_path):
    span = {"label": "CAR", "points": [[1, 2], [1, 4], [3, 4]]}
    lines = [{"image": "a.jpg", "spans": [span], "answer": "accept", "_annotator_id": who,
              "_input_hash": 1} for who in "uv"]  # fmt: skip
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(DataError, match=f"{BOXES}.*{MASKS}"):
        mh.read(path)


_PROSE = "it was {} late that day and nobody had seen the old man go"
TABLES = {
    "columns of boxes": (
        "item,annotator,xmin,ymin,xmax,ymax,label\na,u,1,2,3,4,car\na,u,5,6,7,8,car\na,v,1,2,3,4,car",
        BOXES,
    ),
    "runs of pixels": (
        "ImageId,annotator,EncodedPixels\na,u,1 3 10 5 20 6\na,v,1 3 10 5 20 7", MASKS,
    ),
    "cells of boxes": (
        'item,annotator,label\na,u,"[10, 20, 110, 90]"\na,v,"[11, 21, 108, 95]"\n'
        'b,u,"[10.5, 2, 30, 9]"', BOXES,
    ),
    "objects in cells": (
        'item,annotator,label\na,u,"{""x"": 1, ""y"": 2, ""width"": 3, ""height"": 4}"\n'
        'a,v,"{""x"": 1, ""y"": 2, ""width"": 3, ""height"": 5}"', BOXES,
    ),
    "outlines in cells": (
        'item,annotator,label\na,u,"[[1, 2], [40, 5], [9, 9]]"\n'
        'a,v,"POLYGON ((30 10, 40 40, 20 40))"', MASKS,
    ),
    "free texts": (
        "item,annotator,label\n"
        + "\n".join(f"{i},{a},{_PROSE.format(f'{i}{a}')}" for i in range(10) for a in "uvw"),
        TEXTS,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "tool"), TABLES.values(), ids=TABLES)
def test_tables_of_regions_and_texts(text, tool, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(text + "\n")
    with pytest.raises(DataError, match=tool):
        mh.read(path)


def test_files_of_yolo_and_xml(tmp_path):
    yolo, voc = tmp_path / "labels.txt", tmp_path / "labels.xml"
    yolo.write_text("0 0.5 0.51 0.2 0.2\n1 0.1 0.2 0.1 0.1\n")
    voc.write_text("<annotation><object><bndbox></bndbox></object></annotation>")
    for path in (yolo, voc):
        with pytest.raises(DataError, match=BOXES):
            mh.read(path)
    assert mh.read(yolo, layout="dense").n_annotators == 5


def test_what_is_in_scope_is_read(tmp_path):
    """Labels of boxes, lists of classes, and kinds that a user states."""
    table = tmp_path / "labels.csv"
    table.write_text("item,annotator,x,y,width,height,label\na,u,1,2,3,4,car\na,v,1,2,3,4,bus\n")
    assert mh.read(table).classes.tolist() == ["bus", "car"]
    table.write_text('item,annotator,label\na,u,"[10, 20, 110, 90]"\na,v,"[10, 20, 110, 90]"\n')
    assert mh.read(table, kind="classes").n_classes == 1
    nested = tmp_path / "labels.json"
    nested.write_text(json.dumps({"a": {"u": "x", "v": "y"}, "images": {"u": "x"}}))
    assert mh.read(nested).n_items == 2
