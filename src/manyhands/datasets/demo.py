"""The data of the demos: one for classes, one for numbers and one for tags."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from manyhands.annotations import Annotations, Sentences, TaggedSentences, TagScheme, TokenLabels
from manyhands.core.arrays import AnyArray, Codes, Floats, Offsets, object_array
from manyhands.core.settings import generator
from manyhands.simulation.behaviours import confused, constant_spammers, random_spammers
from manyhands.simulation.crowds import SimulatedCrowd, assign, simulate_crowd

LABELS_PER_ITEM = 3

N_ITEMS, N_FEATURES = 900, 6
_RATERS = {  # behaviour: number of annotators, bias, and standard deviation of the noise
    "careful": (8, 0.0, 0.5),
    "generous": (8, 2.5, 0.8),
    "harsh": (4, -2.5, 0.8),
    "erratic": (8, 0.0, 4.0),
}

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
_TAGGERS = {"careful": 4, "hasty": 4, "mixes types": 3, "cuts short": 4}


@dataclass(frozen=True)
class DigitsDemo:
    """The handwritten digits of scikit-learn (1797 images) with labels of a simulated crowd."""

    features: Floats
    crowd: SimulatedCrowd


def load_demo(seed: int = 0) -> DigitsDemo:
    """Forty simulated annotators, three labels per digit: good, middling, two kinds of spammers.

    >>> load_demo().crowd.annotations
    Annotations(5391 labels of 1797 items by 40 annotators, 10 classes)
    """
    digits = load_digits()
    rng = generator(seed, "demo annotators")
    careful, middling = rng.uniform(0.75, 0.95, 14), rng.uniform(0.35, 0.65, 16)
    confusion_akl = np.concatenate(
        [
            confused(np.concatenate([careful, middling]), 10, 0.3, rng),
            random_spammers(5, 10),
            constant_spammers(rng.integers(0, 10, 5), 10),
        ]
    )
    behaviour = np.array(
        ["careful"] * 14 + ["middling"] * 16 + ["random"] * 5 + ["constant"] * 5, dtype=object
    )
    crowd = simulate_crowd(
        digits.target,
        confusion_akl,
        labels_per_item=LABELS_PER_ITEM,
        seed=seed,
        behaviour=behaviour,
    )
    return DigitsDemo(digits.data, crowd)


@dataclass(frozen=True)
class RatingsDemo:
    """Items with features and true ratings, the ratings of a crowd, and its annotators."""

    features: Floats
    truth: Floats
    annotations: Annotations
    behaviour: AnyArray
    bias: Floats
    noise: Floats


def load_ratings_demo(seed: int = 0) -> RatingsDemo:
    """Ratings, mostly in 0..10, of 900 items by 28 simulated annotators, three per item.

    >>> load_ratings_demo().annotations
    Annotations(2700 labels of 900 items by 28 annotators, numbers)
    """
    rng = generator(seed, "demo ratings")
    x = rng.normal(size=(N_ITEMS, N_FEATURES))
    truth = 5.0 + 2.0 * np.tanh(x[:, 0] + x[:, 1]) + x[:, 2] - x[:, 3] * x[:, 4]
    behaviour = np.repeat(list(_RATERS), [n for n, _, _ in _RATERS.values()]).astype(object)
    bias = np.array([_RATERS[name][1] for name in behaviour]) + rng.normal(0, 0.3, len(behaviour))
    noise = np.array([_RATERS[name][2] for name in behaviour])
    item, annotator = assign(N_ITEMS, len(behaviour), LABELS_PER_ITEM, rng)
    rating = truth[item] + bias[annotator] + noise[annotator] * rng.normal(size=len(item))
    annotations = Annotations.from_arrays(
        item, annotator, rating.round(1), items=range(N_ITEMS), annotators=range(len(behaviour)),
        kind="numbers",
    )  # fmt: skip
    return RatingsDemo(x, truth, annotations, behaviour, bias, noise)


@dataclass(frozen=True)
class SentencesDemo:
    """Sentences with the tags of a crowd and the truth, test sentences, and the annotators."""

    labels: TokenLabels
    truth: TaggedSentences
    test: TaggedSentences
    behaviour: AnyArray


def load_sentences_demo(seed: int = 0, n_sentences: int = 400, n_test: int = 200) -> SentencesDemo:
    """400 sentences with tags of 3 out of 15 simulated annotators each, and 200 test sentences.

    Hasty annotators miss half of the entities. Others confuse persons with places, or tag only the
    first word of a name. Careful annotators are mostly right.
    """
    rng = generator(seed, "demo sentences")
    truth, test = _write_sentences(n_sentences, rng), _write_sentences(n_test, rng)
    behaviour = np.repeat(list(_TAGGERS), list(_TAGGERS.values())).astype(object)
    true_t = TAGS.codes(truth.tags)
    token, annotator, label = [], [], []
    for s in range(n_sentences):
        tokens = truth.sentences.tokens_of(s)
        for a in rng.permutation(len(behaviour))[:LABELS_PER_ITEM]:
            token.append(tokens)
            annotator.append(np.full(len(tokens), a))
            label.append(_draw_tags(true_t[tokens], str(behaviour[a]), rng))
    labels = TokenLabels.from_codes(
        truth.sentences, np.concatenate(token), np.concatenate(annotator), np.concatenate(label),
        [f"p{a:02}" for a in range(len(behaviour))], TAGS.names,
    )  # fmt: skip
    return SentencesDemo(labels, truth, test, behaviour)


def _write_sentences(n_sentences: int, rng: np.random.Generator) -> TaggedSentences:
    words: list[list[str]] = []
    tags: list[str] = []
    for pattern in rng.choice(np.array(_PATTERNS), size=n_sentences):
        sentence: list[str] = []
        for word in str(pattern).split():
            name = _draw_name(word, rng)
            sentence += name
            kind = [f"B-{word}"] + [f"I-{word}"] * (len(name) - 1)
            tags += kind if word in TAGS.types else ["O"]
        words.append(sentence)
    return TaggedSentences(Sentences.from_lists(words), object_array(tags))


def _draw_name(word: str, rng: np.random.Generator) -> list[str]:
    """A name of one or two words for a type of entity; other words stay as they are."""
    if word not in TAGS.types:
        return [word]
    first, last = (_FIRST, _LAST) if word == "PER" else (_PLACES, _KINDS)
    return [str(rng.choice(first)), str(rng.choice(last))][: int(rng.integers(1, 3))]


def _draw_tags(true_t: Codes, behaviour: str, rng: np.random.Generator) -> Codes:
    """The tags of one sentence by an annotator of this behaviour."""
    tag_t = true_t.copy()
    starts: Offsets = np.flatnonzero(TAGS.is_begin_k[true_t])
    outside, other = 0, {1: 3, 2: 4, 3: 1, 4: 2}
    for first in starts.tolist():
        end = first + 1
        while end < len(true_t) and TAGS.is_inside_k[true_t[end]]:
            end += 1
        if rng.random() < (0.5 if behaviour == "hasty" else 0.05):
            tag_t[first:end] = outside
        elif rng.random() < (0.6 if behaviour == "mixes types" else 0.02):
            tag_t[first:end] = [other[int(code)] for code in true_t[first:end]]
        elif rng.random() < (0.8 if behaviour == "cuts short" else 0.02):
            tag_t[first + 1 : end] = outside
    return tag_t
