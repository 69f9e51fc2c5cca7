"""The data of the demo for sequences: made-up sentences, tagged by simulated people."""

from dataclasses import dataclass

import numpy as np

from manyhands.annotations import Sentences, TaggedSentences, TagScheme, TokenLabels
from manyhands.annotations.sentences import as_objects
from manyhands.core.arrays import AnyArray, Codes, Offsets
from manyhands.core.seeds import generator

TAGS = TagScheme.of_types(["LOC", "PER"])
_FIRST = ["Ada", "Boris", "Chen", "Dalia", "Emil", "Fatou", "Goran", "Hanna", "Ivo", "Jana"]
_LAST = ["Adler", "Berg", "Castro", "Duarte", "Engel", "Fischer", "Gupta", "Hansen", "Ito"]
_PLACES = ["Arden", "Brook", "Calder", "Dover", "Elm", "Fairview", "Glen", "Harbour", "Iris"]
_KINDS = ["Valley", "Falls", "City", "Bay"]
_PATTERNS = (
    "PER met PER in LOC last week",
    "PER moved from LOC to LOC",
    "the mayor of LOC thanked PER",
    "yesterday PER spoke to reporters",
    "rain is expected in LOC and LOC",
    "PER , born in LOC , won",
    "nobody knew why PER left",
    "the road to LOC was closed",
    "prices rose again in the morning",
    "PER and PER opened a school near LOC",
)
_PEOPLE = {"careful": 4, "hasty": 4, "mixes types": 3, "cuts short": 4}
TAGGERS_PER_SENTENCE = 3


@dataclass(frozen=True)
class SentencesDemo:
    """Sentences to learn from with what people said of them, others to test on, and people."""

    labels: TokenLabels
    truth: TaggedSentences
    test: TaggedSentences
    behaviour: AnyArray


def load_sentences_demo(seed: int = 0, n_sentences: int = 400, n_test: int = 200) -> SentencesDemo:
    """400 sentences tagged by 3 of 15 people each, and 200 that nobody tagged.

    Hasty people overlook half of the entities, others mix up people with places, or mark the
    first word of a name only; careful ones are mostly right.
    """
    rng = generator(seed, "demo sentences")
    truth, test = _written(n_sentences, rng), _written(n_test, rng)
    behaviour = np.repeat(list(_PEOPLE), list(_PEOPLE.values())).astype(object)
    true_t = TAGS.codes(truth.tags)
    token, who, label = [], [], []
    for s in range(n_sentences):
        tokens = truth.sentences.tokens_of(s)
        for a in rng.permutation(len(behaviour))[:TAGGERS_PER_SENTENCE]:
            token.append(tokens)
            who.append(np.full(len(tokens), a))
            label.append(_said(true_t[tokens], str(behaviour[a]), rng))
    labels = TokenLabels.from_codes(
        truth.sentences, np.concatenate(token), np.concatenate(who), np.concatenate(label),
        [f"p{a:02}" for a in range(len(behaviour))], TAGS.names,
    )  # fmt: skip
    return SentencesDemo(labels, truth, test, behaviour)


def _written(n_sentences: int, rng: np.random.Generator) -> TaggedSentences:
    words: list[list[str]] = []
    tags: list[str] = []
    for pattern in rng.choice(np.array(_PATTERNS), size=n_sentences):
        sentence: list[str] = []
        for word in str(pattern).split():
            name = _name(word, rng)
            sentence += name
            kind = [f"B-{word}"] + [f"I-{word}"] * (len(name) - 1)
            tags += kind if word in TAGS.types else ["O"]
        words.append(sentence)
    return TaggedSentences(Sentences.from_lists(words), as_objects(tags))


def _name(word: str, rng: np.random.Generator) -> list[str]:
    """A name of one or two words for a type of entity; other words as they are."""
    if word not in TAGS.types:
        return [word]
    first, last = (_FIRST, _LAST) if word == "PER" else (_PLACES, _KINDS)
    return [str(rng.choice(first)), str(rng.choice(last))][: int(rng.integers(1, 3))]


def _said(true_t: Codes, behaviour: str, rng: np.random.Generator) -> Codes:
    """The tags that a person of this behaviour gives one sentence."""
    said_t = true_t.copy()
    starts: Offsets = np.flatnonzero(TAGS.is_begin_k[true_t])
    outside, other = 0, {1: 3, 2: 4, 3: 1, 4: 2}
    for first in starts.tolist():
        end = first + 1
        while end < len(true_t) and TAGS.is_inside_k[true_t[end]]:
            end += 1
        if rng.random() < (0.5 if behaviour == "hasty" else 0.05):
            said_t[first:end] = outside
        elif rng.random() < (0.6 if behaviour == "mixes types" else 0.02):
            said_t[first:end] = [other[int(code)] for code in true_t[first:end]]
        elif rng.random() < (0.8 if behaviour == "cuts short" else 0.02):
            said_t[first + 1 : end] = outside
    return said_t
