"""One self-contained file from the content of a report."""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from manyhands.io.atomic import atomic_write
from manyhands.report.charts import charts
from manyhands.report.content import Content
from manyhands.report.shown import MISSING, shown

# What the bundle of charts puts on the page: a function that draws a specification in an element.
# Expressions are interpreted, not evaluated, so that the page forbids the evaluation of text.
_BUNDLED = """
window.drawChart = (element, spec) => vegaEmbed(element, spec, {
  actions: false, renderer: "svg", ast: true, mode: "vega-lite", tooltip: {theme: "page"},
  logLevel: 1,
});
"""

# Letters that are written from right to left, and words of them.
_TURNED = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
_TURNED_WORDS = re.compile(f"{_TURNED}+(?:[ \u00a0'-]{_TURNED}+)*")


def render(content: Content) -> str:
    """The report as one HTML file; it makes no request.

    Every text of the content is escaped by the template, and data for the script are JSON without
    a character that markup has.
    """
    environment = page_environment()
    data = {
        "charts": charts(content),
        "confusions": content["confusions"],
    }
    scripts = [chart_library(), template_text("tables.js"), template_text("report.js")]
    return environment.get_template("report.html").render(
        content,
        style=template_text("report.css"),
        scripts=scripts,
        policy=content_policy(scripts),
        data=script_json(data),
    )


def write_report(content: Content, path: str | Path) -> int:
    """Write the report to a file, complete or not at all; return its size in bytes."""
    encoded = render(content).encode("utf-8", errors="xmlcharrefreplace")
    with atomic_write(Path(path)) as stream:
        stream.write(encoded)
    return len(encoded)


def page_environment() -> jinja2.Environment:
    """The templates of the room; everything is escaped unless a template says otherwise."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("manyhands.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "share": _share,
        "sure": _sure,
        "count": lambda n: f"{n:,}",
        "score": _score,
        "decimals": _decimals,
        "shown": shown,
        "isolated": isolated,
        "change": lambda value: MISSING if value is None else f"{value:+.2f}",
    }
    environment.filters |= filters
    return environment


def isolated(text: str) -> markupsafe.Markup:
    r"""A sentence in which words from right to left do not move the words and numbers beside them.

    A number stays on one line with its per cent sign.

    >>> isolated("2 say " + chr(0x5D0) + ", 1 <b>").encode("ascii", "backslashreplace").decode()
    '2 say <bdi>\\u05d0</bdi>, 1 &lt;b&gt;'
    """
    escaped = re.sub("(?<=[0-9]) %", "\u00a0%", str(markupsafe.escape(text)))
    return markupsafe.Markup(_TURNED_WORDS.sub(r"<bdi>\g<0></bdi>", escaped))


def script_json(data: Mapping[str, Any]) -> str:
    r"""Data as JSON that can stand in a script element whatever it holds.

    >>> script_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII only
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


@functools.cache
def chart_library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(_BUNDLED)
    return bundle.replace("</script", "<\\/script")  # would end the element


def content_policy(scripts: list[str]) -> str:
    """A policy that lets these scripts run and nothing else, and lets no request leave."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
        for each in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def template_text(name: str) -> str:
    """A file of the templates as it is."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _share(value: float | None) -> str:
    return MISSING if value is None else f"{100 * value:.0f} %"


def _score(value: float | None) -> str:
    return MISSING if value is None else f"{value:,.4g}"


def _sure(probability: float) -> str:
    return "over 99 %" if probability > 0.99 else _share(probability)


def _decimals(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"
