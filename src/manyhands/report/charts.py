"""The charts of a report as Vega-Lite specifications: what is drawn, from the content alone.

Colours are names of the style sheet's variables, so that charts follow the light and the dark page.
Every chart has a title for screen readers; the page shows the same numbers in tables.
"""

from typing import Any

from manyhands.report.confusions import MAX_CLASSES
from manyhands.report.content import Content

Spec = dict[str, Any]

BLUE, ORANGE, RED, SOFT, INK = (
    f"var(--{name})" for name in ("blue", "orange", "red", "soft", "ink")
)
LOG_FROM = 20  # the ratio of numbers of labels from which on their axis is logarithmic
_FLAG_NAMES = ["no flag", "too few labels", "copies", "constant", "random", "adversarial"]
_FLAG_COLOURS = [BLUE, SOFT, ORANGE, RED, RED, RED]
_FLAG_SHAPES = ["circle", "circle", "diamond", "square", "triangle-up", "triangle-down"]


def charts(content: Content) -> dict[str, Spec]:
    """The specifications by the name of the place on the page; only those that have data."""
    made = {
        "labels": label_chart(content),
        "agreement": agreement_chart(content),
        "types": type_chart(content),
        "errors": error_chart(content),
        "annotators": annotator_chart(content),
        "confidence": confidence_chart(content),
        "calibration": calibration_chart(content),
    }
    return {name: spec for name, spec in made.items() if spec is not None}


def label_chart(content: Content) -> Spec | None:
    """How often each class was said, beside the consensus; or the distribution of numbers."""
    if content["histogram"]:
        return _chart(
            "Distribution of the labels",
            content["histogram"],
            height=180,
            mark={"type": "bar", "color": BLUE},
            encoding={
                "x": _axis("low", "label", bin={"binned": True}),
                "x2": {"field": "high"},
                "y": _axis("labels", "labels"),
                "tooltip": _tips("low", "high", "labels"),
            },
        )
    rows = content["classes"][:MAX_CLASSES]
    if not rows:
        return None
    long = [
        {"class": row["class"], "of": of, "share": row[key]}
        for row in rows
        for of, key in (("labels", "share"), ("consensus", "consensus"))
    ]
    return _chart(
        "Share of each class among labels and in the consensus",
        long,
        height=32 * len(rows),
        mark={"type": "bar"},
        encoding={
            "y": _names("class", [row["class"] for row in rows]),
            "x": _axis("share", "share", format="%"),
            "yOffset": {"field": "of", "sort": ["labels", "consensus"]},
            "color": _colours("of", ["labels", "consensus"], [BLUE, ORANGE]),
            "tooltip": _tips("class", "of", share=".1%"),
        },
    )


def agreement_chart(content: Content) -> Spec | None:
    """Agreement by class with its interval."""
    rows = [
        row | {"interval": _interval(row["low"], row["high"])}
        for row in content["classes"][:MAX_CLASSES]
        if row.get("agreement") is not None
    ]
    if not rows:
        return None
    names = _names("class", [row["class"] for row in rows])
    tips = _tips("class", "interval", agreement=".1%", labels=",")
    known = {"transform": [{"filter": "isValid(datum.low)"}]}
    return _chart(
        "Probability that another annotator says the class too, with its 95 % interval",
        rows,
        height=24 * len(rows),
        layer=[
            _layer({"type": "rule", "color": SOFT, "strokeWidth": 3}, y=names,
                   x=_axis("low", "agreement", format="%", domain=[0, 1]), x2={"field": "high"},
                   tooltip=tips) | known,
            _layer({"type": "point", "filled": True, "size": 70, "color": BLUE}, y=names,
                   x=_axis("agreement", "agreement", format="%", domain=[0, 1]), tooltip=tips),
        ],
    )  # fmt: skip


def _interval(low: float | None, high: float | None) -> str:
    return "none" if low is None or high is None else f"{low:.1%} to {high:.1%}"


def type_chart(content: Content) -> Spec | None:
    """F1 between annotators by type of span, exact and by overlap."""
    rows = [row for row in content["types"][:MAX_CLASSES] if row["f1"] is not None]
    if not rows:
        return None
    kinds = {"same words": "f1", "common word": "overlap"}
    long = [
        {"type": row["type"], "match": match, "f1": row[key], "spans": row["spans"]}
        for row in rows
        for match, key in kinds.items()
    ]
    return _chart(
        "F1 between annotators by type of span",
        long,
        height=28 * len(rows),
        mark={"type": "point", "filled": True, "size": 70},
        encoding={
            "y": _names("type", [row["type"] for row in rows]),
            "x": _axis("f1", "F1", domain=[0, 1]),
            "color": _colours("match", list(kinds), [BLUE, ORANGE]),
            "shape": {"field": "match", "type": "nominal", "scale": {"domain": list(kinds)}},
            "tooltip": _tips("type", "match", f1=".2f", spans=","),
        },
    )


def error_chart(content: Content) -> Spec | None:
    """Bias and noise of annotators who gave numbers."""
    rows = [
        {"annotator": row["name"], "labels": row["labels"], **row["errors"]}
        for row in content["annotators"]["rows"]
        if row.get("errors") and None not in row["errors"].values()
    ]
    if not rows:
        return None
    return _chart(
        "Bias and noise of annotators, in the unit of the labels",
        rows,
        height=260,
        mark={"type": "point", "filled": True, "size": 60, "color": BLUE},
        encoding={
            "x": _axis("bias", "bias"),
            "y": _axis("noise", "noise"),
            "tooltip": _tips("annotator", labels=",", bias="+.3f", scale=".2f", noise=".3f"),
        },
    )


def annotator_chart(content: Content) -> Spec | None:
    """Quality and number of labels of annotators, with flags as colour and shape."""
    rows = [
        {
            "annotator": row["name"], "labels": row["labels"], "quality": row["quality"],
            "low": row["low"], "high": row["high"], "flag": _worst_flag(row),
        }
        for row in content["annotators"]["rows"]
        if row["labels"] and row["quality"] is not None
    ]  # fmt: skip
    if not rows:
        return None
    tips = _tips("annotator", "flag", labels=",", quality=".2f", low=".2f", high=".2f")
    counts = [row["labels"] for row in rows]
    x = _axis("labels", "number of labels", scale={"zero": False, "padding": 12})
    if max(counts) > LOG_FROM * min(counts):
        x = _axis("labels", "number of labels (logarithmic)",
                  scale={"type": "log", "nice": False, "padding": 12})  # fmt: skip
    y: Spec = {"title": "quality", "type": "quantitative", "scale": {"domain": [0, 1]}}
    drawn = [name for name in _FLAG_NAMES if any(row["flag"] == name for row in rows)]
    chosen = [_FLAG_NAMES.index(name) for name in drawn]
    colours = [_FLAG_COLOURS[n] for n in chosen]
    shape = {
        "field": "flag",
        "scale": {"domain": drawn, "range": [_FLAG_SHAPES[n] for n in chosen]},
    }
    return _chart(
        "Quality of annotators by the number of their labels, with 95 % intervals",
        rows,
        height=300,
        layer=[
            _layer({"type": "rule", "opacity": 0.35, "color": SOFT}, x=x,
                   y=y | {"field": "low"}, y2={"field": "high"}),
            _layer({"type": "point", "filled": True, "size": 60}, x=x, y=y | {"field": "quality"},
                   color=_colours("flag", drawn, colours), shape=shape, tooltip=tips),
        ],
    )  # fmt: skip


def _worst_flag(row: dict[str, Any]) -> str:
    kinds = [flag["kind"].replace("few-labels", "too few labels") for flag in row["flags"]]
    return max(kinds, key=_FLAG_NAMES.index, default="no flag")


def confidence_chart(content: Content) -> Spec | None:
    """How many items have which confidence."""
    rows = content["confidence"]
    if not any(row["items"] for row in rows):
        return None
    return _chart(
        "Number of items by the confidence of their consensus",
        rows,
        height=180,
        mark={"type": "bar", "color": BLUE},
        encoding={
            "x": _axis("low", "confidence", bin={"binned": True, "step": 0.05}),
            "x2": {"field": "high"},
            "y": _axis("items", "items"),
            "tooltip": _tips("low", "high", items=","),
        },
    )


def calibration_chart(content: Content) -> Spec | None:
    """Accuracy by confidence, where truths are given."""
    rows = (content["scores"] or {}).get("calibration")
    if not rows:
        return None
    x = _axis("confidence", "confidence", domain=[0, 1])
    y = _axis("accuracy", "share of right labels", domain=[0, 1])
    tips = _tips(confidence=".2f", accuracy=".2f", items=",")
    diagonal = {"values": [{"confidence": 0, "accuracy": 0}, {"confidence": 1, "accuracy": 1}]}
    return _chart(
        "Share of right labels by confidence; on the diagonal the confidence is right",
        rows,
        height=260,
        layer=[
            _layer({"type": "line", "strokeDash": [4, 4], "color": SOFT}, x=x, y=y)
            | {"data": diagonal},
            _layer({"type": "line", "color": BLUE, "point": {"size": 70, "color": BLUE}}, x=x, y=y,
                   tooltip=tips),
        ],
    )  # fmt: skip


def _chart(title: str, rows: list[dict[str, Any]], **parts: Any) -> Spec:
    quiet = {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": title,
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "background": "transparent",
        "data": {"values": rows},
        "config": {
            "font": "inherit",
            "axis": quiet | {"gridColor": "var(--line)", "domainColor": SOFT, "tickColor": SOFT,
                             "labelLimit": 140, "labelFlush": False, "labelSeparation": 6},
            "legend": quiet | {"orient": "top", "title": None,
                               "columns": {"expr": "width < 400 ? 3 : 0"}},
            "view": {"stroke": None},
        },
    } | parts  # fmt: skip


def _layer(mark: Spec, **encoding: Any) -> Spec:
    return {"mark": mark, "encoding": encoding}


def _axis(
    field: str, title: str, format: str | None = None, domain: list[float] | None = None,
    **more: Any,
) -> Spec:  # fmt: skip
    of_shares = format is not None or domain is not None
    axis: Spec = {"title": title} | ({"tickCount": 10} if of_shares else {})
    axis = {"axis": axis | ({"format": format} if format else {})}
    scale = {"scale": {"domain": domain}} if domain else {}
    return {"field": field, "type": "quantitative"} | axis | scale | more


def _names(field: str, order: list[str]) -> Spec:
    return {"field": field, "type": "nominal", "sort": order, "axis": {"title": None}}


def _colours(field: str, domain: list[str], colours: list[str]) -> Spec:
    return {"field": field, "type": "nominal", "scale": {"domain": domain, "range": colours}}


def _tips(*names: str, **formats: str) -> list[Spec]:
    plain: list[Spec] = [{"field": name} for name in names]
    return plain + [
        {"field": name, "type": "quantitative", "format": each} for name, each in formats.items()
    ]
