"""How far annotators agree with each other."""

from manyhands.agreement.fleiss import fleiss_kappa
from manyhands.agreement.pairwise import pair_agreement, pair_moments, shared_labels

__all__ = ["fleiss_kappa", "pair_agreement", "pair_moments", "shared_labels"]
