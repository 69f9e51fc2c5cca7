"""Sentence polarity: positive or negative film reviews, 203 people on Mechanical Turk."""

from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.datasets.arrays import as_rows, read_archive, read_codes
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io import read_annotations, read_texts
from manyhands.io.tables import Table

_DIMENSIONS = 300
_RARE = 5  # training sentences that a word must stand in


def load_sentiment(home: Path, features: str) -> Corpus:
    """4999 labelled training sentences and 5789 for testing.

    Features `minilm` are 384-dimensional sentence embeddings; `tfidf` are words and word pairs
    weighted by rarity and reduced to 300 dimensions, fitted on the training sentences alone;
    `words` are counts of the words that stand in five training sentences or more.
    """
    truth = read_codes(home / "Sentiment_Z_train.txt")
    test = Table(home / "test_answer.csv", "csv").select(
        ["Input.original_sentence", "Input.true_sent"]
    )
    test_truth = np.array([int(value) for value in test["Input.true_sent"].to_pylist()])
    if features == "minilm":
        rows = [read_archive(home / "minilm_emb.npz", part) for part in ("train", "test")]
    else:
        texts = read_texts(home / "Sentiment_text_train.txt").tolist()
        made = word_counts if features == "words" else tfidf
        rows = list(made(texts, test["Input.original_sentence"].to_pylist()))
    return Corpus(
        "sentiment",
        rows[0],
        read_annotations(home / "answers.txt", kind="classes"),
        truth,
        Split(rows[1], test_truth),
    )


def tfidf(train: list[str], test: list[str]) -> tuple[AnyArray, AnyArray]:
    """Words and word pairs weighted by rarity, reduced by a singular value decomposition."""
    if not train:
        raise DataError("no training sentences")
    weigh = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    weighed = weigh.fit_transform(train)
    reduce = TruncatedSVD(min(_DIMENSIONS, weighed.shape[1] - 1), random_state=0)
    return as_rows(reduce.fit_transform(weighed)), as_rows(reduce.transform(weigh.transform(test)))


def word_counts(train: list[str], test: list[str]) -> tuple[AnyArray, AnyArray]:
    """How often every word stands in a sentence, of words that are not rare in training."""
    if not train:
        raise DataError("no training sentences")
    count = CountVectorizer(min_df=min(_RARE, len(train)), dtype=np.float32)
    return count.fit_transform(train).toarray(), count.transform(test).toarray()


SENTIMENT = Reader(
    "sentiment",
    "2 polarities, 4999 sentences, 203 annotators",
    ["answers.txt", "Sentiment_Z_train.txt", "test_answer.csv"],
    {
        "minilm": ["minilm_emb.npz"],
        "tfidf": ["Sentiment_text_train.txt"],
        "words": ["Sentiment_text_train.txt"],
    },
    load_sentiment,
)
