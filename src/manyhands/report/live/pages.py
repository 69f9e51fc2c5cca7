"""The pages as HTML, from the templates of the report and a few more."""

import functools
from pathlib import Path
from typing import Any

import jinja2

from manyhands import __version__
from manyhands.aggregation import AUTO
from manyhands.annotations.labels import as_list
from manyhands.report.charts import charts
from manyhands.report.items import describe_items
from manyhands.report.live import browse
from manyhands.report.live.guard import Refusal
from manyhands.report.live.reading import COLUMNS, EMPTY, LABELS_ARE, READMIT
from manyhands.report.live.results import DOWNLOADS, MethodTable, Result, methods_for
from manyhands.report.live.session import OpenedFile, Session
from manyhands.report.page import chart_library, page_environment, script_json, template_text
from manyhands.report.shown import shown

ROLES = {"item": "items", "annotator": "annotators", "label": "labels"}
CHECKED = (
    "majority", "one-coin", "dawid-skene", "annotator-types", "ordinal-thresholds", "mean",
    "median", "gaussian", "multilabel-majority", "multilabel-dawid-skene", "multilabel-mixture",
)  # fmt: skip
CHARTS = "charts.js"
# Templates by the names under which pages load them.
STATIC = {
    "report.css": "report.css",
    "report.js": "report.js",
    "tables.js": "tables.js",
    "live.css": "live/live.css",
    "live.js": "live/live.js",
    CHARTS: "",
}
# Columns of a comparison, in words; those without stay out of the page and are in its table.
MEASURES = {
    "average_rank": "Average rank",
    "validation": "Log-probability of held-out labels",
    "likelihood": "Log-probability of held-out labels",
    "majority": "Predicts the majority",
    "annotator": "Predicts the label",
    "confidence": "Mean confidence",
    "seconds": "Seconds",
}


@functools.cache
def _environment() -> jinja2.Environment:
    return page_environment()


def static_file(name: str) -> tuple[str, str]:
    """What pages load beside themselves: content and type; refused if there is no such file.

    The library of charts takes some seconds to make, the first time.
    """
    if name not in STATIC:
        raise Refusal(404, "There is no such file.")
    text = chart_library() if name == CHARTS else template_text(STATIC[name])
    return text, "text/css" if name.endswith(".css") else "text/javascript"


class Pages:
    """Renders the pages of a session whose addresses begin with `base`."""

    def __init__(self, session: Session, base: str) -> None:
        self.session, self.base = session, base

    def _render(self, name: str, **values: Any) -> str:
        shared = {"base": self.base, "version": __version__, "limits": self.session.limits}
        return _environment().get_template(f"live/{name}").render(shared | values)

    def start(self) -> str:
        """Where a file is opened."""
        return self._render("start.html", files=list(self.session.files.values())[::-1])

    def progress(self, job: Any, file: OpenedFile | None) -> str:
        """What is shown while a job waits or runs."""
        return self._render("progress.html", job=job, file=file)

    def file(self, file: OpenedFile) -> str:
        """Columns, methods, and results so far."""
        results, comparisons = self.session.made_of(file)
        labels, settings = file.labels, file.settings
        taken = {} if labels is None else labels.taken
        chosen = {role: settings.get(role) or taken.get(role, "") for role in COLUMNS}
        wanted = {"kind": settings.get("kind"), "task": settings.get("task")}
        are = next((name for name, each in LABELS_ARE.items() if each == wanted), "")
        return self._render(
            "file.html", file=file, labels=labels, roles=ROLES, taken=taken, chosen=chosen,
            labels_are=are, empty=EMPTY, missing=settings.get("missing") or [],
            methods=[] if labels is None else methods_for(labels.kind), auto=AUTO,
            checked=CHECKED, results=results, comparisons=comparisons, readmit=READMIT,
            left_out=as_list(settings.get("exclude") or ()),
        )  # fmt: skip

    def result(self, result: Result) -> str:
        """The report of a result, live."""
        content = result.content
        data = {"charts": charts(content), "confusions": content["confusions"]}
        return self._render(
            "result.html", **content, data=script_json(data), live=self._links(result)
        )

    def items(self, result: Result, given: dict[str, str]) -> str:
        """All items of a result, page by page."""
        consensus = result.consensus
        assert consensus is not None, "the job is done"
        ann = consensus.annotations
        query = browse.Query.of(given, ann)
        page = browse.find_items(consensus, query)
        rows = list(describe_items(consensus, page.codes, words=result.words))
        who = None if query.by is None else shown(ann.annotators[query.by])
        groups = dict(browse.SHOWN)
        if ann.kind == "numbers":
            groups.pop("against")
        return self._render(
            "items.html", live=self._links(result), query=query, page=page, rows=rows, who=who,
            groups=groups, orders=browse.ORDERS,
        )  # fmt: skip

    def comparison(self, made: MethodTable) -> str:
        """Methods in their order."""
        assert made.table is not None, "the job is done"
        rows = made.table.records()
        return self._render(
            "comparison.html", file=self.file_of(made), made=made, rows=rows,
            measures={name: text for name, text in MEASURES.items() if name in rows[0]},
            ranked_by=made.table.ranked_by,
        )  # fmt: skip

    def _links(self, result: Result) -> dict[str, Any]:
        return {
            "file": self.file_of(result),
            "method": result.method,
            "page": f"{self.base}/results/{result.id}",
            "downloads": {name: DOWNLOADS[name] for name in result.downloads},
        }

    def file_of(self, made: Result | MethodTable) -> OpenedFile:
        """The file of a result or a comparison."""
        return self.session.of(self.session.files, made.file)


def download(result: Result | MethodTable, name: str, known: tuple[str, ...]) -> Path:
    """The file of a download; refused if there is none of this name."""
    if name not in known or not (result.folder / name).is_file():
        raise Refusal(404, "There is no such file.")
    return result.folder / name
