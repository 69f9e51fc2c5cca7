"""How far annotators agree with each other.

Every coefficient is a function of labels that returns an `Agreement`: its value, its interval, what
it was computed from, and in words what it means and hides. `summarize` computes those that fit the
labels, with tables by class, annotator, pair and item; `summarize_tokens` is for spans.
"""

from manyhands.agreement.alpha import alpha
from manyhands.agreement.annotator_classes import by_annotator_and_class
from manyhands.agreement.chance import brennan_prediger, fleiss, gwet, percent
from manyhands.agreement.cohen import cohen, scott
from manyhands.agreement.comparisons import summarize_pairs
from manyhands.agreement.icc import icc
from manyhands.agreement.pairwise import pair_agreement, pair_moments, shared_labels
from manyhands.agreement.result import Agreement
from manyhands.agreement.spans import span_f1
from manyhands.agreement.summary import (
    COEFFICIENTS,
    AgreementSummary,
    summarize,
    summarize_tokens,
)
from manyhands.agreement.tables import by_annotator, by_class, by_item, by_pair

__all__ = [
    "COEFFICIENTS",
    "Agreement",
    "AgreementSummary",
    "alpha",
    "brennan_prediger",
    "by_annotator",
    "by_annotator_and_class",
    "by_class",
    "by_item",
    "by_pair",
    "cohen",
    "fleiss",
    "gwet",
    "icc",
    "pair_agreement",
    "pair_moments",
    "percent",
    "scott",
    "shared_labels",
    "span_f1",
    "summarize",
    "summarize_pairs",
    "summarize_tokens",
]
