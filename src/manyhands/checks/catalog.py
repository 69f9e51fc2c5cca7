"""The table of checks, worst faults first; within one severity findings keep this order."""

from collections.abc import Callable

from manyhands.checks.balance import class_never_said, imbalance, many_classes, one_class
from manyhands.checks.chance import below_chance, no_agreement, random_annotator
from manyhands.checks.chart import Chart
from manyhands.checks.components import disconnected_crowd
from manyhands.checks.constant import constant_annotator
from manyhands.checks.copies import copies
from manyhands.checks.coverage import (
    few_labels_annotators,
    single_label_items,
    too_few_annotators,
    unlabelled_items,
)
from manyhands.checks.finding import Finding
from manyhands.checks.missing_codes import looks_missing
from manyhands.checks.near_duplicates import near_duplicate_classes, near_duplicate_names
from manyhands.checks.outliers import outlier_numbers
from manyhands.checks.repeats import repeated_pair
from manyhands.checks.unusable_cells import (
    blank_label,
    blank_name,
    infinite_label,
    label_outside_classes,
    no_labels,
    unlisted_name,
)
from manyhands.core.registry import Registry

Check = Callable[[Chart], list[Finding]]

CHECKS: Registry[Check] = Registry(
    "check",
    {
        "no-labels": no_labels,
        "blank-label": blank_label,
        "label-outside-classes": label_outside_classes,
        "infinite-label": infinite_label,
        "blank-name": blank_name,
        "unlisted-name": unlisted_name,
        "no-agreement": no_agreement,
        "one-class": one_class,
        "many-classes": many_classes,
        "looks-missing": looks_missing,
        "outlier-numbers": outlier_numbers,
        "near-duplicate-classes": near_duplicate_classes,
        "near-duplicate-names": near_duplicate_names,
        "repeated-pair": repeated_pair,
        "below-chance": below_chance,
        "constant-annotator": constant_annotator,
        "random-annotator": random_annotator,
        "copies": copies,
        "disconnected-crowd": disconnected_crowd,
        "too-few-annotators": too_few_annotators,
        "single-label-items": single_label_items,
        "unlabelled-items": unlabelled_items,
        "few-labels-annotators": few_labels_annotators,
        "class-never-said": class_never_said,
        "imbalance": imbalance,
    },
)
