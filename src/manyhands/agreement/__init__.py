"""How far annotators agree with each other."""

from manyhands.agreement.pairwise import pair_agreement, pair_moments, shared_labels

__all__ = ["pair_agreement", "pair_moments", "shared_labels"]
