"""Classification: a network of class logits, and the noise model behind it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from manyhands.aggregation import Consensus, estimate_confusions
from manyhands.aggregation.evidence import gather_evidence, majority_posterior
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.engine.batches import EVALUATION_BATCH, CrowdBatch, CrowdData, finite_outputs
from manyhands.engine.chains import Chains, log_class
from manyhands.engine.classification_posterior import confusions_of, joint_posterior
from manyhands.engine.features import EncoderOptions, FeatureEncoder
from manyhands.engine.frozen_states import fit_transformer_encoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.task import (
    NEEDS_FEATURES,
    UNKNOWN,
    UNSAID,
    CrowdModule,
    FittedModel,
    Metrics,
    Scores,
    TargetScaler,
    Task,
    torch_threads,
)
from manyhands.engine.text import TextEncoder
from manyhands.evaluation import (
    CROWD_METRICS,
    LabelPredictions,
    accuracy_score,
    crowd_metrics,
    log_loss,
    score_entities,
)
from manyhands.noise import NOISE, NoiseModel, SpeeLFC

_MIN_CONFUSION = 1e-6
_TIED = 1e-9  # probabilities that differ by rounding only


class ClassificationModule(CrowdModule):
    """A network of class logits and a noise model; `targets` (i, k) hold class probabilities.

    If the network has transitions between tags, the tokens of a batch are `Chains`: the loss is
    minus the joint log-likelihood of the labels of a sentence, or the cross-entropy of its tags,
    and class probabilities are the marginals of the tokens.
    """

    stacks = True
    noise: NoiseModel

    @torch.no_grad()
    def profile_annotators(self, crowd: CrowdData) -> None:
        """See `CrowdModule.profile_annotators`."""
        self.eval()
        sums = self.noise.statistics()
        if not sums:
            return
        before = [each.clone() if self.continues else torch.zeros_like(each) for each in sums]
        self.noise.reset_statistics()
        for batch in crowd.evaluated_here(crowd.labelled):
            log_class_bk = log_class(self.network, batch.inputs, batch.places)
            self.noise.update_statistics(log_class_bk, batch.annotations)
        for each, start in zip(sums, before, strict=True):
            each.copy_(crowd.processes.sum(each) + start)

    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """See `CrowdModule.label_log_prob`."""
        _, log_label_nl = self.predict_labels(batch)
        return log_label_nl.gather(1, batch.annotations.label.unsqueeze(1)).squeeze(1)

    def predict_labels(self, batch: CrowdBatch) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the classes of the items (b, k), and of all labels (n, l)."""
        given = batch.annotations
        log_class_bk = log_class(self.network, batch.inputs, batch.places)
        log_label_nl: Tensor = self.noise(log_class_bk, given.row, given.annotator, given.features)
        return log_class_bk, log_label_nl

    @torch.no_grad()
    def label_predictions(self, crowd: CrowdData) -> LabelPredictions:
        """A crowd's labels with their predicted log-probabilities."""
        self.eval()
        log_class_ik, log_label_nl = crowd.collect(self.predict_labels, crowd.labelled)
        ann = crowd.annotations
        return LabelPredictions(
            item=crowd.labelled.astype(np.int32),
            row=np.searchsorted(crowd.labelled, ann.item).astype(np.int32),
            label=ann.label,
            log_class_ik=_floats(log_class_ik),
            log_label_nl=_floats(log_label_nl),
        )

    def validation_scores(self, crowd: CrowdData, monitor: str) -> dict[str, float]:
        """See `CrowdModule.validation_scores`; all criteria are computed where one is asked for."""
        scores = super().validation_scores(crowd, monitor)
        if monitor != "likelihood":
            found = crowd_metrics(self.label_predictions(crowd))
            scores |= {name: found[name] for name in CROWD_METRICS if name != "likelihood"}
        return scores

    def target_loss(self, outputs: Tensor, target_b: Tensor) -> Tensor:
        """See `CrowdModule.target_loss`: -sum_k target_bk log softmax(outputs)_bk, smoothed."""
        return -(self._smoothed(target_b) * outputs.log_softmax(dim=-1)).sum(dim=-1)

    def _smoothed(self, target_bk: Tensor) -> Tensor:
        share = self.label_smoothing  # 0 leaves the targets as they are, to the last bit
        return (1 - share) * target_bk + share / target_bk.shape[-1]

    def _loss(self, outputs: Tensor, batch: CrowdBatch, warm_up_epoch: bool) -> Tensor:
        chains = Chains.of(self.network, outputs, batch.places)
        if chains is None or len(batch.items) == 0:
            return super()._loss(outputs, batch, warm_up_epoch)
        if self.on_targets or warm_up_epoch:
            target_bk = self._smoothed(self.targets[batch.items])
            loss = chains.cross_entropy(target_bk) / len(batch.items)
            return loss * batch.item_weight
        by_items = self.noise.reduction == "items"
        loss = chains.annotation_loss(self.noise, batch.annotations)
        return loss * (batch.item_weight if by_items else batch.label_weight)


class Classification(Task):
    """Labels are classes; annotators have confusions."""

    name = "classification"
    kind = "classes"
    default_method = "conal"
    metrics = Metrics("accuracy", ("log_loss",), "accuracy against the truth")
    module_class = ClassificationModule

    def require_learnable(self, annotations: Annotations) -> None:
        """See `Task.require_learnable`."""
        super().require_learnable(annotations)
        if annotations.n_classes < 2:
            raise DataError(
                f"every label says {annotations.classes.tolist()[0]!r}: with one class there is "
                "nothing to tell apart; name the others with classes="
            )

    def truth_values(self, truth: Any, annotations: Annotations) -> AnyArray | None:
        """Class codes; -1 where the truth of an item is not given."""
        if truth is None:
            return None
        vocabulary = annotations.class_vocabulary
        assert vocabulary is not None, "labels are classes here"
        if not isinstance(truth, Mapping):
            names = list(truth)
            if len(names) != annotations.n_items:
                raise DataError(f"{len(names)} truths for {annotations.n_items} items")
            return np.array([vocabulary.code(name) for name in names])
        codes = np.full(annotations.n_items, -1)
        row = annotations.item_vocabulary.codes(truth)
        for place, name in zip(row, truth.values(), strict=True):
            if place >= 0:
                codes[place] = vocabulary.code(name)
        return codes

    def scored_truths(self, truth: Mapping[Any, Any], annotations: Annotations) -> AnyArray:
        """See `Task.scored_truths`: class codes, `UNSAID` for a class that nobody said."""
        vocabulary = annotations.class_vocabulary
        assert vocabulary is not None, "labels are classes here"
        codes = np.full(annotations.n_items, UNKNOWN)
        row = annotations.item_vocabulary.codes(truth)
        given = vocabulary.codes(truth.values())
        codes[row[row >= 0]] = np.where(given < 0, UNSAID, given)[row >= 0]
        return codes

    def knows_all(self, truth: AnyArray, annotations: Annotations) -> bool:
        """See `Task.knows_all`."""
        return bool(((truth >= 0) & (truth < annotations.n_classes)).all())

    def truth_to_learn(self, truth: AnyArray, annotations: Annotations) -> Any:
        """See `Task.truth_to_learn`: names."""
        return annotations.classes[truth]

    def targets(self, annotations: Annotations) -> Tensor:
        """See `Task.targets`: the label distribution of every item, (i, k)."""
        return _tensor(majority_posterior(gather_evidence(annotations)))

    def module_on_consensus(
        self, network: nn.Module, consensus: Consensus, *, hard: bool
    ) -> ClassificationModule:
        """See `Task.module_on_consensus`; a hard consensus splits ties evenly."""
        target_ik = np.asarray(consensus.probabilities)
        if hard:
            top_ik = target_ik >= target_ik.max(axis=1, keepdims=True) - _TIED
            target_ik = top_ik / top_ik.sum(axis=1, keepdims=True)
        return self._on_targets(network, consensus.annotations, target_ik, consensus.confusion)

    def module_on_truth(
        self, network: nn.Module, annotations: Annotations, truth: AnyArray
    ) -> ClassificationModule:
        """See `Task.module_on_truth`."""
        target_ik = np.eye(annotations.n_classes)[np.maximum(truth, 0)]
        return self._on_targets(network, annotations, target_ik, None)

    def _on_targets(
        self,
        network: nn.Module,
        annotations: Annotations,
        target_ik: Floats,
        confusion_akl: Floats | None,
    ) -> ClassificationModule:
        if confusion_akl is None:
            confusion_akl = estimate_confusions(annotations, target_ik)
        noise = _profiles(annotations, confusion_akl)
        return ClassificationModule(network, noise, _tensor(target_ik), on_targets=True)

    def annotator_model(self, annotations: Annotations, annotators: Any) -> NoiseModel:
        """See `Task.annotator_model`; annotators are confusions (a, k, l)."""
        raised_akl = np.maximum(annotators, _MIN_CONFUSION)
        return _profiles(annotations, raised_akl / raised_akl.sum(axis=-1, keepdims=True))

    def restore_noise(
        self, name: str, settings: Mapping[str, Any], crowd: Annotations, n_features: int
    ) -> NoiseModel:
        """See `Task.restore_noise`."""
        sizes = crowd.n_annotators, crowd.n_classes
        return NOISE[name](*sizes, n_features=n_features, **settings)

    def predictions(self, outputs: Tensor, scaler: TargetScaler) -> Floats:
        """See `Task.predictions`: class probabilities (i, k)."""
        return np.asarray(outputs.softmax(dim=-1).numpy(), dtype=np.float64)

    def posterior(self, model: FittedModel, inputs: Inputs, annotations: Annotations) -> Consensus:
        """See `Task.posterior`."""
        noise: Any = model.noise
        crowd = CrowdData(inputs, annotations, model.device)
        shape, settings = model.encoder.shape, model.settings
        with torch_threads(model.network, shape, EVALUATION_BATCH, settings):
            confusion_akl = confusions_of(noise)
            n_unseen = annotations.n_annotators - len(confusion_akl)
            if n_unseen:
                average_akl = confusion_akl.mean(axis=0, keepdims=True)
                unseen_akl = np.repeat(average_akl, n_unseen, 0)
                confusion_akl = np.concatenate([confusion_akl, unseen_akl])
            posterior_ik = joint_posterior(model.network, noise, crowd, confusion_akl)
            finite_outputs(torch.from_numpy(posterior_ik))
        return Consensus.from_probabilities(
            annotations, posterior_ik, confusion=confusion_akl, cannot_continue=NEEDS_FEATURES
        )

    def _scores(self, truth: AnyArray, predicted: Any, features: Any) -> Scores | None:
        """Scores of class probabilities (i, k)."""
        known = known_truth(truth)
        if predicted is None or not known.any():
            return None
        codes, probability_ik = truth[known], predicted[known]
        # A class that nobody said gets a column of its own, which every method holds impossible.
        wide_ik = np.pad(probability_ik, ((0, 0), (0, 1)))
        return {
            "accuracy": accuracy_score(codes, probability_ik.argmax(axis=1)),
            "log_loss": log_loss(np.where(codes == UNSAID, -1, codes), wide_ik),
        }

    def scored_consensus(self, consensus: Any) -> Any:
        """See `Task.scored_consensus`: class probabilities."""
        return consensus.probabilities


class Tagging(Classification):
    """Labels are the tags of tokens; a network sees whole sentences."""

    name = "tagging"
    default_method = "speelfc"
    defaults = {"batch_size": 1024, "validation_unit": "items"}  # noqa: RUF012 - a constant
    item_noun = "tokens"
    metrics = Metrics("f1", ("precision", "recall"), "F1 of the entities against the truth")

    def fit_encoder(self, features: Any, options: EncoderOptions) -> tuple[FeatureEncoder, Inputs]:
        """See `Task.fit_encoder`."""
        if options.network is not None:
            return fit_transformer_encoder(features, options, tokens=True)
        return TextEncoder.fit_transform(features, options, tokens=True)

    def _scores(self, truth: AnyArray, predicted: Any, features: Any) -> Scores:
        """Scores of the tags of all tokens of the sentences."""
        return score_entities(truth, predicted, features.offsets).as_dict()

    def scored_consensus(self, consensus: Any) -> Any:
        """See `Task.scored_consensus`: the tags of all tokens."""
        return consensus.tags


def known_truth(truth: AnyArray) -> AnyArray:
    """Which truths are known: numbers that are finite, codes that are not `UNKNOWN`.

    Truths that are sets have a row each, whose codes are known or not together.
    """
    known = np.isfinite(truth) if truth.dtype.kind == "f" else np.asarray(truth != UNKNOWN)
    return known if known.ndim == 1 else np.asarray(known.all(axis=1))


def _profiles(annotations: Annotations, confusion_akl: Floats) -> NoiseModel:
    """A noise model that holds these confusions."""
    noise = SpeeLFC(annotations.n_annotators, annotations.n_classes)
    return noise.init_from_confusions(confusion_akl)


def _tensor(array: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).float()


def _floats(tensor: Tensor) -> Floats:
    return np.asarray(tensor.cpu().double().numpy(), dtype=np.float64)
