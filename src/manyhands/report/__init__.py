"""Reports: profiles of annotators with reasons, figures, and one page that can be sent on."""

from manyhands.report import plot
from manyhands.report.content import NetworkView, report_content
from manyhands.report.local_page import serve
from manyhands.report.page import render, write_report
from manyhands.report.profiles import Profiles, profile_annotators
from manyhands.report.ranking import ranking_content, render_ranking, write_ranking_report
from manyhands.report.spans import SpanView

__all__ = [
    "NetworkView",
    "Profiles",
    "SpanView",
    "plot",
    "profile_annotators",
    "ranking_content",
    "render",
    "render_ranking",
    "report_content",
    "serve",
    "write_ranking_report",
    "write_report",
]
