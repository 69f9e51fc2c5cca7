"""A tagger trained from the disagreeing tags of a crowd."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from manyhands.aggregation import TokenConsensus, aggregate_tokens
from manyhands.aggregation.kernels.linear_chain import Transitions, expect
from manyhands.aggregation.tokens import decode_tokens
from manyhands.annotations import (
    Annotations,
    Labels,
    Sentences,
    TaggedSentences,
    TagScheme,
    TokenLabels,
    align_to_tokens,
    decode_bio,
    decode_chain,
    is_frame,
)
from manyhands.annotations.tags import is_bio_tag
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import setting
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TaggingOptions
from manyhands.engine.task import FittedModel, predict_outputs
from manyhands.engine.text import as_sentences
from manyhands.estimators.base import Callback, document
from manyhands.estimators.classifier import ConfusionEstimator
from manyhands.estimators.cross_fitting import (
    cross_fitted_posterior,
    draw_folds,
    n_folds,
    with_warning,
)
from manyhands.estimators.labels import require_annotations
from manyhands.evaluation import score_entities
from manyhands.methods import METHODS, Method
from manyhands.networks.tag_transitions import FORBIDDEN, transitions_of

Tags = TaggedSentences | Sequence[Sequence[str]] | AnyArray


@document
@dataclass(eq=False, repr=False)
class CrowdTagger(ConfusionEstimator, TaggingOptions):
    """A network that learns a tag for every token from many imperfect annotators.

    `fit(X, annotations)`: X are sentences (`Sentences`, or a list of words for each), and the
    tokens of all sentences, in order, are the items of the annotations. `TokenLabels`, as
    `read_conll` returns them, hold both: `fit(labels, labels)`.

    Examples
    --------
    >>> sentences = [["Anna", "sang"], ["Anna", "ran"], ["he", "sang"], ["he", "ran"]]
    >>> tags = ["B-PER", "O", "B-PER", "O", "O", "O", "O", "O"]
    >>> ann = Annotations.from_arrays(list(range(8)) * 2, [0] * 8 + [1] * 8, tags * 2)
    >>> tagger = CrowdTagger(epochs=30, learning_rate=0.01, progress=False)
    >>> tagger.fit(sentences, ann).predict([["Anna", "ran"]])
    [['B-PER', 'O']]
    """

    task = "tagging"
    method: str | Method = setting(
        "speelfc",
        "A name of `METHODS` that is for tagging: every noise model, em, the doctor nets, the "
        "two-stage methods and crf-ma.",
    )

    def fit(
        self,
        X: Any,
        y: Labels | TokenLabels,
        *,
        truth: Tags | None = None,
        resume: bool = False,
        callback: Callback | None = None,
    ) -> "CrowdTagger":
        """Train on sentences and the tags of annotators, and return `self`.

        `truth` is only for the method "truth": the tags of all sentences. `resume` and `callback`
        are as in `CrowdClassifier.fit`; probabilities are of all tokens.
        """
        tags = None if truth is None else flat_tags(truth, as_sentences(X))
        self._fit(X, token_annotations(y, X), truth=tags, resume=resume, callback=callback)
        return self

    def predict(self, X: Any) -> list[list[str]]:
        """The tags of every sentence."""
        sentences = as_sentences(X)
        names = self._names(sentences)
        cut = np.split(names, sentences.offsets[1:-1])
        return [[str(name) for name in tags] for tags in cut] if len(sentences) else []

    def scored_predictions(self, X: Any) -> list[str]:
        """The tags of all tokens in order."""
        return [tag for tags in self.predict(X) for tag in tags]

    def score(self, X: Any, y: Tags | Labels | TokenLabels) -> float:
        """F1 of the entities by exact span and type; the accuracy for tags that are not BIO.

        `y` are the true tags: a list for every sentence, `TaggedSentences`, or the tags of all
        tokens in order. With labels of a crowd it is their majority, which is not the truth but all
        there is without it; sentences with a token nobody labelled do not count.
        """
        sentences = as_sentences(X)
        if isinstance(y, Annotations | TokenLabels) or is_frame(y):
            sentences, y = _majority_tags(sentences, token_annotations(y, X))
        truth, found = flat_tags(y, sentences), self._names(sentences)
        if all(is_bio_tag(str(name)) for name in self.classes_):
            return score_entities(truth, found, sentences.offsets).f1
        return float(np.mean(truth.astype(str) == found.astype(str)))

    def infer(
        self, X: Any, y: Labels | TokenLabels, *, cross_fit: bool | int = False
    ) -> TokenConsensus:
        """The consensus of network and labels about labelled tokens, and its entities.

        Unseen annotators are taken as average ones; nothing is learnt from these labels.
        `cross_fit` is as in `CrowdClassifier.infer`; folds are made of whole sentences.
        """
        sentences, folds = as_sentences(X), n_folds(cross_fit)
        if folds:
            labels, sentence_t = token_annotations(y, X), sentences.sentence_of_token
            is_labelled_t = labels.labels_per_item > 0
            labelled_s = np.bincount(sentence_t[is_labelled_t], minlength=len(sentences)) > 0
            fold_s = draw_folds(labelled_s, folds, self.seed)
            found = cross_fitted_posterior(self, sentences, labels, fold_s[sentence_t])
            return decode_tokens(sentences, found)
        inputs, annotations = self._encode(X, y, None)
        found = self._posterior(inputs, annotations)
        found = with_warning(found, annotations, getattr(self, "trained_on_", None))
        return decode_tokens(sentences, found)

    def _transitions(self, method: Method) -> str:
        if self.transitions != "none" and not method.takes_transitions:
            known = [
                name
                for name, each in METHODS.items()
                if each.takes_transitions and self.task in each.tasks
            ]
            raise SettingError(
                f"transitions must be 'none' for the method {self._method_text()}; got "
                f"{self.transitions!r}; methods with transitions: {', '.join(known)}"
            )
        return self.transitions

    def _predicted_by(self, model: FittedModel, features: Any) -> Floats:
        chain = chain_scores(model.network)
        if chain is None:
            return super()._predicted_by(model, features)
        sentences = as_sentences(features)
        return expect(self._scores_of(model, sentences), sentences.offsets, chain).marginal_tk

    def _scores_of(self, model: FittedModel, sentences: Sentences) -> Floats:
        """The outputs of the network for all tokens."""
        inputs = model.encoder.transform(sentences)
        outputs = predict_outputs(model.network, inputs, model.device, model.settings)
        return np.asarray(outputs.numpy(), dtype=np.float64)

    def _names(self, sentences: Sentences) -> AnyArray:
        """The tag of every token."""
        return np.asarray(self.classes_[self._codes(sentences, self.predict_proba(sentences))])

    def _codes(self, X: Any, probability_tk: Floats) -> AnyArray:
        """The tag that is predicted for every token; valid BIO unless this is turned off.

        With transitions these are the tags of the most probable sequence of every sentence.
        """
        chain = chain_scores(self.network_)
        if chain is not None:
            sentences = as_sentences(X)
            score_tk = self._scores_of(self._fitted(), sentences)
            tags = TagScheme.of(self.classes_).names if self.valid_bio else None
            return decode_chain(score_tk, sentences.offsets, *chain, tags)
        if not self.valid_bio:
            return super()._codes(X, probability_tk)
        names = TagScheme.of(self.classes_).names
        with np.errstate(divide="ignore"):
            return decode_bio(np.log(probability_tk), as_sentences(X).offsets, names)

    def _encode(
        self, features: Any, labels: Any, items: Iterable[Any] | None
    ) -> tuple[Inputs, Annotations]:
        return super()._encode(features, token_annotations(labels, features), items)


def chain_scores(network: nn.Module) -> Transitions | None:
    """The scores of tags that follow each other; None for a network without transitions."""
    links = transitions_of(network)
    if links is None:
        return None
    scores = (np.asarray(each.detach().cpu().double().numpy()) for each in links.scores())
    pair_kk, start_k, end_k = (np.where(each <= FORBIDDEN, -np.inf, each) for each in scores)
    return Transitions(pair_kk, start_k, end_k)


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


def _majority_tags(sentences: Sentences, labels: Annotations) -> tuple[Sentences, AnyArray]:
    """The sentences whose tokens all have labels, and the majority tags of these."""
    is_bare_t = labels.labels_per_item == 0
    whole = np.setdiff1d(np.arange(len(sentences)), sentences.sentence_of_token[is_bare_t])
    if len(whole) == 0:
        raise DataError("not one sentence has labels of all its tokens to score against")
    kept = sentences[whole]
    return kept, aggregate_tokens(kept, labels[sentences.tokens_of(whole)], "majority").tags


def token_annotations(labels: Any, features: Any) -> Annotations:
    """Labels whose items are the tokens of these sentences."""
    sentences = as_sentences(features)
    if isinstance(labels, TokenLabels):
        if labels.sentences.lengths.tolist() != sentences.lengths.tolist():
            raise DataError("the labels have other sentences, or of other lengths, than X")
        return labels.annotations
    return align_to_tokens(sentences, require_annotations(labels))
