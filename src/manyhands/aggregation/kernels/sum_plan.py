"""How to add values by row on a GPU without atomic operations, decided once for all steps.

Values are sorted by row and cut into chunks. A first pass adds the values of each chunk, the next
one adds those sums, and so on until one is left for every row. Every pass adds in a fixed order, so
sums are the same in every run.
"""

from dataclasses import dataclass

import torch

_CHUNK = 64  # values; more leave processors idle, fewer make later passes long
_TILE_BYTES = 1 << 24  # of values that are read in turn, so that they stay in the cache of the GPU
_TILE_VALUES = 8  # of a row in a tile, at least on average: else partial sums cost more than reads


@dataclass(frozen=True)
class SumLevel:
    """One pass: sum c is that of values[index[n]], n from offsets[c] to offsets[c + 1]."""

    index: torch.Tensor
    offsets: torch.Tensor


SumPlan = tuple[SumLevel, ...]  # each level adds the sums of the one before


def plan_sums(row_n: torch.Tensor, index_n: torch.Tensor, n_rows: int, n_columns: int) -> SumPlan:
    """A plan to add value index_n[n] to row row_n[n]; values have `n_columns` numbers each.

    If there are more values than the cache holds, they are divided into tiles. A chunk has values
    of one tile, and the chunks of a tile follow each other.
    """
    row_n, index_n = row_n.long(), index_n.long()
    n_values = int(index_n.max()) + 1 if len(index_n) else 0
    n_tiles = _tile_count(len(row_n), n_values * n_columns, n_rows)
    key_n = row_n if n_tiles <= 1 else row_n + index_n // -(-n_values // n_tiles) * n_rows
    levels: list[SumLevel] = []
    while (not levels and n_tiles > 1) or _longest(key_n % max(n_rows, 1)) > _CHUNK:
        key_n, index_n = _sorted(key_n, index_n)
        key_g, n_g = torch.unique_consecutive(key_n, return_counts=True)
        chunks_g = (n_g + _CHUNK - 1) // _CHUNK
        n_chunks = int(chunks_g.sum())
        chunk_c = torch.arange(n_chunks, device=key_n.device)
        first_c = (chunks_g.cumsum(0) - chunks_g).repeat_interleave(chunks_g)
        begin_c = (n_g.cumsum(0) - n_g).repeat_interleave(chunks_g) + _CHUNK * (chunk_c - first_c)
        offsets = torch.cat([begin_c, begin_c.new_tensor([len(key_n)])])
        levels.append(_level(index_n, offsets, n_values * n_columns))
        key_n, index_n = (key_g % n_rows).repeat_interleave(chunks_g), chunk_c
        n_values = n_chunks
    key_n, index_n = _sorted(key_n, index_n)
    n_r = torch.bincount(key_n, minlength=n_rows)
    offsets = torch.cat([n_r.new_zeros(1), n_r.cumsum(0)])
    return (*levels, _level(index_n, offsets, n_values * n_columns))


def narrow(codes: torch.Tensor, most: int) -> torch.Tensor:
    """Whole numbers in 32 bits if numbers up to `most` fit into them."""
    return codes.int() if most < 2**31 else codes.long()


def _tile_count(n_labels: int, n_cells: int, n_rows: int) -> int:
    return min(-(-8 * n_cells // _TILE_BYTES), n_labels // (_TILE_VALUES * max(n_rows, 1)))


def _level(index_n: torch.Tensor, offsets: torch.Tensor, n_cells: int) -> SumLevel:
    return SumLevel(narrow(index_n, n_cells), narrow(offsets, len(index_n)))


def _longest(row_n: torch.Tensor) -> int:
    return int(torch.bincount(row_n).max()) if len(row_n) else 0


def _sorted(key_n: torch.Tensor, index_n: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both in the order of the keys; equal keys keep theirs."""
    if bool((key_n[1:] >= key_n[:-1]).all()):
        return key_n, index_n
    key_n, order = torch.sort(key_n, stable=True)
    return key_n, index_n[order]
