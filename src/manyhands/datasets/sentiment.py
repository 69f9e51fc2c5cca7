"""Sentence polarity: sentences of film reviews with labels of 203 workers of Mechanical Turk."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from manyhands.core.arrays import AnyArray, object_array
from manyhands.core.errors import DataError
from manyhands.datasets.arrays import as_rows, read_codes, read_npz
from manyhands.datasets.corpus import Corpus, Reader, Split
from manyhands.io import read_annotations, read_texts
from manyhands.io.tables import Table

_SENTENCE, _TRUTH = "Input.original_sentence", "Input.true_sent"
_DIMENSIONS = 300
_MIN_SENTENCES = 5  # training sentences that contain a word


def load_sentiment(home: Path, features: str) -> Corpus:
    """4999 labelled training sentences and 5789 for testing.

    Features `minilm` are 384-dimensional sentence embeddings; `tfidf` are TF-IDF weights of words
    and word pairs, reduced to 300 dimensions and fitted on the training sentences; `words` are the
    counts of the words that occur in at least five training sentences; `texts` are the sentences.
    """
    truth = read_codes(home / "Sentiment_Z_train.txt")
    test = Table(home / "test_answer.csv", "csv").select([_SENTENCE, _TRUTH])
    test_truth = np.array([int(value) for value in test[_TRUTH].to_pylist()])
    if features == "minilm":
        rows = [as_rows(read_npz(home / "minilm_emb.npz", part)) for part in ("train", "test")]
    else:
        texts = read_texts(home / "Sentiment_text_train.txt").tolist()
        if not texts:
            raise DataError("there are no training sentences; the file of texts is empty")
        rows = VECTORIZERS[features](texts, test[_SENTENCE].to_pylist())
    return Corpus(
        "sentiment",
        rows[0],
        read_annotations(home / "answers.txt", kind="classes"),
        truth,
        Split(rows[1], test_truth),
    )


def tfidf(train: list[str], *others: list[str]) -> list[AnyArray]:
    """TF-IDF weights of words and word pairs, reduced by a singular value decomposition."""
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    weights = vectorizer.fit_transform(train)
    svd = TruncatedSVD(min(_DIMENSIONS, weights.shape[1] - 1), random_state=0)
    reduced = as_rows(svd.fit_transform(weights))
    return [reduced, *(as_rows(svd.transform(vectorizer.transform(each))) for each in others)]


def word_counts(train: list[str], test: list[str]) -> list[AnyArray]:
    """Word counts of each sentence, for words that are not rare in the training sentences."""
    vectorizer = CountVectorizer(min_df=min(_MIN_SENTENCES, len(train)), dtype=np.float32)
    return [vectorizer.fit_transform(train).toarray(), vectorizer.transform(test).toarray()]


def plain_texts(*texts: list[str]) -> list[AnyArray]:
    """The sentences as they are, an array of strings each."""
    return [object_array(each) for each in texts]


# Features of texts; more lists of texts are encoded as the first one.
VECTORIZERS: Mapping[str, Callable[..., list[AnyArray]]] = {
    "tfidf": tfidf,
    "words": word_counts,
    "texts": plain_texts,
}

SENTIMENT = Reader(
    "sentiment",
    "2 polarities, 4999 sentences, 203 annotators",
    ["answers.txt", "Sentiment_Z_train.txt", "test_answer.csv"],
    {
        "minilm": ["minilm_emb.npz"],
        "tfidf": ["Sentiment_text_train.txt"],
        "words": ["Sentiment_text_train.txt"],
        "texts": ["Sentiment_text_train.txt"],
    },
    load_sentiment,
)
