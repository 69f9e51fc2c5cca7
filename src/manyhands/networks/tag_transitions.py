"""Scores of tags that follow each other, beside the scores that a network gives to tokens."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from manyhands.annotations.tags import TagScheme, is_bio_tag
from manyhands.core.errors import DataError
from manyhands.core.settings import require_choice

TRANSITIONS = ("none", "bio", "learned", "learned-bio")
FORBIDDEN = -1e4  # a finite score whose exponential is 0: gradients stay numbers
_NAME = "tag_transitions"  # of the submodule of a network


class TagTransitions(nn.Module):
    """The scores of a linear-chain conditional random field between the tags of a sentence.

    ::

        p(tags | x) = exp(start[t_1] + sum_i f_i[t_i] + sum_i transition[t_i, t_i+1] + end[t_T]) / Z

    f are the outputs of the network, which are logits where all other scores are 0. With `kind`
    "learned" the scores are parameters, 0 at first. With "bio" they are fixed: 0 for what valid BIO
    tags allow, and minus infinity for an I-X that follows neither B-X nor I-X. "learned-bio" is
    both.

    >>> TagTransitions(["O", "B-PER", "I-PER"], "bio").allowed.int().tolist()
    [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    """

    transition: Tensor
    start: Tensor
    end: Tensor
    allowed: Tensor
    allowed_first: Tensor

    def __init__(self, tags: Sequence[str], kind: str) -> None:
        super().__init__()
        require_choice("transitions", kind, TRANSITIONS[1:])
        self.kind, n_tags = kind, len(tags)
        shapes = {"transition": (n_tags, n_tags), "start": (n_tags,), "end": (n_tags,)}
        for name, shape in shapes.items():
            if kind == "bio":
                self.register_buffer(name, torch.zeros(shape), persistent=False)
            else:
                self.register_parameter(name, nn.Parameter(torch.zeros(shape)))
        scheme = TagScheme.of(tags)
        if self.is_constrained:
            _require_bio(scheme)
        free = not self.is_constrained
        allowed = torch.tensor(scheme.moves_kk.tolist()) | free
        first = torch.tensor((~scheme.is_inside_k).tolist()) | free
        self.register_buffer("allowed", allowed, persistent=False)
        self.register_buffer("allowed_first", first, persistent=False)

    @property
    def is_constrained(self) -> bool:
        """Whether some tags cannot follow others."""
        return self.kind != "learned"

    def scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """The scores of pairs (k, k), row the earlier tag; of first tags and of last tags (k,)."""
        pair_kk = self.transition.masked_fill(~self.allowed, FORBIDDEN)
        return pair_kk, self.start.masked_fill(~self.allowed_first, FORBIDDEN), self.end

    def extra_repr(self) -> str:
        """The kind, which tells one network from another."""
        return f"{self.kind!r}"


def add_transitions(network: nn.Module, tags: Sequence[str], kind: str) -> nn.Module:
    """Give a network of tags transitions as a submodule; nothing happens for the kind "none"."""
    if kind != "none":
        network.add_module(_NAME, TagTransitions(tags, kind))
    return network


def transitions_of(network: nn.Module) -> TagTransitions | None:
    """The transitions of a network; None where tokens are independent given the sentence."""
    found: TagTransitions | None = getattr(network, _NAME, None)
    return found


def _require_bio(scheme: TagScheme) -> None:
    wrong = [name for name in scheme.names if not is_bio_tag(name)]
    if wrong:
        raise DataError(
            f"the tag {wrong[0]!r} is not O, B-TYPE or I-TYPE, so no rule says what may follow it; "
            "set transitions to 'learned'"
        )
    if scheme.is_inside_k.all():
        raise DataError(
            f"none of the tags {', '.join(scheme.names)} can begin a sentence; add O or a tag "
            "B-TYPE, or set transitions to 'learned'"
        )
