"""How far annotators agree with each other."""

from manyhands.agreement.pairwise import (
    PairAgreement,
    PairMoments,
    pair_agreement,
    pair_moments,
    shared_labels,
)

__all__ = ["PairAgreement", "PairMoments", "pair_agreement", "pair_moments", "shared_labels"]
