"""What is wrong or risky in a label table, and what to do about it."""

from manyhands.doctor.catalog import CHECKS, Check
from manyhands.doctor.chart import Chart
from manyhands.doctor.examination import Examination, examine
from manyhands.doctor.files import examine_file
from manyhands.doctor.finding import SEVERITIES, Finding, Severity

__all__ = [
    "CHECKS",
    "SEVERITIES",
    "Chart",
    "Check",
    "Examination",
    "Finding",
    "Severity",
    "examine",
    "examine_file",
]
