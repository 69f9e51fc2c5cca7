"""What one more label is expected to bring: about its item, or about its annotator.

Every function takes the beliefs q (i, k) about items and confusions (k, l) of one annotator, and
returns a gain per item. An annotator at a time, so that nothing has items x annotators x classes.
"""

import numpy as np
from scipy import special

from manyhands.core.arrays import Floats

_ROUNDING = 1e-12


def information_gain(belief_ik: Floats, confusion_kl: Floats) -> Floats:
    """The mutual information, in bits, of an item's class and a label of this annotator.

    ::

        I = H(sum_k q_k C[k, .]) - sum_k q_k H(C[k, .])

    It is 0 for an item whose class is certain, and for an annotator whose labels do not depend on
    the class. A certain and right annotator brings the entropy of the belief.

    >>> half = np.array([[0.5, 0.5]])
    >>> information_gain(half, np.eye(2)).tolist(), information_gain(half, half[[0, 0]]).tolist()
    ([1.0], [0.0])
    """
    label_il = belief_ik @ confusion_kl
    noise_k = special.entr(confusion_kl).sum(axis=1)
    bits_i = (special.entr(label_il).sum(axis=1) - belief_ik @ noise_k) / np.log(2.0)
    return np.where(bits_i > _ROUNDING, bits_i, 0.0)


def accuracy_gain(belief_ik: Floats, confusion_kl: Floats) -> Floats:
    """How much more probable the most probable class is expected to be after a label.

    ::

        sum_l max_k q_k C[k, l] - max_k q_k

    It is 0 if no label of this annotator would change the consensus of the item.

    >>> right = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> accuracy_gain(np.array([[0.6, 0.4], [0.9, 0.1]]), right).round(2).tolist()
    [0.2, 0.0]
    """
    joint_ikl = belief_ik[:, :, None] * confusion_kl
    gain_i = joint_ikl.max(axis=1).sum(axis=1) - belief_ik.max(axis=1)
    return np.where(gain_i > _ROUNDING, gain_i, 0.0)


def profile_gain(belief_ik: Floats, counts_kl: Floats) -> Floats:
    """What a label tells about its annotator, in bits: active probing.

    The confusion of an annotator has a Dirichlet distribution with these counts. The gain is the
    information that a label of an item of class k gives about row k, for the class that the item is
    believed to have, times how certain that class is: a label of an item of unknown class tells
    little about who gave it.

    ::

        I_k = H(m_k) + sum_l m_kl (psi(n_kl + 1) - psi(n_k + 1)),  m_kl = n_kl / n_k
        gain = sum_k q_k I_k (1 - H(q) / log K)

    >>> many, few = np.array([[80.0, 20.0], [20.0, 80.0]]), np.array([[4.0, 1.0], [1.0, 4.0]])
    >>> sure = np.array([[1.0, 0.0]])
    >>> bool(profile_gain(sure, few)[0] > 10 * profile_gain(sure, many)[0])
    True
    """
    total_k1 = counts_kl.sum(axis=1, keepdims=True)
    mean_kl = counts_kl / total_k1
    expected_kl = mean_kl * (special.digamma(counts_kl + 1.0) - special.digamma(total_k1 + 1.0))
    bits_k = (special.entr(mean_kl) + expected_kl).sum(axis=1) / np.log(2.0)
    unknown_i = special.entr(belief_ik).sum(axis=1) / np.log(max(belief_ik.shape[1], 2))
    known_i = np.maximum(1.0 - unknown_i, 0.0)
    return np.asarray(np.maximum(belief_ik @ bits_k, 0.0) * known_i)
