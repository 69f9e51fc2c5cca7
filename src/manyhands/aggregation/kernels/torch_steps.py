"""The functions of `triton_steps` in plain torch: what they must give, on any device of torch."""

import torch

from manyhands.aggregation.kernels.sum_plan import SumPlan


def expect_confusions(
    offsets: torch.Tensor,
    row: torch.Tensor,
    known: torch.Tensor | None,
    log_prior_k: torch.Tensor,
    log_table_rk: torch.Tensor,
    n_subtypes: int,
    posterior_ik: torch.Tensor,
) -> torch.Tensor:
    """Fill the posterior; return its sums over items, and the log-likelihood in the last cell."""
    score_ik = log_prior_k.expand(posterior_ik.shape).clone()
    score_ik.index_add_(0, _items(offsets), log_table_rk[row.long()])
    return _normalise(score_ik, known, n_subtypes, posterior_ik)


def expect_coins(
    offsets: torch.Tensor,
    annotator: torch.Tensor,
    label: torch.Tensor,
    known: torch.Tensor | None,
    log_prior_k: torch.Tensor,
    logit_a: torch.Tensor,
    ease_i: torch.Tensor | None,
    posterior_ik: torch.Tensor,
) -> torch.Tensor:
    """The same for annotators who are right or wrong; `ease_i` scales their logits."""
    score_ik = log_prior_k.expand(posterior_ik.shape).clone()
    n_classes, item_n = posterior_ik.shape[1], _items(offsets)
    log_wrong = posterior_ik.new_zeros(())
    if n_classes > 1:  # a label of a single class tells nothing
        log_others = posterior_ik.new_tensor(float(n_classes - 1)).log()
        x_n = logit_a[annotator.long()]
        x_n = x_n if ease_i is None else x_n * ease_i[item_n]
        score_ik.view(-1).index_add_(0, item_n * n_classes + label, x_n + log_others)
        log_wrong = (torch.nn.functional.logsigmoid(-x_n) - log_others).sum()
    sums = _normalise(score_ik, known, 1, posterior_ik)
    sums[-1] += log_wrong
    return sums


def gather_sums(plan: SumPlan, values_vk: torch.Tensor) -> torch.Tensor:
    """Sums of the rows of `values_vk` that a plan names, shape (r, k)."""
    for level in plan:
        sums_ck = values_vk.new_zeros(len(level.offsets) - 1, values_vk.shape[1])
        values_vk = sums_ck.index_add_(0, _items(level.offsets), values_vk[level.index.long()])
    return values_vk


def _items(offsets: torch.Tensor) -> torch.Tensor:
    """The group of every member, from the offsets of groups."""
    n_each = (offsets[1:] - offsets[:-1]).long()
    return torch.arange(len(n_each), device=offsets.device).repeat_interleave(n_each)


def _normalise(
    score_ik: torch.Tensor, known: torch.Tensor | None, n_subtypes: int, posterior_ik: torch.Tensor
) -> torch.Tensor:
    if known is not None:  # only the columns of the known class remain
        class_k = torch.arange(score_ik.shape[1], device=score_ik.device) // n_subtypes
        is_other_ik = (known[:, None] >= 0) & (class_k != known[:, None])
        score_ik = score_ik.masked_fill(is_other_ik, -torch.inf)
    torch.softmax(score_ik, dim=1, out=posterior_ik)
    log_likelihood = torch.logsumexp(score_ik, dim=1).sum()
    return torch.cat([posterior_ik.sum(dim=0), log_likelihood[None]])
