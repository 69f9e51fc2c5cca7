"""Parameters of models in which a few groups share confusions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manyhands.core.arrays import AnyArray, Floats


@dataclass(frozen=True)
class GroupParameters:
    """Class prior, shares and confusions of the groups, and who belongs where (a, m)."""

    log_prior_k: Floats
    log_share_m: Floats
    log_confusion_mlk: Floats
    member_am: Floats

    def confusion_akl(self) -> Floats:
        """Group confusions weighted by membership, row = true class, column = label said."""
        confusion_mlk = np.exp(self.log_confusion_mlk)
        return np.asarray(np.einsum("am,mlk->akl", self.member_am, confusion_mlk))

    def with_strangers(self, n_new: int) -> Self:
        """The same with annotators added who belong to the groups as the crowd does."""
        strangers = np.repeat(np.exp(self.log_share_m)[None], n_new, axis=0)
        return replace(self, member_am=np.concatenate([self.member_am, strangers]))

    def columns(self, word: str) -> Mapping[str, AnyArray]:
        """Membership as columns `<word>_1`, `<word>_2` and so on."""
        return {f"{word}_{m + 1}": column for m, column in enumerate(self.member_am.T)}
