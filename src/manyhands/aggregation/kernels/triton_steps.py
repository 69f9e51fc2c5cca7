"""Passes over labels on a GPU, written in Triton: posteriors of items, and sums by row.

A program works on a block of items, or of chunks of labels, and goes through their labels side by
side. Nothing is added by atomic operations, so the same labels give the same bits in every run.
`torch_steps` has the same functions in plain torch.
"""

import torch
import triton
import triton.language as tl

from manyhands.aggregation.kernels.sum_plan import SumPlan

_CELLS = 512  # of a block, four for every thread
_N_WARPS = 4
_LANES = 32  # of a warp
_MAX_ROWS = (
    _LANES * _N_WARPS
)  # one for every thread: more would have to be exchanged between threads


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
    n_items, n_columns = posterior_ik.shape
    columns, block = _block(n_columns)
    n_programs = triton.cdiv(n_items, block)
    sums = posterior_ik.new_empty(n_programs, n_columns + 1)
    _expect_confusions[(n_programs,)](
        offsets, row, offsets if known is None else known, log_prior_k, log_table_rk,
        posterior_ik, sums, n_items,
        HAS_KNOWN=known is not None, N_SUBTYPES=n_subtypes, N_COLUMNS=n_columns,
        ITEMS=block, COLUMNS=columns, AHEAD=_ahead(columns), num_warps=_N_WARPS,
    )  # fmt: skip
    return sums.sum(dim=0)


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
    n_items, n_columns = posterior_ik.shape
    columns, block = _block(n_columns)
    n_programs = triton.cdiv(n_items, block)
    sums = posterior_ik.new_empty(n_programs, n_columns + 1)
    _expect_coins[(n_programs,)](
        offsets, annotator, label, offsets if known is None else known, log_prior_k, logit_a,
        logit_a if ease_i is None else ease_i, posterior_ik, sums, n_items,
        HAS_KNOWN=known is not None, HAS_EASE=ease_i is not None, N_COLUMNS=n_columns,
        ITEMS=block, COLUMNS=columns, num_warps=_N_WARPS,
    )  # fmt: skip
    return sums.sum(dim=0)


def gather_sums(plan: SumPlan, values_vk: torch.Tensor) -> torch.Tensor:
    """Sums of the rows of `values_vk` that a plan names, shape (r, k)."""
    n_columns = values_vk.shape[1]
    columns = triton.next_power_of_2(n_columns)
    width = max(_LANES // columns, 1)
    block = max(_CELLS // (columns * width), 1)
    for level in plan:
        n_sums = len(level.offsets) - 1
        sums_ck = values_vk.new_empty(n_sums, n_columns)
        _gather_sums[(triton.cdiv(n_sums, block),)](
            level.offsets, level.index, values_vk, sums_ck, n_sums,
            N_COLUMNS=n_columns, SUMS=block, WIDTH=width, COLUMNS=columns, num_warps=_N_WARPS,
        )  # fmt: skip
        values_vk = sums_ck
    return values_vk


def _block(n_columns: int) -> tuple[int, int]:
    """The columns of a block, a power of two, and its rows."""
    columns = triton.next_power_of_2(n_columns)
    return columns, min(max(_CELLS // columns, 1), _MAX_ROWS)


def _ahead(columns: int) -> int:
    """How many labels are read before the first is used, so that their reads overlap."""
    return 4 if columns <= 4 else 2


@triton.jit
def _normalise(
    score,
    known,
    item,
    inside,
    column,
    posterior,
    sums,
    HAS_KNOWN: tl.constexpr,
    N_SUBTYPES: tl.constexpr,
    N_COLUMNS: tl.constexpr,
):
    """Write the posterior of a block of items from their log-scores, and its sums."""
    is_column = column < N_COLUMNS
    if HAS_KNOWN:  # only the columns of the known class remain
        truth = tl.load(known + item, mask=inside, other=-1)
        is_other = (truth[:, None] >= 0) & (column[None, :] // N_SUBTYPES != truth[:, None])
        score = tl.where(is_other, float("-inf"), score)
    top = tl.max(score, axis=1)
    share = tl.exp(score - top[:, None])
    total = tl.sum(share, axis=1)
    share = share / total[:, None]
    log_sum = tl.where(inside, top + tl.log(total), 0.0)
    at = item.to(tl.int64)[:, None] * N_COLUMNS + column[None, :]
    used = inside[:, None] & is_column[None, :]
    tl.store(posterior + at, share, mask=used)
    sums += tl.program_id(0).to(tl.int64) * (N_COLUMNS + 1)
    tl.store(sums + column, tl.sum(tl.where(used, share, 0.0), axis=0), mask=is_column)
    return sums, log_sum


@triton.jit
def _expect_confusions(
    offsets,
    row,
    known,
    log_prior,
    log_table,
    posterior,
    sums,
    n_items,
    HAS_KNOWN: tl.constexpr,
    N_SUBTYPES: tl.constexpr,
    N_COLUMNS: tl.constexpr,
    ITEMS: tl.constexpr,
    COLUMNS: tl.constexpr,
    AHEAD: tl.constexpr,
):
    item = tl.program_id(0) * ITEMS + tl.arange(0, ITEMS)
    column = tl.arange(0, COLUMNS)
    inside = item < n_items
    is_column = column < N_COLUMNS
    begin = tl.load(offsets + item, mask=inside, other=0)
    n_labels = tl.load(offsets + item + 1, mask=inside, other=0) - begin
    prior = tl.load(log_prior + column, mask=is_column, other=float("-inf"))
    score = tl.zeros([ITEMS, COLUMNS], dtype=tl.float64) + prior[None, :]
    most = tl.max(n_labels, axis=0)
    for step in range(0, most, AHEAD):
        for ahead in tl.static_range(AHEAD):
            here = step + ahead < n_labels
            cell = tl.load(row + begin + step + ahead, mask=here, other=0)
            at = cell[:, None] * N_COLUMNS + column[None, :]
            used = here[:, None] & is_column[None, :]
            score += tl.load(log_table + at, mask=used, other=0.0)
    sums, log_sum = _normalise(
        score, known, item, inside, column, posterior, sums, HAS_KNOWN, N_SUBTYPES, N_COLUMNS
    )
    tl.store(sums + N_COLUMNS, tl.sum(log_sum, axis=0))


@triton.jit
def _expect_coins(
    offsets,
    annotator,
    label,
    known,
    log_prior,
    logit,
    ease,
    posterior,
    sums,
    n_items,
    HAS_KNOWN: tl.constexpr,
    HAS_EASE: tl.constexpr,
    N_COLUMNS: tl.constexpr,
    ITEMS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    item = tl.program_id(0) * ITEMS + tl.arange(0, ITEMS)
    column = tl.arange(0, COLUMNS)
    inside = item < n_items
    begin = tl.load(offsets + item, mask=inside, other=0)
    n_labels = tl.load(offsets + item + 1, mask=inside, other=0) - begin
    prior = tl.load(log_prior + column, mask=column < N_COLUMNS, other=float("-inf"))
    score = tl.zeros([ITEMS, COLUMNS], dtype=tl.float64) + prior[None, :]
    log_wrong = tl.zeros([ITEMS], dtype=tl.float64)
    if N_COLUMNS > 1:  # a label of a single class tells nothing
        log_others = tl.log(tl.zeros([ITEMS], dtype=tl.float64) + (N_COLUMNS - 1))
        scale = tl.zeros([ITEMS], dtype=tl.float64) + 1.0
        if HAS_EASE:
            scale = tl.load(ease + item, mask=inside, other=1.0)
        most = tl.max(n_labels, axis=0)
        for step in range(0, most):
            here = step < n_labels
            who = tl.load(annotator + begin + step, mask=here, other=0)
            said = tl.load(label + begin + step, mask=here, other=-1)
            x = tl.load(logit + who, mask=here, other=0.0) * scale
            gain = tl.where(here, x + log_others, 0.0)
            score += tl.where(said[:, None] == column[None, :], gain[:, None], 0.0)
            # log sigmoid(-x), without overflow
            log_miss = tl.minimum(-x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))
            log_wrong += tl.where(here, log_miss - log_others, 0.0)
    sums, log_sum = _normalise(
        score, known, item, inside, column, posterior, sums, HAS_KNOWN, 1, N_COLUMNS
    )
    tl.store(sums + N_COLUMNS, tl.sum(log_sum + log_wrong, axis=0))


@triton.jit
def _gather_sums(
    offsets,
    index,
    values,
    sums,
    n_sums,
    N_COLUMNS: tl.constexpr,
    SUMS: tl.constexpr,
    WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Sums of gathered values; `WIDTH` of a sum are read side by side, as they follow in memory."""
    chunk = tl.program_id(0) * SUMS + tl.arange(0, SUMS)
    lane = tl.arange(0, WIDTH)
    column = tl.arange(0, COLUMNS)
    inside = chunk < n_sums
    is_column = column < N_COLUMNS
    begin = tl.load(offsets + chunk, mask=inside, other=0)
    n_values = tl.load(offsets + chunk + 1, mask=inside, other=0) - begin
    # Lanes come first: in this order Triton gives neighbouring lanes to neighbouring threads.
    total = tl.zeros([WIDTH, SUMS, COLUMNS], dtype=tl.float64)
    most = tl.max(n_values, axis=0)
    for step in range(0, most, 2 * WIDTH):
        for ahead in tl.static_range(2):
            place = step + ahead * WIDTH + lane[:, None]
            here = place < n_values[None, :]
            value = tl.load(index + begin[None, :] + place, mask=here, other=0)
            at = value[:, :, None] * N_COLUMNS + column[None, None, :]
            used = here[:, :, None] & is_column[None, None, :]
            total += tl.load(values + at, mask=used, other=0.0)
    at = chunk.to(tl.int64)[:, None] * N_COLUMNS + column[None, :]
    tl.store(sums + at, tl.sum(total, axis=0), mask=inside[:, None] & is_column[None, :])
