"""BIO tags: which there are, which may follow which, and what to do with an I-X out of place.

O is outside of every entity, B-X the first token of an entity of type X, I-X a further token.
An I-X that follows neither B-X nor I-X is *stray*; the CoNLL evaluation reads it as a begin.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from manyhands.core.arrays import AnyArray, Bools, Codes, Offsets
from manyhands.core.errors import DataError, SettingName
from manyhands.core.settings import require_choice

OUTSIDE = "O"
OrphanTags = Literal["keep", "repair", "refuse"]
ORPHAN_TAGS = ("keep", "repair", "refuse")


@dataclass(frozen=True)
class TagScheme:
    """The tags behind codes 0, 1, 2 ...; a name that is no BIO tag stands outside of entities.

    >>> TagScheme.of_types(["PER", "LOC"]).names
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[Any]) -> "TagScheme":
        """The scheme of these tags, in this order."""
        return cls(tuple(str(name) for name in names))

    @classmethod
    def of_types(cls, types: Iterable[str]) -> "TagScheme":
        """O, then B- and I- of every type, types sorted."""
        return cls((OUTSIDE, *(f"{mark}-{each}" for each in sorted(set(types)) for mark in "BI")))

    @classmethod
    def covering(cls, tags: Iterable[Any]) -> "TagScheme":
        """The scheme of all types that these tags name; a tag that is not BIO is refused."""
        distinct = {str(tag) for tag in tags}
        wrong = sorted(tag for tag in distinct if not is_tag(tag))
        if wrong:
            raise DataError(f"the tag {wrong[0]!r} is not O, B-TYPE or I-TYPE")
        return cls.of_types(type_of(tag) for tag in distinct if tag != OUTSIDE)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of entities, sorted."""
        return tuple(sorted({type_of(name) for name in self.names if _is_entity(name)}))

    @cached_property
    def type_k(self) -> Codes:
        """The type of every tag, as a place in `types`; -1 outside of entities."""
        place = {name: code for code, name in enumerate(self.types)}
        named = [place[type_of(name)] if _is_entity(name) else -1 for name in self.names]
        return np.array(named, dtype=np.int32)

    @cached_property
    def is_inside_k(self) -> Bools:
        """Which tags are an I-X."""
        return np.array([_is_entity(n) and n.startswith("I-") for n in self.names], dtype=bool)

    @cached_property
    def is_begin_k(self) -> Bools:
        """Which tags are a B-X."""
        return np.array([_is_entity(n) and n.startswith("B-") for n in self.names], dtype=bool)

    @cached_property
    def begin_k(self) -> Codes:
        """For every tag B-X or I-X the code of B-X; -1 where there is none."""
        code_of = {name: code for code, name in enumerate(self.names)}
        begins = [code_of.get(f"B-{type_of(n)}", -1) if _is_entity(n) else -1 for n in self.names]
        return np.array(begins, dtype=np.int32)

    def require_begins(self) -> Codes:
        """`begin_k`, or an error where an I-X has no B-X to become."""
        lacking = np.flatnonzero(self.is_inside_k & (self.begin_k < 0))
        if len(lacking):
            name = self.names[lacking[0]]
            raise DataError(f"the tags hold {name} but not B-{type_of(name)}; list it too")
        return self.begin_k

    def codes(self, tags: Iterable[Any]) -> Codes:
        """The code of every tag; a tag outside the scheme is refused with its place."""
        code_of = {name: code for code, name in enumerate(self.names)}
        named = [str(tag) for tag in tags]
        codes = np.array([code_of.get(tag, -1) for tag in named], dtype=np.int32)
        if np.any(codes < 0):
            token = int(np.argmin(codes))
            raise DataError(
                f"token {token}: the tag {named[token]!r} is not among {', '.join(self.names)}"
            )
        return codes

    def names_of(self, code_t: Codes) -> AnyArray:
        """Tags by name."""
        return np.array([*self.names, None], dtype=object)[code_t]


def is_tag(name: str) -> bool:
    """Whether this is O, B-TYPE or I-TYPE.

    >>> [is_tag(name) for name in ("O", "B-PER", "I-", "B_PER")]
    [True, True, False, False]
    """
    return name == OUTSIDE or _is_entity(name)


def type_of(tag: str) -> str:
    """The type of a B-X or I-X: everything behind the first dash."""
    return tag[2:]


def allowed_starts(tags: Sequence[str]) -> Bools:
    """Which tags may begin a sentence, shape (k,): all but the I-X."""
    return ~TagScheme.of(tags).is_inside_k


def allowed_transitions(tags: Sequence[str]) -> Bools:
    """Which tag (row) may be followed by which (column), shape (k, k).

    I-X may follow B-X and I-X only; everything else may follow anything.

    >>> allowed_transitions(["O", "B-PER", "I-PER"]).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    """
    scheme = TagScheme.of(tags)
    same_kk = scheme.type_k[:, None] == scheme.type_k[None, :]
    return np.asarray(~scheme.is_inside_k[None, :] | same_kk)


def stray_tags(code_t: Codes, offsets: Offsets, scheme: TagScheme) -> Bools:
    """Which tokens hold an I-X that follows neither B-X nor I-X in their sentence.

    A code of -1 says that a token has no tag; what follows it follows nothing.
    """
    type_t, inside_t = tag_types(code_t, scheme), _with_none(scheme.is_inside_k, False)[code_t]
    return np.asarray(inside_t & (previous_types(type_t, offsets) != type_t))


def tag_types(code_t: Codes, scheme: TagScheme) -> Codes:
    """The type of every token's tag; -1 outside of entities and where there is no tag."""
    return np.asarray(_with_none(scheme.type_k, -1)[code_t], dtype=np.int32)


def previous_types(type_t: Codes, offsets: Offsets) -> Codes:
    """The type of the token before every token in its sentence; -1 where there is none."""
    before_t = np.concatenate([[-1], type_t])[:-1].astype(np.int32)
    starts = offsets[:-1]
    before_t[starts[starts < len(type_t)]] = -1
    return before_t


def is_valid_bio(tags: Sequence[str]) -> bool:
    """Whether every I-X of one sentence follows a B-X or an I-X.

    >>> is_valid_bio(["B-PER", "I-PER", "O"]), is_valid_bio(["B-PER", "I-LOC"])
    (True, False)
    """
    scheme = TagScheme.covering(tags)
    return not stray_tags(scheme.codes(tags), np.array([0, len(tags)]), scheme).any()


def repair_bio(tags: Sequence[str], orphan_tags: OrphanTags = "repair") -> list[str]:
    """The tags of one sentence with every stray I-X made B-X, or refused with its place.

    >>> repair_bio(["O", "I-PER", "I-PER", "I-LOC"])
    ['O', 'B-PER', 'I-PER', 'B-LOC']
    """
    require_choice("orphan_tags", orphan_tags, ORPHAN_TAGS)
    if orphan_tags == "keep":
        return list(tags)
    scheme = TagScheme.covering(tags)
    code_t = scheme.codes(tags)
    stray_t = stray_tags(code_t, np.array([0, len(tags)]), scheme)
    if orphan_tags == "refuse" and stray_t.any():
        token = int(np.argmax(stray_t))
        raise DataError(
            f"token {token}: {tags[token]} follows no entity of its type; begin it with B-, or "
            "choose ",
            SettingName("orphan_tags", "repair"),
        )
    code_t[stray_t] = scheme.begin_k[code_t[stray_t]]
    return [str(name) for name in scheme.names_of(code_t)]


def _is_entity(name: str) -> bool:
    return name[:2] in {"B-", "I-"} and len(name) > 2


def _with_none(value_k: AnyArray, none: Any) -> AnyArray:
    """Values by tag with one more at the end, which the code -1 finds."""
    return np.append(value_k, none)
