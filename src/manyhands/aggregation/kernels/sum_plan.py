"""How to add values by row on a GPU without atomic operations, decided once for all steps.

Values are sorted by row and cut into chunks. A first pass adds the values of each chunk, a second
one the chunks of each row. Both add in a fixed order, so sums are the same in every run.
"""

from dataclasses import dataclass

import torch

_CHUNK = 64  # values; more leave processors idle, fewer make the second pass long
_TILE_BYTES = 1 << 24  # of values that are read in turn, so that they stay in the cache of the GPU
_TILE_VALUES = 8  # of a row in a tile, at least on average: else partial sums cost more than reads


@dataclass(frozen=True)
class SumPlan:
    """Row r is the sum over its chunks c of values[index[n]], n in the range of each chunk.

    The range of chunk c begins at chunk_offsets[c]. Its sum goes to slot[c]; the slots of row r
    are those from slot_offsets[r] to slot_offsets[r + 1].
    """

    index: torch.Tensor
    chunk_offsets: torch.Tensor
    slot: torch.Tensor
    slot_offsets: torch.Tensor


def plan_sums(row_n: torch.Tensor, index_n: torch.Tensor, n_rows: int, n_columns: int) -> SumPlan:
    """A plan to add value index_n[n] to row row_n[n]; values have `n_columns` numbers each.

    If there are more values than the cache holds, they are divided into tiles. A chunk has values
    of one tile, and chunks of one tile follow each other.
    """
    n_values = int(index_n.max()) + 1 if len(index_n) else 0
    n_tiles = min(
        -(-8 * n_values * n_columns // _TILE_BYTES), len(row_n) // (_TILE_VALUES * max(n_rows, 1))
    )
    key_n = row_n.long()
    if n_tiles > 1:
        key_n = key_n + index_n.long() // -(-n_values // n_tiles) * n_rows
    if not bool((key_n[1:] >= key_n[:-1]).all()):
        key_n, order = torch.sort(key_n, stable=True)
        index_n = index_n[order]
    key_g, n_g = torch.unique_consecutive(key_n, return_counts=True)
    begin_g = n_g.cumsum(0) - n_g
    chunks_g = (n_g + _CHUNK - 1) // _CHUNK
    within_c = _arange(int(chunks_g.sum()), chunks_g) - (
        (chunks_g.cumsum(0) - chunks_g).repeat_interleave(chunks_g)
    )
    begin_c = begin_g.repeat_interleave(chunks_g) + _CHUNK * within_c
    row_c = (key_g % max(n_rows, 1)).repeat_interleave(chunks_g)
    slot_c = torch.empty_like(row_c)
    slot_c[torch.sort(row_c, stable=True).indices] = _arange(len(row_c), row_c)
    slots_r = torch.bincount(row_c, minlength=n_rows)
    end = begin_c.new_tensor([len(key_n)])
    slot_offsets = torch.cat([slots_r.new_zeros(1), slots_r.cumsum(0)])
    return SumPlan(
        narrow(index_n, n_values * n_columns),
        narrow(torch.cat([begin_c, end]), len(key_n)),
        narrow(slot_c, len(slot_c)),
        narrow(slot_offsets, len(slot_c)),
    )


def narrow(codes: torch.Tensor, most: int) -> torch.Tensor:
    """Whole numbers in 32 bits if products up to `most` fit into them."""
    return codes.int() if most < 2**31 else codes.long()


def _arange(n: int, like: torch.Tensor) -> torch.Tensor:
    return torch.arange(n, device=like.device)
