"""Annotators, or whole crowds, whose labels say no more than chance, or say the opposite."""

import numpy as np
from scipy import special

from manyhands.checks.chart import Chart
from manyhands.checks.constant import CONSTANT_SHARE, constant_codes, top_share
from manyhands.checks.finding import Finding, Severity
from manyhands.checks.significance import by_worst, significant
from manyhands.checks.skills import Skills
from manyhands.core.arrays import AnyArray, Bools, Floats

LEAST_COMPARED = 10
ABOVE_CHANCE = 2.3  # standard deviations, one in a hundred: above this somebody is not random
PART_OF_CROWD = 1 / 3  # less than this part of the crowd's skill is far too little
EVEN = 1.15  # the most frequent class is said at most this many times its even share
NEAR_CHANCE = 1.6  # one in twenty: below this a note is worth while
CLEAR = 5.0  # where the crowd would stand this many deviations above chance, one can judge


def below_chance(chart: Chart) -> list[Finding]:
    """Annotators who contradict the others more often than chance: labels swapped, or malice.

    One-sided test of the excess of `Skills`, Holm-corrected over all annotators with enough
    labels that others confirm.
    """
    skills = chart.skills
    tested = np.flatnonzero(_testable(skills))
    p_value = special.ndtr(skills.z_a[tested])
    guilty = significant(p_value)
    if not guilty.any():
        return []
    worst = by_worst(tested[guilty], p_value[guilty])
    share = f"{_skill(skills, worst[0]):+.2f}"
    message = (
        f"{len(worst)} of {len(tested)} annotators contradicted the others more often than chance; "
        f"the worst has skill {share} (1 follows the others, 0 is chance, "
        f"the crowd has {skills.crowd:+.2f})"
    )
    remedy = "check whether they swapped the classes or the scale; leave them out otherwise"
    return [chart.about_annotators("warning", message, remedy, worst)]


def random_annotator(chart: Chart) -> list[Finding]:
    """Annotators whose labels cannot be told from chance though they gave enough to tell.

    A warning needs both: not above chance, and significantly below a third of the crowd's skill.
    Where only the first holds, though the crowd's skill would show clearly, a note is made.
    Who says nearly always the same is left to `constant-annotator`.
    """
    skills = chart.skills
    varied = top_share(chart) < CONSTANT_SHARE
    varied[constant_codes(chart)] = False
    tested = np.flatnonzero(_testable(skills) & varied)
    z, deviation = skills.z_a[tested], np.sqrt(skills.variance_a[tested])
    expected = skills.crowd * skills.room_a[tested]
    at_chance = np.abs(z) < ABOVE_CHANCE
    p_value = special.ndtr((skills.excess_a[tested] - PART_OF_CROWD * expected) / deviation)
    sure = at_chance & significant(p_value)
    maybe = (np.abs(z) < NEAR_CHANCE) & ~sure & (expected > CLEAR * deviation)
    found = []
    if sure.any():
        worst = by_worst(tested[sure], p_value[sure])
        message = f"{len(worst)} of {len(tested)} annotators labelled no better than chance"
        remedy = "leave their labels out, or use a method that weighs annotators"
        told = message + _share_of_labels(chart, worst)
        found.append(chart.about_annotators("warning", told, remedy, worst))
    if maybe.any():
        worst = by_worst(tested[maybe], p_value[maybe])
        message = f"{len(worst)} of {len(tested)} annotators cannot be told from chance yet"
        remedy = "check some of their labels by hand; use a method that weighs annotators"
        told = message + _share_of_labels(chart, worst)
        found.append(chart.about_annotators("note", told, remedy, worst))
    return found


def no_agreement(chart: Chart) -> list[Finding]:
    """A crowd that agrees no more than chance: columns mixed up, or nothing to be seen.

    Weak annotators of items that are nearly all of one class look the same, so it is a note
    where one class is said more often than the others.
    """
    skills = chart.skills
    compared, room = float(skills.compared_a.sum()), float(skills.room_a.sum())
    deviation = float(np.sqrt(skills.variance_a.sum()))
    if compared < 200 or deviation == 0.0 or room == 0.0:
        return []
    z, most = skills.excess_a.sum() / deviation, skills.crowd + 3.0 * deviation / room
    if z > 2.0 or most > 0.1:
        return []
    message = (
        f"over {compared:.0f} labels the crowd agrees no more than chance "
        f"(skill {skills.crowd:+.3f}, where 1 is perfect agreement)"
    )
    remedy = "check that items, annotators and labels were not shuffled against one another"
    severity: Severity = "warning" if _evenly_said(chart) else "note"
    return [chart.finding(severity, message, remedy, int(compared))]


def _evenly_said(chart: Chart) -> bool:
    if chart.rows.classes is None:
        return True
    count_k = np.bincount(chart.once.label)
    even = count_k.sum() / max(np.count_nonzero(count_k), 1)
    return bool(count_k.max() < EVEN * even)


def _testable(skills: Skills) -> Bools:
    return (skills.compared_a >= LEAST_COMPARED) & skills.varied_a


def _skill(skills: Skills, annotator: int) -> float:
    return float(skills.excess_a[annotator] / max(skills.room_a[annotator], 1e-12))


def _share_of_labels(chart: Chart, annotators: AnyArray) -> str:
    n_a: Floats = chart.once.labels_per_annotator.astype(np.float64)
    return f"; they gave {100 * n_a[annotators].sum() / n_a.sum():.3g} % of the labels"
