"""Checks: what is wrong or risky in a label table, and what to do about it."""

from manyhands.checks.label_table import Finding
from manyhands.checks.report import CHECKS, CheckReport, check, check_file

__all__ = ["CHECKS", "CheckReport", "Finding", "check", "check_file"]
