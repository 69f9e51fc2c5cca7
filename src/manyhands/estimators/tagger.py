"""A tagger trained straight from the disagreeing tags of a crowd."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.aggregation import TokenConsensus, aggregate_tokens, decoded_tokens
from manyhands.annotations import (
    Annotations,
    Sentences,
    TaggedSentences,
    TagScheme,
    TokenLabels,
    align_to_tokens,
    decode_bio,
    is_bio_tag,
)
from manyhands.core.arrays import AnyArray, Codes
from manyhands.core.errors import DataError
from manyhands.engine.inputs import Inputs
from manyhands.estimators.alignment import require_annotations
from manyhands.estimators.class_base import ClassEstimator
from manyhands.estimators.crf_encoder import CrfEncoder
from manyhands.estimators.feature_encoder import Callback, Reader
from manyhands.estimators.new_network import Network
from manyhands.estimators.text_encoder import TextEncoder, Vectors, as_sentences
from manyhands.evaluation import score_entities
from manyhands.methods import CrfMa, Method

Tags = TaggedSentences | Sequence[Sequence[str]] | AnyArray


class CrowdTagger(ClassEstimator):
    """A network that learns a tag for every token from many imperfect annotators.

    `fit(X, annotations)`: X are sentences (`Sentences`, or a list of words for each), and the
    tokens of all sentences, in order, are the items of the annotations. `TokenLabels`, as
    `read_conll` gives them, hold both: `fit(labels, labels.annotations)`.

    Parameters
    ----------
    network:
        None for word vectors, a convolution and a GRU (`Tagger`); a torch module that takes codes
        of words as `Tagger` does, of which a copy is trained; or a function of (shape of the table
        of words, number of tags) that makes one.
    method:
        a name of `METHODS` that is for tags: every noise model, "em", the doctor nets, the
        two-stage methods and "crf-ma".
    word_vectors:
        the vectors that words start from: a file of GloVe's format or an .npz
        (`read_word_vectors`). With `freeze_embeddings` they are not learnt, and words that training has
        not seen are known by theirs.
    valid:
        decode tags so that every I-X follows a B-X or an I-X.
    batch_size:
        tokens of a step, about; sentences stay whole.

    The others are as in `CrowdClassifier`.

    >>> sentences = [["Anna", "sang"], ["Anna", "ran"], ["he", "sang"], ["he", "ran"]]
    >>> tags = ["B-PER", "O", "B-PER", "O", "O", "O", "O", "O"]
    >>> ann = Annotations.from_arrays(list(range(8)) * 2, [0] * 8 + [1] * 8, tags * 2)
    >>> tagger = CrowdTagger(epochs=30, learning_rate=0.01, progress=False)
    >>> tagger.fit(sentences, ann).predict([["Anna", "ran"]])
    [['B-PER', 'O']]
    """

    task = "tags"
    scale = "none"

    def __init__(
        self,
        network: Network | None = None,
        method: str | Method = "speelfc",
        *,
        noise: Mapping[str, Any] | None = None,
        init: str | None = None,
        word_vectors: Vectors | None = None,
        freeze_embeddings: bool = False,
        valid: bool = True,
        epochs: int | None = None,
        batch_size: int | None = 1024,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        noise_learning_rate: float | None = None,
        noise_weight_decay: float | None = None,
        warm_up: int | None = None,
        max_grad_norm: float | None = None,
        schedule: str | None = None,
        sam_rho: float | None = None,
        validation_fraction: float | None = None,
        patience: int | None = None,
        validation_unit: str | None = "items",
        monitor: str | None = None,
        refit: bool | None = None,
        sparse: bool | None = None,
        device: str = "auto",
        devices: int = 1,
        precision: str = "32",
        threads: int | None = None,
        seed: int = 0,
        checkpoint: str | Path | None = None,
        progress: bool = True,
    ) -> None:
        self.network = network
        self.method = method
        self.noise = noise
        self.init = init
        self.word_vectors = word_vectors
        self.freeze_embeddings = freeze_embeddings
        self.valid = valid
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.noise_learning_rate = noise_learning_rate
        self.noise_weight_decay = noise_weight_decay
        self.warm_up = warm_up
        self.max_grad_norm = max_grad_norm
        self.schedule = schedule
        self.sam_rho = sam_rho
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.validation_unit = validation_unit
        self.monitor = monitor
        self.refit = refit
        self.sparse = sparse
        self.device = device
        self.devices = devices
        self.precision = precision
        self.threads = threads
        self.seed = seed
        self.checkpoint = checkpoint
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Annotations | TokenLabels,
        *,
        truth: Tags | None = None,
        resume: bool = False,
        callback: Callback | None = None,
    ) -> "CrowdTagger":
        """Train on sentences and the tags people gave their tokens; `self`.

        `truth` is only for the method "truth": the tags of all sentences. `resume` and `watch` are
        as in `CrowdClassifier.fit`; probabilities are of all tokens.
        """
        tags = None if truth is None else flat_tags(truth, as_sentences(X))
        self._learn(X, _labels(y, X), None, tags, resume, callback)
        return self

    def predict(self, X: Any) -> list[list[str]]:
        """The tags of every sentence."""
        sentences = as_sentences(X)
        codes = self._codes(sentences)
        names = self.classes_[codes]
        alignment = np.split(names, sentences.offsets[1:-1])
        return [[str(name) for name in tags] for tags in alignment] if len(sentences) else []

    def score(self, X: Any, y: Tags | Annotations | TokenLabels) -> float:
        """F1 of the entities, by exact span and type; of tags that are not BIO, the share right.

        `y` are the true tags: a list for every sentence, `TaggedSentences`, or the tags of all
        tokens in order. With labels of a crowd it is what most people said, which is not the truth
        but all there is without it (sentences with a token nobody labelled do not count).
        """
        sentences = as_sentences(X)
        if isinstance(y, Annotations | TokenLabels):
            sentences, y = _said_by_most(sentences, _labels(y, X))
        codes = self._codes(sentences)
        wanted, found = flat_tags(y, sentences), self.classes_[codes]
        if all(is_bio_tag(str(name)) for name in self.classes_):
            return score_entities(wanted, found, sentences.offsets).f1
        return float(np.mean(wanted.astype(str) == found.astype(str)))

    def infer(self, X: Any, y: Annotations | TokenLabels) -> TokenConsensus:
        """What network and labels together say of labelled tokens, and the entities this makes.

        Annotators not seen in training are taken for average ones; nothing is learnt from these
        labels.
        """
        return decoded_tokens(as_sentences(X), self._infer(*self._seen(X, y, None)))

    def _codes(self, sentences: Sentences) -> Codes:
        """The tag of every token, as a place in `classes_`."""
        probability_tk = self.predict_proba(sentences)
        if not self.valid:
            return np.asarray(probability_tk.argmax(axis=1), dtype=np.int32)
        names = TagScheme.of(self.classes_).names
        with np.errstate(divide="ignore"):
            return decode_bio(np.log(probability_tk), sentences.offsets, names)

    def _seen(
        self, features: Any, labels: Any, items: Iterable[Any] | None
    ) -> tuple[Inputs, Annotations]:
        return super()._seen(features, _labels(labels, features), items)

    def _read(self, features: Any) -> tuple[Inputs, Reader | None]:
        if isinstance(self._method(), CrfMa):
            chain = CrfEncoder.learn(features)
            return chain(features), chain
        reader = TextEncoder.learn(
            features, self.word_vectors, tokens=True, fixed=self.freeze_embeddings, seed=self.seed
        )
        return reader(features), reader


def flat_tags(tags: Tags, sentences: Sentences) -> AnyArray:
    """The tags of all tokens in order, one for each."""
    if isinstance(tags, TaggedSentences):
        tags = tags.tags
    if len(tags) and not isinstance(tags[0], str):
        if [len(each) for each in tags] != sentences.lengths.tolist():
            raise DataError("the true tags have other sentences, or of other lengths, than X")
        tags = [tag for each in tags for tag in each]
    if len(tags) != sentences.n_tokens:
        raise DataError(f"{len(tags)} true tags for {sentences.n_tokens} tokens")
    return np.array([*(str(tag) for tag in tags), None], dtype=object)[:-1]


def _said_by_most(sentences: Sentences, labels: Annotations) -> tuple[Sentences, AnyArray]:
    """The sentences whose tokens all have labels, and the tags that most people gave these."""
    is_bare_t = labels.labels_per_item == 0
    whole = np.setdiff1d(np.arange(len(sentences)), sentences.sentence_of_token[is_bare_t])
    if len(whole) == 0:
        raise DataError("not one sentence has labels of all its tokens to score against")
    kept = sentences[whole]
    return kept, aggregate_tokens(kept, labels[sentences.tokens_of(whole)], "majority").tags


def _labels(labels: Any, features: Any) -> Annotations:
    """Labels with the tokens of these sentences as items."""
    sentences = as_sentences(features)
    if isinstance(labels, TokenLabels):
        if labels.sentences.lengths.tolist() != sentences.lengths.tolist():
            raise DataError("the labels have other sentences, or of other lengths, than X")
        return labels.annotations
    return align_to_tokens(sentences, require_annotations(labels))
