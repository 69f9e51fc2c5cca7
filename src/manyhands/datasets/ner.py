"""CoNLL-2003 entities: newswire sentences with tags of 47 workers of Mechanical Turk."""

from pathlib import Path

import numpy as np

from manyhands.annotations import TagScheme
from manyhands.core.errors import DataError
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io import read_bio, read_conll

TAGS = TagScheme.of_types(("LOC", "MISC", "ORG", "PER")).names


def load_ner(home: Path, features: str) -> Corpus:
    """3078 tagged training sentences and 3250 for testing; items are tokens.

    Features are `Sentences`; truth and annotations follow the order of their tokens. The tags of
    the crowd are kept as given, including orphan tags.
    """
    crowd = read_conll(home / "answers_union.txt", tags=TAGS)
    truth = read_bio(home / "gold_union.txt", tags=TAGS)
    test = read_bio(home / "test_3250.bio", tags=TAGS)
    same = np.array_equal(crowd.sentences.offsets, truth.sentences.offsets)
    if not same or not np.array_equal(crowd.sentences.word, truth.sentences.word):
        raise DataError(
            f"{home}: answers_union.txt and gold_union.txt differ in tokens or sentences; "
            "use files of one release"
        )
    held_out = Split(test.sentences, test.tags)
    return Corpus("ner", crowd.sentences, crowd.annotations, truth.tags, held_out)


NER = Reader(
    "ner",
    "4 types of entities, 3078 sentences, 47 annotators",
    ["answers_union.txt", "gold_union.txt", "test_3250.bio"],
    {"words": []},
    load_ner,
)
