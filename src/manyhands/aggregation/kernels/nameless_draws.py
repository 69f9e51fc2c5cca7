"""Random numbers of items and classes that depend on their labels, not on names or order.

A model that starts at random must not give another result for the same labels in another order. So
numbers are not drawn one after another. Each is computed from a seed and the fingerprints of its
item and class: hashes of who gave them which labels, where people and classes are known by their
own fingerprints. Sums of hashes wrap around, so they are exact in any order.
"""

import numpy as np
import numpy.typing as npt

from manyhands.aggregation.evidence import Evidence
from manyhands.core.arrays import Codes, Floats
from manyhands.core.kernels import kernel

Hashes = npt.NDArray[np.uint64]
_ROUNDS = 3  # after these, items differ that have other labels, or labels of other people
_KNOWN = np.uint64(0x2545F4914F6CDD1D)


def fingerprints(evidence: Evidence) -> tuple[Hashes, Hashes]:
    """Hashes of items and of classes. They are equal for those that only names tell apart."""
    ann = evidence.annotations
    known = evidence.known if len(evidence.known) else np.full(ann.n_items, -1, dtype=np.int32)
    item_i, annotator_a, class_k = (
        np.ones(n, dtype=np.uint64) for n in (ann.n_items, ann.n_annotators, ann.n_classes)
    )
    for _ in range(_ROUNDS):
        item_i, annotator_a, class_k = _refine(
            ann.item, ann.annotator, ann.label, known, item_i, annotator_a, class_k
        )
    return item_i, class_k


def draw_shares(item_i: Hashes, class_k: Hashes, n_shares: int, seed: int) -> Floats:
    """For every item and class shares that sum to 1, evenly distributed; shape (i, k, m)."""
    shares = np.empty((len(item_i), len(class_k), n_shares))
    _draw(item_i, class_k, np.uint64(seed), shares)
    shares /= shares.sum(axis=2, keepdims=True)
    return shares


@kernel
def _mix(x: np.uint64, y: np.uint64) -> np.uint64:
    """A hash of two numbers in this order, by multiplications and shifts."""
    z = x * np.uint64(0x9E3779B97F4A7C15) + y + np.uint64(0xD1B54A32D192ED03)
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def _refine(
    item: Codes,
    annotator: Codes,
    label: Codes,
    known: Codes,
    item_hash: Hashes,
    annotator_hash: Hashes,
    class_hash: Hashes,
) -> tuple[Hashes, Hashes, Hashes]:
    """Hashes that also depend on what the present ones say about the others."""
    n_items, n_annotators, n_classes = len(item_hash), len(annotator_hash), len(class_hash)
    says_ik = np.zeros((n_items, n_classes), dtype=np.uint64)
    says_ak = np.zeros((n_annotators, n_classes), dtype=np.uint64)
    one = np.uint64(1)
    for n in range(len(item)):
        says_ik[item[n], label[n]] += _mix(annotator_hash[annotator[n]], one)
        says_ak[annotator[n], label[n]] += _mix(item_hash[item[n]], one)
    new_item, new_annotator = item_hash.copy(), annotator_hash.copy()
    new_class = class_hash.copy()
    for i in range(n_items):
        if known[i] >= 0:
            says_ik[i, known[i]] += _KNOWN
        for k in range(n_classes):
            new_item[i] += _mix(says_ik[i, k], class_hash[k])
            new_class[k] += _mix(says_ik[i, k], item_hash[i])
    for a in range(n_annotators):
        for k in range(n_classes):
            new_annotator[a] += _mix(says_ak[a, k], class_hash[k])
    return new_item, new_annotator, new_class


@kernel
def _draw(item_hash: Hashes, class_hash: Hashes, seed: np.uint64, into: Floats) -> None:
    """Exponential numbers, whose shares in their sum are evenly distributed."""
    for i in range(into.shape[0]):
        for k in range(into.shape[1]):
            of_pair = _mix(_mix(item_hash[i], class_hash[k]), seed)
            for m in range(into.shape[2]):
                bits = _mix(of_pair, np.uint64(m)) >> np.uint64(11)
                into[i, k, m] = -np.log((np.float64(bits) + 0.5) * 2.0**-53)
