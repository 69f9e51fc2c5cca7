"""What is wrong or risky in a label table, and what to do about it."""

from manyhands.checks.catalog import CHECKS, Check
from manyhands.checks.chart import Chart
from manyhands.checks.files import check_file
from manyhands.checks.finding import SEVERITIES, Finding, Severity
from manyhands.checks.report import CheckReport, check

__all__ = [
    "CHECKS",
    "SEVERITIES",
    "Chart",
    "Check",
    "CheckReport",
    "Finding",
    "Severity",
    "check",
    "check_file",
]
