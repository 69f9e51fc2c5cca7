"""BSC-CRF: a linear-chain CRF with features, from annotators whose labels follow each other."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from manyhands.aggregation import BscSeq
from manyhands.aggregation.bsc_seq import SequenceConfusions, SequencePass
from manyhands.aggregation.em import run_em
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.linear_chain import as_offsets, expect, log_partition
from manyhands.aggregation.token_chains import TokenChains
from manyhands.annotations import Annotations
from manyhands.annotations.grouping import offsets_from_lengths
from manyhands.core.arrays import Floats, Offsets
from manyhands.core.settings import require
from manyhands.methods.base import About, Method, Paper
from manyhands.methods.crf.crf_ma import CrfMa
from manyhands.methods.crf.fitting import CrfObjective, CrfTargets, CrfWeights, as_token_features
from manyhands.methods.crf.network import CrfInputs

_FIRST_STEPS = 50  # of L-BFGS, from zero weights to a CRF on the tags of BSC-seq
_STEP_TOL = 1e-9


@dataclass(frozen=True)
class BscCrf(CrfMa):
    """A linear-chain CRF and the confusions of annotators; `settings` are those of `fit_bsc_crf`.

    The confusions are means over the labels that an annotator gave to the token before.
    """

    def _solve_crf(
        self, inputs: CrfInputs, annotations: Annotations, max_iter: int
    ) -> tuple[CrfWeights, Floats, tuple[float, ...]]:
        fit = fit_bsc_crf(
            inputs.matrix, inputs.offsets, annotations, max_iter=max_iter, **self.settings
        )
        return fit.weights, fit.confusions.mean(), fit.objective


class BscCrfFit(NamedTuple):
    """The CRF, the confusions of annotators, and the tag probabilities of tokens by both."""

    weights: CrfWeights
    confusions: SequenceConfusions
    tag_tk: Floats
    objective: tuple[float, ...]
    converged: bool


def fit_bsc_crf(
    features: Any,
    offsets: Any,
    annotations: Annotations,
    *,
    l2: float = 1.0,
    model: BscSeq | None = None,
    steps: int = 10,
    max_iter: int = 100,
    tol: float = 1e-2,
) -> BscCrfFit:
    """Fit a linear-chain CRF and confusions of annotators to their tags, by variational EM.

    Token t of the sentences is item t of the annotations, and row t of `features`. The CRF gives
    the hidden tags z of a sentence, and annotators are those of `BscSeq`, which has the priors::

        p(z | x) = CRF(z | x; w),  y_n ~ V[a_n, p_n, z_t],  p_n: their label for token t - 1
        E:  q(z) ~ CRF(z | x; w) prod_n exp(E log V[a_n, p_n, z_t, y_n])
        M:  q(V) Dirichlet with the counts of q(z); w: `steps` of L-BFGS on
            sum_s E_q log p(z | x) - l2/2 |w|^2

    Tags and pairs of neighbours under q(z) are exact: one forward-backward. Tokens without labels
    are summed over, and sentences without labels have no effect. The objective never falls::

        sum_s log sum_z p(z | x) prod_n exp(E log V[a_n, p_n, z_t, y_n]) - KL(q(V), p(V))
        - l2/2 |w|^2

    EM starts from the CRF on the tags of `BscSeq` and its confusions, and ends when a step gains
    less than `tol` per sentence. A step takes what one of CRF-MA takes, and labels x K.

    Sources: the annotators of Simpson and Gurevych 2019, who put a network or a Markov chain where
    the CRF of Rodrigues, Pereira and Ribeiro 2013 is here.
    """
    for name, value in (("steps", steps), ("max_iter", max_iter)):
        require(value >= 1, name, ">= 1", value)
    require(tol >= 0, "tol", ">= 0", tol)
    features_tj, ann = as_token_features(features), annotations.as_kind("classes")
    offsets = as_offsets(offsets, features_tj.shape[0])
    priors = BscSeq() if model is None else model
    priors.require_affordable(ann)
    token_t, own_offsets = labelled_sentences(ann, offsets)
    crf = CrfObjective(features_tj[token_t], own_offsets, ann.n_classes, l2=l2)
    chains = TokenChains(np.arange(len(token_t)), own_offsets)
    sequences = SequencePass(gather_evidence(ann[token_t]), chains)
    weight_s, pseudo_lk = np.ones(len(own_offsets) - 1), priors.pseudo_labels(ann.n_classes)

    def step(
        state: tuple[CrfWeights, SequenceConfusions],
    ) -> tuple[tuple[CrfWeights, SequenceConfusions], float]:
        weights, confusions = state
        tag_tk, pair_kk, value = _expect(crf, sequences, weights, confusions)
        targets = CrfTargets(weight_s, tag_tk, pair_kk)
        better = crf.ascend(weights, targets, max_steps=steps, tol=_STEP_TOL)
        counted = SequenceConfusions(sequences.label_counts(tag_tk), pseudo_lk)
        return (better, counted), value + crf.log_prior(weights)

    start = _first(crf, sequences, priors)
    run = run_em(start, step, max_iter=max_iter, tol=tol * len(weight_s))
    weights, confusions = run.state
    score_tk = weights.token_scores(features_tj)
    score_tk[token_t] += sequences.label_scores(confusions.expected_log[0])
    tag_tk = expect(score_tk, offsets, weights.transitions).marginal_tk
    return BscCrfFit(weights, confusions, tag_tk, run.objective, run.converged)


def labelled_sentences(annotations: Annotations, offsets: Offsets) -> tuple[Offsets, Offsets]:
    """The tokens of the sentences in which some token has a label, and the offsets of these.

    >>> ann = Annotations.from_arrays([1], [0], ["O"], items=[0, 1, 2])
    >>> [each.tolist() for each in labelled_sentences(ann, np.array([0, 2, 2, 3]))]
    [[0, 1], [0, 2]]
    """
    labels_t = np.concatenate([[0], np.cumsum(annotations.labels_per_item)])
    is_labelled_s = np.diff(labels_t[offsets]) > 0
    token_t = np.flatnonzero(np.repeat(is_labelled_s, np.diff(offsets)))
    return token_t, offsets_from_lengths(np.diff(offsets)[is_labelled_s])


def _first(
    crf: CrfObjective, sequences: SequencePass, priors: BscSeq
) -> tuple[CrfWeights, SequenceConfusions]:
    """The CRF on the tags and pairs that BSC-seq expects, and its confusions."""
    fitted = priors.fit_chains(sequences).state
    expected, n_tags = fitted.expected(sequences), crf.zeros.transitions.n_tags
    pair_kk = np.ascontiguousarray(expected.pairs_kj[:, :n_tags].T)
    targets = CrfTargets(np.ones(len(crf.offsets) - 1), expected.posterior_ik, pair_kk)
    weights = crf.ascend(crf.zeros, targets, max_steps=_FIRST_STEPS, tol=_STEP_TOL)
    return weights, fitted.confusions


def _expect(
    crf: CrfObjective, sequences: SequencePass, weights: CrfWeights, confusions: SequenceConfusions
) -> tuple[Floats, Floats, float]:
    """E-step: expected tags and pairs, and the bound without the prior of the CRF."""
    log_confusion_alpk, divergence = confusions.expected_log
    score_tk, links = weights.token_scores(crf.features_tj), weights.transitions
    free_s = log_partition(score_tk, crf.offsets, links)
    labelled_tk = score_tk + sequences.label_scores(log_confusion_alpk)
    found = expect(labelled_tk, crf.offsets, links)
    value = float((found.log_partition_s - free_s).sum()) - divergence
    return found.marginal_tk, found.pair_kk, value


ROWS: dict[str, Method] = {
    "bsc-crf": BscCrf(
        paper=Paper(preset="p0/ner", note="In none of the papers."),
        about=About(
            source="annotators of Simpson and Gurevych 2019, CRF of Rodrigues et al. 2013",
            equation="q(z) ~ CRF(z | x) prod_n exp(E log V[a_n, label before, z, y_n])",
            cost="tokens x K x (K + features of a token) + labels x K per step",
            when="tags of sentences: the method to try first, where words and their endings tell",
        ),
    ),
}
