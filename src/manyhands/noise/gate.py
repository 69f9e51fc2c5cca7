"""The gate of CoNAL: how far an annotation comes from what the crowd has in common."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from manyhands.core.settings import require


class Gate(nn.Module):
    """omega = sigmoid(u_a . v_x / temperature), u and v L2-normalised linear embeddings.

    With unit vectors omega stays within 0.27 and 0.73 at temperature 1. Annotators are embedded by
    code, or from features of theirs. Without features (a portrait) omega is the annotator's mean
    over the pairs observed.
    """

    def __init__(
        self,
        n_annotators: int,
        n_features: int,
        *,
        n_dimensions: int = 20,
        temperature: float = 1.0,
        annotator_features: Tensor | None = None,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        require(temperature > 0, "temperature", "> 0", temperature)
        self.temperature = temperature
        self.item = nn.Linear(n_features, n_dimensions)
        self.annotator_features: Tensor | None
        self.register_buffer("annotator_features", annotator_features)
        self.annotator: nn.Module
        if annotator_features is None:
            self.annotator = nn.Embedding(n_annotators, n_dimensions, sparse=sparse)
        else:
            self.annotator = nn.Linear(annotator_features.shape[1], n_dimensions)
        self.omega_sum_a: Tensor
        self.register_buffer("omega_sum_a", torch.zeros(n_annotators))
        self.n_seen_a: Tensor
        self.register_buffer("n_seen_a", torch.zeros(n_annotators, dtype=torch.int64))

    def forward(self, row_n: Tensor, annotator_n: Tensor, features_b: Tensor | None) -> Tensor:
        """The logit of omega for every annotation."""
        if features_b is None:
            return self.mean_omega(annotator_n).logit()
        features = self.annotator_features
        who = annotator_n if features is None else features[annotator_n]
        u_n = functional.normalize(self.annotator(who), dim=-1)
        v_b = functional.normalize(self.item(features_b.flatten(1)), dim=-1)
        cosine_n = (u_n * v_b.index_select(0, row_n)).sum(dim=-1)
        return cosine_n if self.temperature == 1.0 else cosine_n / self.temperature

    @torch.no_grad()
    def observe(self, row_n: Tensor, annotator_n: Tensor, features_b: Tensor) -> None:
        """Add the omega of every pair to what its annotator's mean is taken over."""
        omega_n = self(row_n, annotator_n, features_b).sigmoid()
        self.omega_sum_a.index_add_(0, annotator_n, omega_n.to(self.omega_sum_a))
        self.n_seen_a.index_add_(0, annotator_n, torch.ones_like(annotator_n))

    def mean_omega(self, annotator_n: Tensor) -> Tensor:
        """The mean omega of annotators, shape (n,).

        Who was never seen has the mean of all pairs; before anything was observed it is 1/2.
        """
        n_pairs = self.n_seen_a.sum()
        overall = torch.where(n_pairs > 0, self.omega_sum_a.sum() / n_pairs, 0.5)
        n_seen = self.n_seen_a[annotator_n]
        return torch.where(n_seen > 0, self.omega_sum_a[annotator_n] / n_seen, overall)
