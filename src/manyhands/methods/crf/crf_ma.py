"""A linear chain from the tags of many people, of whom one per sentence is the reliable one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyhands.aggregation.em import run_em
from manyhands.annotations import Annotations
from manyhands.core.arrays import Codes, Floats, Offsets
from manyhands.core.errors import DataError
from manyhands.core.settings import require
from manyhands.methods.crf.crowd_sequences import CrowdSequences, Sequences, gather_sequences, sums
from manyhands.methods.crf.fitting import ChainObjective, ChainTargets
from manyhands.methods.crf.forward_backward import expect, log_partition
from manyhands.methods.crf.likelihood import UNKNOWN
from manyhands.methods.crf.reliability import better_shares, log_choice, log_prior
from manyhands.methods.crf.weights import ChainWeights, as_offsets, as_token_features

_SHARE_STEPS = 10
_FIRST_STEPS = 50  # of L-BFGS, from nothing to a chain on the majority's tags
_STEP_TOL = 1e-9


@dataclass(frozen=True)
class CrfMaFit:
    """The chain, the reliability of annotators, and who was the reliable one of each sentence.

    `reliability_a` sums to 1 over the crowd. Row p: with probability `posterior_p` annotator
    `annotator_p` was the reliable one of sentence `sentence_p`. `tag_tk` has the probabilities of
    the tags of the tokens fitted, by words and labels.
    """

    weights: ChainWeights
    reliability_a: Floats
    sentence_p: Offsets
    annotator_p: Offsets
    posterior_p: Floats
    tag_tk: Floats
    objective: tuple[float, ...]
    converged: bool


@dataclass(frozen=True)
class _State:
    weights: ChainWeights
    share_a: Floats


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
    """A linear-chain CRF and the reliability pi of annotators from their tags, by EM.

    Token t of the sentences is item t of the annotations, and row t of `features`. Of the
    annotators of a sentence exactly one, z, is reliable: their tags come from the chain, and all
    other people's tags are any of K alike. With T_a the number of tokens that a labelled::

        p(z = a) = pi_a / sum of pi over the annotators of the sentence
        p(tags of s | x) = sum_a p(z = a) p(y^a | x) prod of K^-T_b over the others b
        E:  q_a ~ p(z = a) p(y^a | x) K^T_a
        M:  pi by steps that minorise and maximise, see `reliability`
            w: `steps` of L-BFGS up sum_s sum_a q_a E log p(y | x) - l2/2 |w|^2

    Tokens that an annotator left out are summed over, in p(y^a | x) and in the expectation E. A
    sentence without labels teaches nothing. The objective never falls::

        sum_s log p(tags of s | x) + pseudo_sentences sum_a log pi_a - l2/2 |w|^2

    with pi summing to 1: a Dirichlet(1 + pseudo_sentences) prior, so that an annotator of few
    sentences stays near 1/A. w has all weights of the chain. It starts from the chain on the
    majority's tags with equal pi, and ends when a step gains less than `tol` per sentence.

    Cost: a step of L-BFGS takes tokens x K x (K + features per token) operations, whatever the
    number of annotators; the E-step the same per different sequence of a sentence, and holds
    K numbers per token of these.

    Source: Rodrigues, Pereira and Ribeiro 2013.
    """
    for name, value in (("steps", steps), ("max_iter", max_iter)):
        require(value >= 1, name, ">= 1", value)
    require(0 < pseudo_sentences < np.inf, "pseudo_sentences", "above 0", pseudo_sentences)
    require(tol >= 0, "tol", ">= 0", tol)
    features_tj, ann = as_token_features(features), annotations.as_kind("classes")
    offsets = as_offsets(offsets, features_tj.shape[0])
    _require_matching(offsets, ann)
    chain = ChainObjective(features_tj, offsets, ann.n_classes, l2=l2)
    rows = gather_sequences(ann, offsets)

    def step(state: _State) -> tuple[_State, float]:
        posterior_p, log_likelihood, targets = _expect(chain, rows, state)
        value = log_likelihood + log_prior(state.share_a, pseudo_sentences)
        value += chain.log_prior(state.weights)
        fit = chain.ascend(state.weights, targets, max_steps=steps, tol=_STEP_TOL)
        share_a = better_shares(
            rows, posterior_p, state.share_a, pseudo_sentences, steps=_SHARE_STEPS
        )
        return _State(fit.weights, share_a), value

    even_a = np.full(ann.n_annotators, 1.0 / ann.n_annotators)
    begin = _State(_majority_chain(chain, ann), even_a)
    run = run_em(begin, step, max_iter=max_iter, tol=tol * len(rows.begin_g))
    posterior_p, _, targets = _expect(chain, rows, run.state)
    return CrfMaFit(
        run.state.weights,
        run.state.share_a,
        rows.sentence_p,
        rows.annotator_p,
        posterior_p,
        _tag_probabilities(chain, run.state.weights, targets),
        run.objective,
        run.converged,
    )


def _expect(
    chain: ChainObjective, rows: CrowdSequences, state: _State
) -> tuple[Floats, float, ChainTargets]:
    """E-step: q of every row, the log-likelihood, and the tags and pairs to be expected."""
    links, n_tags = state.weights.links, state.weights.links.n_tags
    score_tk = state.weights.token_scores(chain.features_tj)
    log_all_s = log_partition(score_tk, chain.offsets, links)
    log_these_q = rows.distinct.log_sums(score_tk, links) - log_all_s[rows.distinct.sentence_q]
    log_random_p = -rows.n_said_p * np.log(n_tags)
    log_joint_p = log_choice(rows, state.share_a) + log_these_q[rows.sequence_p] - log_random_p
    top_g = np.maximum.reduceat(log_joint_p, rows.begin_g)
    part_p = np.exp(log_joint_p - top_g[rows.group_p])
    whole_g = np.add.reduceat(part_p, rows.begin_g)
    posterior_p = part_p / whole_g[rows.group_p]
    weight_q = sums(rows.sequence_p, posterior_p, len(rows.distinct.sentence_q))
    targets = rows.distinct.targets(score_tk, chain.offsets, links, weight_q)
    log_likelihood = top_g.sum() + np.log(whole_g).sum() + log_random_p.sum()
    return posterior_p, float(log_likelihood), targets


def _majority_chain(chain: ChainObjective, annotations: Annotations) -> ChainWeights:
    """The chain on the majority's tags; tokens without labels have any."""
    tag_t = majority_tags(annotations)
    n_sentences = len(chain.offsets) - 1
    pieces = np.split(tag_t, chain.offsets[1:-1]) if n_sentences else []
    told_s = np.array([(piece != UNKNOWN).any() for piece in pieces], dtype=np.float64)
    all_s = Sequences.of(np.arange(n_sentences), pieces, chain.offsets)
    nothing, even_tk = chain.nothing, np.zeros((len(tag_t), annotations.n_classes))
    targets = all_s.targets(even_tk, chain.offsets, nothing.links, told_s)
    return chain.ascend(nothing, targets, max_steps=_FIRST_STEPS, tol=_STEP_TOL).weights


def majority_tags(annotations: Annotations) -> Codes:
    """The label said most often of every token, -1 where there is none.

    A tie goes to the label that is more frequent over all tokens, then to the first.
    """
    count_tk = annotations.label_counts()
    share_k = count_tk.sum(axis=0) / max(count_tk.sum(), 1.0)
    tag_t = (count_tk + 0.5 * share_k).argmax(axis=1)
    return np.where(count_tk.any(axis=1), tag_t, UNKNOWN).astype(np.int32)


def _tag_probabilities(
    chain: ChainObjective, weights: ChainWeights, targets: ChainTargets
) -> Floats:
    """What is expected by labels, and by the chain alone in sentences without any."""
    score_tk = weights.token_scores(chain.features_tj)
    alone_tk = expect(score_tk, chain.offsets, weights.links).marginal_tk
    told_t = np.repeat(targets.weight_s > 0, np.diff(chain.offsets))
    return np.where(told_t[:, None], targets.tag_tk, alone_tk)


def _require_matching(offsets: Offsets, annotations: Annotations) -> None:
    if annotations.n_items != offsets[-1]:
        raise DataError(
            f"{annotations.n_items} items for {offsets[-1]} tokens; give one item per token, in "
            "the order of the sentences"
        )
    if annotations.n_annotations == 0:
        raise DataError("there is not a single label; nothing can be learnt")
