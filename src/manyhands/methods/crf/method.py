"""CRF-MA as a method of training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from manyhands.aggregation import estimate_confusions
from manyhands.annotations import Annotations, Kind
from manyhands.engine.inputs import Inputs
from manyhands.methods.base import About
from manyhands.methods.crf.crf_ma import fit_crf_ma
from manyhands.methods.crf.network import CrfInputs, CrfNetwork
from manyhands.methods.full_batch import FullBatchMethod, Solution
from manyhands.networks import LogisticRegression


@dataclass(frozen=True)
class CrfMa(FullBatchMethod):
    """A linear chain over features of words, and the reliability of annotators (`fit_crf_ma`).

    `settings` go there. People's confusions are those against the tags believed at the end.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    about: About = field(kw_only=True, default=About())
    defaults: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"epochs": 100})

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """See `Method.kinds`: items by themselves are nothing to it."""
        return ()

    @property
    def task(self) -> tuple[str, ...]:
        """See `Method.learns`."""
        return ("tags",)

    def network(self, network: nn.Module, n_annotators: int, n_classes: int) -> nn.Module:
        """See `Method.network`."""
        assert isinstance(network, LogisticRegression), "the only network of these methods"
        return CrfNetwork(network, n_annotators, n_classes)

    def solve(self, inputs: Inputs, annotations: Annotations, *, steps: int, seed: int) -> Solution:
        """See `Solved.solve`."""
        assert isinstance(inputs, CrfInputs), "sentences as chains read them"
        found = fit_crf_ma(
            inputs.matrix, inputs.offsets, annotations, max_iter=steps, **self.settings
        )
        links = found.weights.links
        parts = {
            "feature": found.weights.feature_jk,
            "transition": links.transition_kk,
            "start": links.start_k,
            "end": links.end_k,
        }
        weights = {name: torch.from_numpy(each) for name, each in parts.items()}
        return Solution(weights, estimate_confusions(annotations, found.tag_tk), found.objective)
