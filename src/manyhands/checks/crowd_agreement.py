"""Check whether the crowd as a whole agrees more than by chance."""

import numpy as np

from manyhands.checks.finding import Finding, Severity
from manyhands.checks.label_table import LabelTable

MIN_COMPARED = 200
MAX_SKILL = 0.1
BALANCED = 1.15  # the most frequent class has at most this multiple of the mean class count


def no_agreement(table: LabelTable) -> list[Finding]:
    """The crowd agrees no more than by chance: columns are mixed up, or items cannot be judged.

    Weak annotators look the same if nearly all items are of one class, so the finding is only a
    note if one class is more frequent than the others.
    """
    agreement = table.agreement
    n_compared = float(agreement.n_compared_a.sum())
    maximum = float(agreement.max_excess_a.sum())
    deviation = float(np.sqrt(agreement.variance_a.sum()))
    if n_compared < MIN_COMPARED or deviation == 0.0 or maximum == 0.0:
        return []
    z, upper = agreement.excess_a.sum() / deviation, agreement.skill + 3.0 * deviation / maximum
    if z > 2.0 or upper > MAX_SKILL:
        return []
    message = (
        f"over {n_compared:.0f} labels the crowd agrees no more than by chance "
        f"(skill {agreement.skill:+.3f}, where 1 is perfect agreement)"
    )
    remedy = "check that items, annotators and labels were not shuffled against one another"
    severity: Severity = "warning" if _is_balanced(table) else "note"
    return [table.finding(severity, message, remedy, int(n_compared))]


def _is_balanced(table: LabelTable) -> bool:
    if table.rows.classes is None:
        return True
    count_k = np.bincount(table.first_labels.label)
    mean = count_k.sum() / max(np.count_nonzero(count_k), 1)
    return bool(count_k.max() < BALANCED * mean)


CHECKS = {"no-agreement": no_agreement}
