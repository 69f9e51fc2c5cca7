"""Mistakes that annotators share on the same items: a test, and the truth that would settle it."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax
from scipy.stats import binom, norm

from manyhands.annotations import Annotations, Vocabulary
from manyhands.core.arrays import AnyArray, Codes, Floats, read_only
from manyhands.core.settings import generator
from manyhands.methods.cross_fit.label_model import CrowdLabels, skill_and_spam

LEVEL = 0.01  # how often the test may find something in a crowd whose mistakes are independent
_STEPS = 20
_CROWDS = 40  # simulated crowds that the statistic is compared with
_STRENGTH = 5.0  # pseudo-labels of the prior of an annotator
_MIN_ITEMS = 10  # items where features and labels disagree, for the test to say something
_FEATURES = "features (cross-fitted)"
_POWER, _MAJORITY = 0.9, 0.7  # of the gold items: to find that one side is right so often
_MAX_GOLD = 200  # more than are ever needed for this


@dataclass(frozen=True)
class SharedMistakes:
    """Whether labels agree with the features more often than independent mistakes explain.

    `contradicted` are the items whose labels say another class than their features, as codes.
    `observed` is how many of their labels are on the side of the features, and `expected` how many
    would be if mistakes were independent; `z` says in standard deviations how unusual this is.
    """

    contradicted: AnyArray
    n_labels: int
    observed: float
    expected: float
    z: float

    @property
    def found(self) -> bool:
        """Whether independent mistakes do not explain it."""
        return len(self.contradicted) >= _MIN_ITEMS and self.z > norm.isf(LEVEL)

    @property
    def n_gold(self) -> int:
        """How many of these items need a truth to tell which side is right more often.

        With so many, drawn at random, a sign test of level 5 % finds it with a probability of 90 %
        if one side is right on 70 % of the items.
        """
        n_s = np.arange(1, _MAX_GOLD)
        power_s = binom.sf(binom.isf(0.025, n_s, 0.5), n_s, _MAJORITY)  # of both tails 5 %
        wanted = int(n_s[np.argmax(power_s >= _POWER)])
        n_items = len(self.contradicted)
        return min(math.ceil(wanted / (1 + (wanted - 1) / max(n_items, 1))), n_items)

    @property
    def message(self) -> str:
        """What was found, in words."""
        return (
            f"annotators seem to share mistakes: on {len(self.contradicted)} items the labels say "
            f"another class than the features; of {self.n_labels} labels whose item has such "
            f"others, {self.observed:.0f} are on the side of the features where "
            f"{self.expected:.0f} are expected of independent mistakes"
        )

    @property
    def remedy(self) -> str:
        """What to do, in words."""
        return (
            f"labels cannot tell which side is right: find the truth of {self.n_gold} of these "
            "items, drawn at random; if the features are right more often, trust a network more "
            "than the consensus, and ask annotators about these items again"
        )


def compare_sides(
    feature_class_i: AnyArray, annotations: Annotations, *, seed: int = 0
) -> SharedMistakes:
    """Test whether labels share mistakes, given the class of every item by its features alone.

    The class by features was predicted without the labels of the item. It counts as one more
    annotator, and beliefs are found from all labels under the usual assumption: given the class,
    labels are independent. Where the *other* labels of an item say another class than its features,
    a label has a predicted probability of being on the side of the features. If annotators share
    mistakes, the beliefs take the shared mistake for the class; those who did not make it then name
    the class of the features too often. With the excess e_i of an item's labels, the statistic is
    sum_i e_i / sqrt(sum_i e_i^2). Beliefs and confusions are estimated, so that it is not 0 on
    average: `z` compares it with the statistics of 40 crowds that are drawn from the beliefs and
    confusions, with independent mistakes.
    """
    crowd = CrowdLabels(_with_features(feature_class_i, annotations))
    found, belief_ik, confusion_akl = _excess(crowd)
    rng = generator(seed, "independent mistakes")
    drawn = [_excess(_drawn(crowd, belief_ik, confusion_akl, rng))[0].z for _ in range(_CROWDS)]
    return replace(found, z=(found.z - float(np.mean(drawn))) / max(float(np.std(drawn)), 1.0))


def _excess(crowd: CrowdLabels) -> tuple[SharedMistakes, Floats, Floats]:
    """The statistic of labels whose last annotator is the features; beliefs and confusions."""
    ann, belief_ik, log_label_nk = crowd.annotations, *_independent_beliefs(crowd)
    confusion_akl = crowd.confusions(belief_ik, _STRENGTH)
    own = ann.annotator < ann.n_annotators - 1
    feature_class_i = ann.label[~own]
    labels_ik = crowd.sum_by_item(np.where(own[:, None], log_label_nk, 0.0))
    others_nk = labels_ik[ann.item] - log_label_nk  # a label must not choose whether it counts
    several = np.bincount(ann.item[own], minlength=ann.n_items) > 1
    apart_n = others_nk.argmax(axis=1) != feature_class_i[ann.item]
    chosen = np.flatnonzero(own & apart_n & several[ann.item])
    item_n, side_n = ann.item[chosen], feature_class_i[ann.item[chosen]]
    log_rest_nk = np.log(np.maximum(belief_ik[item_n], 1e-300)) - log_label_nk[chosen]
    named_nk = confusion_akl[ann.annotator[chosen], :, side_n]
    probability_n = (softmax(log_rest_nk, axis=1) * named_nk).sum(axis=1)
    hit_n = (ann.label[chosen] == side_n).astype(np.float64)
    excess_i = np.bincount(item_n, hit_n - probability_n, minlength=ann.n_items)
    spread = float(np.sqrt(np.square(excess_i).sum()))
    found = SharedMistakes(
        contradicted=np.flatnonzero(labels_ik.argmax(axis=1) != feature_class_i),
        n_labels=len(chosen),
        observed=float(hit_n.sum()),
        expected=float(probability_n.sum()),
        z=float(excess_i.sum()) / spread if spread > 0 else 0.0,
    )
    return found, belief_ik, confusion_akl


def _drawn(
    crowd: CrowdLabels, belief_ik: Floats, confusion_akl: Floats, rng: np.random.Generator
) -> CrowdLabels:
    """The same items and annotators with labels whose mistakes are independent."""
    ann = crowd.annotations
    class_i = _draw(belief_ik, rng)
    label = _draw(confusion_akl[ann.annotator, class_i[ann.item]], rng)
    return CrowdLabels(replace(ann, label=read_only(label)))


def _draw(probability_nk: Floats, rng: np.random.Generator) -> Codes:
    above_nk = rng.random((len(probability_nk), 1)) > np.cumsum(probability_nk, axis=1)[:, :-1]
    return np.asarray(above_nk.sum(axis=1), dtype=np.int32)


def _with_features(feature_class_i: AnyArray, annotations: Annotations) -> Annotations:
    """The annotations with the class by features as the labels of one more annotator."""
    more = np.arange(annotations.n_items)
    item = np.concatenate([annotations.item, more])
    order = np.argsort(item, kind="stable")
    annotator = np.concatenate(
        [annotations.annotator, np.full(len(more), annotations.n_annotators)]
    )
    label = np.concatenate([annotations.label, feature_class_i])
    item, annotator, label = (
        read_only(each[order].astype(np.int32)) for each in (item, annotator, label)
    )
    names = Vocabulary.of([*annotations.annotators.tolist(), _FEATURES], "annotator")
    return replace(
        annotations, item=item, annotator=annotator, label=label, annotator_vocabulary=names
    )


def _independent_beliefs(crowd: CrowdLabels) -> tuple[Floats, Floats]:
    """Beliefs if labels are independent given the class, and the log-probability of every label."""
    belief_ik = crowd.votes()
    belief_ik /= belief_ik.sum(axis=1, keepdims=True)
    for _ in range(_STEPS):
        log_share_k = np.log(belief_ik.mean(axis=0) + 1e-3)
        prior_akl, _ = skill_and_spam(crowd.counts(belief_ik))
        log_label_nk = crowd.left_out(belief_ik, prior_akl, _STRENGTH)
        belief_ik = softmax(log_share_k + crowd.sum_by_item(log_label_nk), axis=1)
    return belief_ik, log_label_nk
