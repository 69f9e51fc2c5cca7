"""Chains of tokens in a batch: a network's scores with transitions between neighbouring tags.

A chain is a run of neighbouring tokens of one sentence that are all in the batch; a token that
nobody labelled is not in a training batch and ends a chain. The score of a tag sequence is the sum
of the network's outputs and of the transitions (`TagTransitions`), and ::

    log p(labels | x) = log sum_tags exp(score(tags)) prod_n P(y_n | tag of the token, a_n) - log Z

Both sums are one recursion over the tokens, for all chains of a batch at once. Marginal
probabilities of tags are the derivatives of log Z by the outputs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.networks.calling import call_network
from manyhands.networks.tag_transitions import FORBIDDEN, TagTransitions, transitions_of
from manyhands.noise import AnnotationBatch, NoiseModel

_MIN_TARGET = 1e-10  # of a tag in a consensus: its tags need not be valid, those learnt are
_MIN_MARGINAL = 1e-30  # so that its logarithm is finite


@dataclass(frozen=True)
class TokenPlaces:
    """Where the tokens of a batch are: which ones are the first or the last of their sentence.

    `follows` tells the tokens whose left neighbour in the sentence is the one before in the batch.
    """

    first: AnyArray
    last: AnyArray
    follows: AnyArray

    @classmethod
    def of(cls, starts: AnyArray, items: AnyArray) -> "TokenPlaces":
        """The places of some tokens; `starts` tells of all tokens which begin a sentence.

        >>> places = TokenPlaces.of(np.array([True, False, False, True]), np.array([0, 1, 3]))
        >>> places.follows.tolist(), places.last.tolist()
        ([False, True, False], [False, False, True])
        """
        first, last = starts[items], np.append(starts[1:], True)[items]
        neighbours = np.diff(items, prepend=-2) == 1
        return cls(first, last, neighbours & ~first)

    def __getitem__(self, part: slice) -> "TokenPlaces":
        """The places of a part of these tokens, which begins with a sentence."""
        follows = self.follows[part].copy()
        follows[:1] = False
        return TokenPlaces(self.first[part], self.last[part], follows)


class Chains:
    """The scores of the tokens of a batch as padded chains (c, t, k), and their transitions."""

    def __init__(self, outputs: Tensor, places: TokenPlaces, links: TagTransitions) -> None:
        device = outputs.device
        begin_c = np.flatnonzero(~places.follows)
        length_c = np.diff(np.append(begin_c, len(places.follows)))
        row_ct = begin_c[:, None] + np.arange(int(length_c.max(initial=1)))
        there_ct = np.arange(row_ct.shape[1]) < length_c[:, None]
        self.there_ct = torch.from_numpy(there_ct).to(device)
        self.row_ct = torch.from_numpy(np.where(there_ct, row_ct, 0)).to(device)
        precise = outputs.dtype if device.type == "mps" else torch.float64  # sums of many terms
        self.score_bk = outputs.to(precise)
        self.pair_kk, start_k, end_k = (each.to(precise) for each in links.scores())
        # A chain that does not begin, or end, with its sentence has neighbours that are unknown.
        end_c = begin_c + length_c - 1
        self.first_c1 = torch.from_numpy(places.first[begin_c]).to(device).unsqueeze(1)
        self.last_c1 = torch.from_numpy(places.last[end_c]).to(device).unsqueeze(1)
        self.start_k, self.end_k, self.links = start_k, end_k, links

    @classmethod
    def of(cls, network: nn.Module, outputs: Tensor, places: TokenPlaces | None) -> "Chains | None":
        """The chains of a network's outputs for a batch; None if it has no transitions."""
        links = transitions_of(network)
        if links is None or len(outputs) == 0:
            return None
        if places is None:
            raise DataError("a network with transitions between tags is for tokens of sentences")
        return cls(outputs, places, links)

    @property
    def start_ck(self) -> Tensor:
        """The scores of the first tags of the chains."""
        return self.start_k * self.first_c1

    @property
    def end_ck(self) -> Tensor:
        """The scores of the last tags of the chains."""
        return self.end_k * self.last_c1

    def log_partition(self, *scores_bk: Tensor) -> list[Tensor]:
        """The log of the sum of exp(score) over all tag sequences of every chain, for each scores.

        Several scores (b, k) of the tokens take one recursion.
        """
        score_ctk = torch.cat([each[self.row_ct] for each in scores_bk])
        times = len(scores_bk)
        ends = self.start_ck.repeat(times, 1), self.end_ck.repeat(times, 1)
        there_ct = self.there_ct.repeat(times, 1)
        found = log_partition(score_ctk, there_ct, self.pair_kk, *ends)
        return list(found.chunk(times))

    def log_likelihood(self, evidence_bk: Tensor) -> Tensor:
        """Log p(labels | x) of all chains; see `label_evidence`."""
        clamped_c, free_c = self.log_partition(self.score_bk + evidence_bk, self.score_bk)
        return (clamped_c - free_c).sum()

    def annotation_loss(self, noise: NoiseModel, batch: AnnotationBatch) -> Tensor:
        """Minus the log-likelihood of the labels per label or item, with the penalties.

        With `label_smoothing` s it is (1 - s) times that, minus s times the mean log-probability of
        all labels that an annotator could have given, where a token has its marginal classes.
        """
        noise.require_features(batch)
        n_items, share = len(self.score_bk), noise.label_smoothing
        n_terms = n_items if noise.reduction == "items" else len(batch)
        likelihood = self.log_likelihood(label_evidence(noise, batch, n_items)) / n_terms
        loss = noise.penalty(batch.annotator) - (1 - share) * likelihood
        if not noise.penalises_classes and share == 0:
            return loss
        log_class_bk = self.log_marginals(differentiable=True).float()
        if share != 0:
            log_label_nl = noise(log_class_bk, batch.row, batch.annotator, batch.features)
            loss = loss - share * log_label_nl.mean(dim=-1).sum() / n_terms
        class_penalty = noise.class_penalty(log_class_bk)
        return loss if class_penalty is None else loss + class_penalty

    def cross_entropy(self, target_bk: Tensor) -> Tensor:
        """-sum_tags q(tags) log p(tags | x) of all chains.

        Under q, the tags of tokens are independent and have probabilities `target_bk`. If BIO
        excludes some sequences, q is restricted to the others.
        """
        target_bk = target_bk.to(self.score_bk)
        if self.links.is_constrained:
            target_bk, pairs_kk, first_ck, last_ck = self._valid(target_bk)
        else:
            target_ctk = target_bk[self.row_ct] * self.there_ct.unsqueeze(2)
            pairs_kk = torch.einsum("ctj,ctk->jk", target_ctk[:, :-1], target_ctk[:, 1:])
            first_ck, last_ck = target_ctk[:, 0], self._last(target_ctk)
        expected = (target_bk * self.score_bk).sum() + (pairs_kk * self.pair_kk).sum()
        expected = expected + (first_ck * self.start_ck).sum() + (last_ck * self.end_ck).sum()
        return self.log_partition(self.score_bk)[0].sum() - expected

    def log_marginals(
        self, evidence_bk: Tensor | None = None, *, differentiable: bool = False
    ) -> Tensor:
        """Log p(tag of a token | x), and labels if there is evidence of them, shape (b, k)."""
        with torch.enable_grad():
            score_bk = self.score_bk if evidence_bk is None else self.score_bk + evidence_bk
            score_bk = score_bk if differentiable else score_bk.detach()
            score_bk = score_bk if score_bk.requires_grad else score_bk.requires_grad_()
            total = self.log_partition(score_bk)[0].sum()
            (marginal_bk,) = torch.autograd.grad(total, score_bk, create_graph=differentiable)
        log_bk = marginal_bk.clamp_min(_MIN_MARGINAL).log()
        return log_bk if differentiable else log_bk.detach()

    def _last(self, value_ctk: Tensor) -> Tensor:
        last_c = self.there_ct.sum(dim=1) - 1
        return value_ctk[torch.arange(len(value_ctk), device=value_ctk.device), last_c]

    def _valid(self, target_bk: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Expected tags, pairs, first and last tags of q restricted to valid sequences."""
        links, like = self.links, self.score_bk
        pair_kk = like.new_zeros(links.allowed.shape).masked_fill(~links.allowed, FORBIDDEN)
        start_k = like.new_zeros(len(pair_kk)).masked_fill(~links.allowed_first, FORBIDDEN)
        with torch.enable_grad():
            log_bk = target_bk.clamp_min(_MIN_TARGET).log().detach().requires_grad_()
            pair_kk.requires_grad_()
            start_ck = (start_k * self.first_c1).requires_grad_()
            end_ck = like.new_zeros(start_ck.shape).requires_grad_()
            given = log_bk[self.row_ct], self.there_ct, pair_kk, start_ck, end_ck
            counted = log_bk, pair_kk, start_ck, end_ck
            found = torch.autograd.grad(log_partition(*given).sum(), counted, allow_unused=True)
        tag_bk, pairs_kk, first_ck, last_ck = (
            torch.zeros_like(each) if counts is None else counts
            for each, counts in zip(counted, found, strict=True)
        )
        return tag_bk, pairs_kk, first_ck, last_ck


def log_partition(
    score_ctk: Tensor, there_ct: Tensor, pair_kk: Tensor, start_ck: Tensor, end_ck: Tensor
) -> Tensor:
    """The log of the sum of exp(score) over all tag sequences of padded chains, shape (c,).

    ::

        alpha_1[k] = start[k] + score_1[k]
        alpha_t[k] = score_t[k] + log sum_j exp(alpha_t-1[j] + pair[j, k])

    The sum over j is a product of matrices: exponentials are taken of c x K numbers, not c x K x K.

    >>> score, pair, ends = torch.zeros(1, 3, 2), torch.zeros(2, 2), torch.zeros(1, 2)
    >>> log_partition(score, torch.ones(1, 3, dtype=torch.bool), pair, ends, ends).exp().round()
    tensor([8.])
    """
    smallest = torch.finfo(score_ctk.dtype).tiny
    top = pair_kk.detach().max()
    factor_kk = (pair_kk - top).exp()
    alpha_ck = start_ck + score_ctk[:, 0]
    for score_ck, there_c in zip(
        score_ctk.unbind(1)[1:], there_ct.unsqueeze(2).unbind(1)[1:], strict=True
    ):
        highest_c1 = alpha_ck.detach().amax(dim=1, keepdim=True)
        sum_ck = (alpha_ck - highest_c1).exp() @ factor_kk
        later_ck = sum_ck.clamp_min(smallest).log() + (highest_c1 + top + score_ck)
        alpha_ck = torch.where(there_c, later_ck, alpha_ck)
    return torch.logsumexp(alpha_ck + end_ck, dim=1)


def log_class(network: nn.Module, inputs: Any, places: TokenPlaces | None) -> Tensor:
    """Log-probabilities of the classes of the items of a batch, from the network alone (b, k)."""
    outputs: Tensor = call_network(network, inputs)
    chains = Chains.of(network, outputs, places)
    if chains is None:
        return outputs.log_softmax(dim=-1)
    return chains.log_marginals().to(outputs)


def label_evidence(noise: NoiseModel, batch: AnnotationBatch, n_items: int) -> Tensor:
    """sum_n log P(y_n | class k, a_n, x) over the labels of every item, shape (b, k)."""
    log_nk = label_given_class(noise, batch)
    return log_nk.new_zeros(n_items, noise.n_classes).index_add(0, batch.row, log_nk)


def label_given_class(noise: NoiseModel, batch: AnnotationBatch) -> Tensor:
    """Log P(y_n | class k, a_n, x) of every annotation, with gradients, shape (n, k)."""
    if noise.confusion_is_complete:  # a matrix for every annotator, not for every label
        who_u, place_n = torch.unique(batch.annotator, return_inverse=True)
        log_nkl = noise.log_given_class(who_u)[place_n]
    else:
        features_b = batch.features if noise.needs_features else None
        log_nkl = noise.log_given_class(batch.annotator, batch.row, features_b)
    n_labels, n_classes, _ = log_nkl.shape
    log_n = noise.log_likelihood(
        log_nkl.reshape(n_labels * n_classes, n_classes), batch.label.repeat_interleave(n_classes)
    )
    return log_n.reshape(n_labels, n_classes)
