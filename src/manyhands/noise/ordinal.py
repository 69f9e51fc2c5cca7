"""Cumulative links: annotators cut a line of levels at thresholds of their own."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from manyhands.aggregation.kernels.cumulative_steps import fit_thresholds
from manyhands.core.settings import require
from manyhands.noise.annotator_table import AnnotatorTable, log_mixture
from manyhands.noise.base import NoiseModel
from manyhands.noise.batch import Features


@dataclass(eq=False, repr=False, kw_only=True)
class CumulativeLink(NoiseModel):
    """Thresholds and a slope per annotator, applied to the probabilities f of ordered classes.

    ::

        P(y) = sum_k f_k C_a[k, y],    P(y <= l | k) = F(t_al - b_a z_k),   F logistic
        z_k = k - (K - 1) / 2,         t_al = c_a + sum_(j <= l) exp(g_aj), minus the mean sum

    Classes are levels from lowest to highest. Thresholds rise; the slope b tells how sharply an
    annotator tells levels apart, the centre c whether they are strict. That are K numbers per
    annotator, where `SpeeLFC` has K x K. With two classes every confusion can be described.
    Reversing the order of the classes reverses the model; other permutations change it.

    Settings
    --------
    slope:
        at the start; thresholds start halfway between levels.
    prior_precision:
        of a normal prior around the start of every annotator (`AnnotatorTable`).
    sparse, device, dtype:
        as in `NoiseModel`.

    Source: cumulative logits of McCullagh 1980; the confusions are those of the aggregator
    `OrdinalThresholds`.

    >>> layer = CumulativeLink(n_annotators=100, n_classes=3, slope=4.0)
    >>> layer.confusion()[7, 0].round(decimals=2)
    tensor([0.8800, 0.1200, 0.0000])
    """

    stacks = True
    slope: float = 3.0
    prior_precision: float = 0.0

    def _make_parameters(self, sparse: bool, factory: dict[str, Any]) -> None:
        require(self.slope > 0, "slope", "> 0", self.slope)
        slope = torch.full((1,), float(self.slope), **factory)
        n_gaps = max(self.n_classes - 2, 0)
        start = torch.cat([torch.zeros_like(slope), slope.log().repeat(n_gaps), slope])
        self.table = AnnotatorTable(
            self.n_annotators, start, prior_precision=self.prior_precision, sparse=sparse
        )

    def log_confusion(self, annotator_n: Tensor) -> Tensor:
        """Log C of some annotators, with gradients, shape (n, k, l)."""
        block_np = self.table(annotator_n)
        gap_nt = block_np[:, 1:-1].exp()
        above_nt = pad(gap_nt.cumsum(dim=1), (1, 0))
        threshold_nt = block_np[:, :1] + above_nt - above_nt.mean(dim=1, keepdim=True)
        place_k = torch.arange(self.n_classes, device=block_np.device, dtype=block_np.dtype)
        place_k = place_k - (self.n_classes - 1) / 2
        x_nkt = threshold_nt[:, None, :] - (block_np[:, -1:] * place_k)[:, :, None]
        # log(F(u) - F(v)) = log F(u) + log F(-v) + log(1 - exp(v - u))
        log_gap_nt = torch.log(-torch.expm1(-gap_nt))
        upper_nkl = pad(logsigmoid(x_nkt), (0, 1))
        lower_nkl = pad(logsigmoid(-x_nkt), (1, 0))
        log_confusion_nkl: Tensor = upper_nkl + lower_nkl + pad(log_gap_nt, (1, 1))[:, None, :]
        return log_confusion_nkl

    def forward(
        self, log_class_bk: Tensor, row_n: Tensor, annotator_n: Tensor, features_b: Features = None
    ) -> Tensor:
        """See `NoiseModel.forward`."""
        log_class_nk = log_class_bk.index_select(0, row_n)
        if self.n_classes == 1:
            nothing_n1: Tensor = 0.0 * self.table(annotator_n).sum(dim=1, keepdim=True)
            return log_class_nk + nothing_n1
        return log_mixture(log_class_nk, self.log_confusion(annotator_n))

    def _init_from(self, confusion_akl: Tensor) -> None:
        weight_akl, n_classes = confusion_akl.numpy(), self.n_classes
        place_k = torch.arange(n_classes, dtype=torch.float64).numpy() - (n_classes - 1) / 2
        border_t = (place_k[1:] + place_k[:-1]) / 2
        n_annotators = len(weight_akl)
        slope_a = torch.full((n_annotators,), float(self.slope), dtype=torch.float64).numpy()
        found = fit_thresholds(weight_akl, slope_a[:, None] * border_t, slope_a, place_k)
        threshold_at, fitted_a = (torch.from_numpy(each) for each in found)
        centre_a1 = threshold_at.mean(dim=1, keepdim=True)
        log_gap_at = threshold_at.diff(dim=1).log()
        self.table.restart(torch.cat([centre_a1, log_gap_at, fitted_a[:, None]], dim=1))
