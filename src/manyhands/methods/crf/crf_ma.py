"""CRF-MA: a linear-chain CRF from the tags of many annotators, one reliable per sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from manyhands.aggregation import estimate_confusions
from manyhands.aggregation.em import run_em
from manyhands.aggregation.kernels.linear_chain import as_offsets, expect, log_partition
from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.engine.features import EncoderOptions, FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.task import Task
from manyhands.methods.base import About, Method, Paper
from manyhands.methods.crf.crowd_sequences import (
    UNKNOWN,
    CrowdSequences,
    Sequences,
    gather_sequences,
    sum_by,
)
from manyhands.methods.crf.fitting import CrfObjective, CrfTargets, CrfWeights, as_token_features
from manyhands.methods.crf.network import CrfEncoder, CrfInputs, CrfNetwork
from manyhands.methods.full_batch import FullBatchFit, FullBatchMethod

_RELIABILITY_STEPS = 10  # in every M-step
_FIRST_STEPS = 50  # of L-BFGS, from zero weights to a CRF on the majority tags
_STEP_TOL = 1e-9


@dataclass(frozen=True)
class CrfMa(FullBatchMethod):
    """A linear-chain CRF and the reliability of annotators; `settings` are those of `fit_crf_ma`.

    The confusions of the annotators are those against the posterior of the tags.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 100})
    tasks = ("tagging",)  # it cannot learn from items outside sentences
    network_class = CrfNetwork

    def fit_encoder(
        self, task: Task, features: Any, options: EncoderOptions
    ) -> tuple[FeatureEncoder, Inputs]:
        """See `Method.fit_encoder`: the features of tokens."""
        return CrfEncoder.fit_transform(features)

    def fit(
        self, inputs: Inputs, annotations: Annotations, *, max_iter: int, seed: int
    ) -> FullBatchFit:
        """See `FullBatchMethod.fit`."""
        assert isinstance(inputs, CrfInputs), "the features of the tokens of sentences"
        weights, confusion_akl, objective = self._solve_crf(inputs, annotations, max_iter)
        feature, (transition, start, end) = weights.feature_jk, weights.transitions
        network = self.build_network(
            {"n_features": feature.shape[0], "n_classes": feature.shape[1]},
            {"feature": feature, "transition": transition, "start": start, "end": end},
        )
        return FullBatchFit(network, confusion_akl, objective)

    def _solve_crf(
        self, inputs: CrfInputs, annotations: Annotations, max_iter: int
    ) -> tuple[CrfWeights, Floats, tuple[float, ...]]:
        """The weights of the CRF, the confusions of annotators, and the objective."""
        fit = fit_crf_ma(
            inputs.matrix, inputs.offsets, annotations, max_iter=max_iter, **self.settings
        )
        return fit.weights, estimate_confusions(annotations, fit.tag_tk), fit.objective


@dataclass(frozen=True)
class CrfMaFit:
    """The CRF, the reliability of the annotators, and the reliable annotator of each sentence.

    `reliability_a` sums to 1 over the crowd. Row p: with probability `posterior_p`, annotator
    `annotator_p` is the reliable one of sentence `sentence_p`. `tag_tk` has the tag probabilities
    of the fitted tokens, by words and labels.
    """

    weights: CrfWeights
    reliability_a: Floats
    sentence_p: Offsets
    annotator_p: Offsets
    posterior_p: Floats
    tag_tk: Floats
    objective: tuple[float, ...]
    converged: bool


def fit_crf_ma(
    features: Any,
    offsets: Any,
    annotations: Annotations,
    *,
    l2: float = 1.0,
    pseudo_sentences: float = 1.0,
    steps: int = 10,
    max_iter: int = 100,
    tol: float = 1e-3,
) -> CrfMaFit:
    """Fit a linear-chain CRF and the reliability pi of annotators to their tags, by EM.

    Token t of the sentences is item t of the annotations, and row t of `features`. Exactly one
    annotator of a sentence, z, is reliable: the CRF generates their tags. The tags of the other
    annotators are drawn from all K tags alike. With T_a the number of tokens that a labelled::

        p(z = a) = pi_a / sum of pi over the annotators of the sentence
        p(tags of s | x) = sum_a p(z = a) p(y^a | x) prod of K^-T_b over the others b
        E:  q_a ~ p(z = a) p(y^a | x) K^T_a
        M:  pi by minorise-maximise steps, see `improve_reliability`
            w: `steps` of L-BFGS on sum_s sum_a q_a E log p(y | x) - l2/2 |w|^2

    Tokens that an annotator did not label are summed over, in p(y^a | x) and in the expectation E.
    Sentences without labels have no effect. The objective never falls::

        sum_s log p(tags of s | x) + pseudo_sentences sum_a log pi_a - l2/2 |w|^2

    with pi summing to 1: a Dirichlet(1 + pseudo_sentences) prior keeps an annotator with few
    sentences near 1/A. w has all weights of the CRF. EM starts from the CRF on the majority tags
    with equal pi, and ends when a step gains less than `tol` per sentence.

    Cost: a step of L-BFGS takes tokens x K x (K + features per token) operations, whatever the
    number of annotators. The E-step takes the same for every different sequence of a sentence, and
    holds K numbers per token of these.

    Source: Rodrigues, Pereira and Ribeiro 2013.
    """
    for name, value in (("steps", steps), ("max_iter", max_iter)):
        require(value >= 1, name, ">= 1", value)
    require(0 < pseudo_sentences < np.inf, "pseudo_sentences", "above 0", pseudo_sentences)
    require(tol >= 0, "tol", ">= 0", tol)
    features_tj, ann = as_token_features(features), annotations.as_kind("classes")
    offsets = as_offsets(offsets, features_tj.shape[0])
    if ann.n_items != offsets[-1]:
        raise DataError(
            f"{ann.n_items} items for {offsets[-1]} tokens; give one item per token, in "
            "the order of the sentences"
        )
    if ann.n_annotations == 0:
        raise DataError("there is not a single label; nothing can be learnt")
    crf = CrfObjective(features_tj, offsets, ann.n_classes, l2=l2)
    rows = gather_sequences(ann, offsets)

    def step(state: tuple[CrfWeights, Floats]) -> tuple[tuple[CrfWeights, Floats], float]:
        weights, reliability_a = state
        posterior_p, log_likelihood, targets = _expect(crf, rows, weights, reliability_a)
        value = log_likelihood + log_reliability_prior(reliability_a, pseudo_sentences)
        value += crf.log_prior(weights)
        weights = crf.ascend(weights, targets, max_steps=steps, tol=_STEP_TOL)
        reliability_a = improve_reliability(
            rows, posterior_p, reliability_a, pseudo_sentences, steps=_RELIABILITY_STEPS
        )
        return (weights, reliability_a), value

    even_a = np.full(ann.n_annotators, 1.0 / ann.n_annotators)
    start = _majority_weights(crf, ann), even_a
    run = run_em(start, step, max_iter=max_iter, tol=tol * len(rows.begin_g))
    weights, reliability_a = run.state
    posterior_p, _, targets = _expect(crf, rows, weights, reliability_a)
    return CrfMaFit(
        weights,
        reliability_a,
        rows.sentence_p,
        rows.annotator_p,
        posterior_p,
        _tag_probabilities(crf, weights, targets),
        run.objective,
        run.converged,
    )


def _expect(
    crf: CrfObjective, rows: CrowdSequences, weights: CrfWeights, reliability_a: Floats
) -> tuple[Floats, float, CrfTargets]:
    """E-step: q of every row, the log-likelihood, and the expected tags and pairs."""
    transitions, n_tags = weights.transitions, weights.transitions.n_tags
    score_tk = weights.token_scores(crf.features_tj)
    log_all_s = log_partition(score_tk, crf.offsets, transitions)
    log_p_q = rows.distinct.log_sums(score_tk, transitions) - log_all_s[rows.distinct.sentence_q]
    log_random_p = -rows.n_labels_p * np.log(n_tags)
    log_joint_p = log_reliable(rows, reliability_a) + log_p_q[rows.sequence_p] - log_random_p
    top_g = np.maximum.reduceat(log_joint_p, rows.begin_g)
    part_p = np.exp(log_joint_p - top_g[rows.group_p])
    whole_g = np.add.reduceat(part_p, rows.begin_g)
    posterior_p = part_p / whole_g[rows.group_p]
    weight_q = sum_by(rows.sequence_p, posterior_p, len(rows.distinct.sentence_q))
    targets = rows.distinct.targets(score_tk, crf.offsets, transitions, weight_q)
    log_likelihood = top_g.sum() + np.log(whole_g).sum() + log_random_p.sum()
    return posterior_p, float(log_likelihood), targets


def log_reliable(rows: CrowdSequences, reliability_a: Floats) -> Floats:
    """log(pi_a / sum of pi over the annotators of the sentence), for every row."""
    reliability_p = reliability_a[rows.annotator_p]
    total_g = np.add.reduceat(reliability_p, rows.begin_g)
    return np.asarray(np.log(reliability_p) - np.log(total_g)[rows.group_p])


def log_reliability_prior(reliability_a: Floats, pseudo: float) -> float:
    """The log of a Dirichlet(1 + pseudo) density of pi, up to a constant."""
    return float(pseudo * np.log(reliability_a).sum())


def improve_reliability(
    rows: CrowdSequences, posterior_p: Floats, reliability_a: Floats, pseudo: float, *, steps: int
) -> Floats:
    """Update pi, which sums to 1, such that Q does not fall.

    ::

        Q(pi) = sum_p posterior_p log(pi_a / Pi_s) + pseudo sum_a log pi_a

    where Pi_s sums pi over the annotators of sentence s. Let R = Q - A pseudo sum_a pi_a, for any
    pi above 0. The log-ratios do not depend on the scale of pi, and the rest of R is largest at the
    scale where pi sums to 1, where R is Q up to a constant. -log Pi_s is convex in Pi_s and lies
    above its tangent; with the tangents R has its maximum at ::

        pi_a = (sum_p of a posterior_p + pseudo) / (A pseudo + sum_s of a 1 / Pi_s)

    So neither this step nor dividing by the sum lowers R, and Q does not fall.
    """
    chosen_a = sum_by(rows.annotator_p, posterior_p, rows.n_annotators) + pseudo
    for _ in range(steps):
        total_g = np.add.reduceat(reliability_a[rows.annotator_p], rows.begin_g)
        inverse_a = sum_by(rows.annotator_p, 1.0 / total_g[rows.group_p], rows.n_annotators)
        reliability_a = chosen_a / (rows.n_annotators * pseudo + inverse_a)
        reliability_a = reliability_a / reliability_a.sum()
    return reliability_a


def _majority_weights(crf: CrfObjective, annotations: Annotations) -> CrfWeights:
    """The CRF on the majority tags; tokens without labels may have any tag."""
    tag_t = majority_tags(annotations)
    n_sentences = len(crf.offsets) - 1
    pieces = np.split(tag_t, crf.offsets[1:-1]) if n_sentences else []
    is_labelled_s = np.array([(piece != UNKNOWN).any() for piece in pieces], dtype=np.float64)
    sequences = Sequences.of(np.arange(n_sentences), pieces, crf.offsets)
    zero_tk = np.zeros((len(tag_t), annotations.n_classes))
    targets = sequences.targets(zero_tk, crf.offsets, crf.zeros.transitions, is_labelled_s)
    return crf.ascend(crf.zeros, targets, max_steps=_FIRST_STEPS, tol=_STEP_TOL)


def majority_tags(annotations: Annotations) -> Codes:
    """The most frequent label of every token, -1 without labels.

    A tie goes to the label that is more frequent over all tokens, then to the first.
    """
    count_tk = annotations.label_counts()
    share_k = count_tk.sum(axis=0) / max(count_tk.sum(), 1.0)
    tag_t = (count_tk + 0.5 * share_k).argmax(axis=1)
    return np.where(count_tk.any(axis=1), tag_t, UNKNOWN).astype(np.int32)


def _tag_probabilities(crf: CrfObjective, weights: CrfWeights, targets: CrfTargets) -> Floats:
    """Tag probabilities by words and labels, and by words alone in sentences without labels."""
    score_tk = weights.token_scores(crf.features_tj)
    by_words_tk = expect(score_tk, crf.offsets, weights.transitions).marginal_tk
    is_labelled_t = np.repeat(targets.weight_s > 0, np.diff(crf.offsets))
    return np.where(is_labelled_t[:, None], targets.tag_tk, by_words_tk)


ROWS: dict[str, Method] = {
    "crf-ma": CrfMa(
        paper=Paper(preset="p0/ner"),
        about=About(
            source="Rodrigues, Pereira and Ribeiro 2013",
            equation="sum_a pi_a p_crf(y^a | x) prod of K^-T over the others; a linear chain",
            cost="tokens x K x (K + features of a token) per step, whatever the crowd",
            when="tags of few sentences, and some annotators are reliable",
        ),
    ),
}
