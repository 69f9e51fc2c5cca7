"""Checks: what is wrong or risky in a label table, and what to do about it."""

from manyhands.checks.comparisons import PAIR_CHECKS
from manyhands.checks.flags import FLAGS, Flag, flag_annotators
from manyhands.checks.label_table import Finding
from manyhands.checks.report import CHECKS, CheckReport, check, check_file, check_pairs

__all__ = [
    "CHECKS",
    "FLAGS",
    "PAIR_CHECKS",
    "CheckReport",
    "Finding",
    "Flag",
    "check",
    "check_file",
    "check_pairs",
    "flag_annotators",
]
