"""Checks: what is wrong or risky in a label table, and what to do about it."""

from manyhands.checks.finding import SEVERITIES, Finding, Severity
from manyhands.checks.label_table import LabelTable
from manyhands.checks.report import CHECKS, Check, CheckReport, check, check_file

__all__ = [
    "CHECKS",
    "SEVERITIES",
    "Check",
    "CheckReport",
    "Finding",
    "LabelTable",
    "Severity",
    "check",
    "check_file",
]
