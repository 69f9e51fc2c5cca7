"""Checks: what is wrong or risky in a label table, and what to do about it."""

from manyhands.checks.label_table import SEVERITIES, Finding, LabelTable, Severity
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
