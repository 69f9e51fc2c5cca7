"""Who is the reliable one of those who tagged a sentence: shares pi over the crowd."""

import numpy as np

from manyhands.core.arrays import Floats
from manyhands.methods.crf.crowd_sequences import CrowdSequences, sums


def log_choice(rows: CrowdSequences, share_a: Floats) -> Floats:
    """log(pi_a / sum of pi over those who tagged the sentence), for every row."""
    share_p = share_a[rows.annotator_p]
    present_g = np.add.reduceat(share_p, rows.begin_g)
    return np.asarray(np.log(share_p) - np.log(present_g)[rows.group_p])


def log_prior(share_a: Floats, pseudo: float) -> float:
    """The log of a Dirichlet(1 + pseudo) density of pi, up to a constant."""
    return float(pseudo * np.log(share_a).sum())


def better_shares(
    rows: CrowdSequences, posterior_p: Floats, share_a: Floats, pseudo: float, *, steps: int
) -> Floats:
    """Shares pi that sum to 1, and a Q that is not lower than before.

    ::

        Q(pi) = sum_p posterior_p log(pi_a / Pi_s) + pseudo sum_a log pi_a

    where Pi_s sums pi over the annotators of sentence s. Take R = Q - A pseudo sum_a pi_a, of any
    pi above 0. The log-ratios do not change with the scale of pi, and the rest of R is best at the
    scale where pi sums to 1, where R is Q up to a constant. -log Pi_s is convex in Pi_s and lies
    above its tangent; with the tangents R has its maximum at ::

        pi_a = (sum_p of a posterior_p + pseudo) / (A pseudo + sum_s of a 1 / Pi_s)

    So neither this step nor dividing by the sum lowers R, and Q does not fall.
    """
    chosen_a = sums(rows.annotator_p, posterior_p, rows.n_annotators) + pseudo
    for _ in range(steps):
        share_p = share_a[rows.annotator_p]
        present_g = np.add.reduceat(share_p, rows.begin_g)
        rivals_a = sums(rows.annotator_p, 1.0 / present_g[rows.group_p], rows.n_annotators)
        share_a = chosen_a / (rows.n_annotators * pseudo + rivals_a)
        share_a = share_a / share_a.sum()
    return share_a
