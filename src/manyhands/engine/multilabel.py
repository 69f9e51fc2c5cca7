"""Labels that are sets: a network with a logit per class, and the annotators behind it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from scipy import special
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from manyhands.aggregation import Consensus, SetConsensus
from manyhands.aggregation.evidence import gather_evidence
from manyhands.aggregation.kernels.set_pass import sum_evidence
from manyhands.aggregation.multilabel import shares_of_items
from manyhands.aggregation.set_consensus import decide
from manyhands.aggregation.set_profiles import estimate_set_confusions
from manyhands.annotations import Annotations, Vocabulary
from manyhands.annotations.label_sets import set_members
from manyhands.annotations.set_cells import parse_set
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import DataError
from manyhands.engine.batches import CrowdBatch, CrowdData
from manyhands.engine.classification import known_truth
from manyhands.engine.inputs import Inputs
from manyhands.engine.task import (
    NEEDS_FEATURES,
    CrowdModule,
    FittedModel,
    Metrics,
    Scores,
    TargetScaler,
    Task,
    predict_outputs,
)
from manyhands.evaluation import set_scores
from manyhands.networks.calling import call_network
from manyhands.noise import MultilabelLayer

_UNKNOWN = -1  # of every class, in the row of an item whose truth is not known
_LEAST = 1e-30  # so that its logarithm is finite
_SCORES = ("f1_macro", "f1_micro", "exact_match", "jaccard", "masi", "hamming_loss", "log_loss")


class MultilabelModule(CrowdModule):
    """A network with a logit per class, and a `MultilabelLayer`.

    `targets` (i, k) hold the probabilities that classes apply, which the network learns by the
    binary cross-entropy of every class.
    """

    noise: MultilabelLayer

    def profile_annotators(self, crowd: CrowdData) -> None:
        """See `CrowdModule.profile_annotators`: the layer holds the profiles."""

    def label_log_prob(self, batch: CrowdBatch) -> Tensor:
        """See `CrowdModule.label_log_prob`: log P of whole sets."""
        outputs = call_network(self.network, batch.inputs).float()
        return self.noise.label_log_prob(outputs, batch.annotations)

    def target_loss(self, outputs: Tensor, target_b: Tensor) -> Tensor:
        """See `CrowdModule.target_loss`: the sum over classes."""
        loss_bk = binary_cross_entropy_with_logits(outputs, target_b, reduction="none")
        return loss_bk.sum(dim=-1)


class Multilabel(Task):
    """Labels are sets of classes; annotators have a sensitivity and a specificity for each."""

    name = "multilabel"
    kind = "multilabel"
    default_method = "multilabel-layer"
    metrics = Metrics(_SCORES[0], _SCORES[1:4], "macro F1 against the truth")
    module_class = MultilabelModule

    def truth_values(self, truth: Any, annotations: Annotations) -> AnyArray | None:
        """Which classes apply (i, k), 1 or 0; rows of -1 where the truth is not given."""
        if truth is None:
            return None
        rows, sets = _given(truth, annotations)
        members_ik = np.full((annotations.n_items, annotations.n_classes), _UNKNOWN)
        members_ik[rows] = _sets(annotations).members(sets)
        return members_ik

    def scored_truths(self, truth: Mapping[Any, Any], annotations: Annotations) -> AnyArray:
        """See `Task.scored_truths`: a column for every class that nobody said comes last."""
        rows, sets = _given(truth, annotations)
        vocabulary = _sets(annotations)
        parsed = [parse_set(each, vocabulary.separator) for each in sets]
        named = dict.fromkeys(name for each in parsed for name in each)
        every = vocabulary.classes.extended(Vocabulary.of(named, "class"))
        members_ik = np.full((annotations.n_items, len(every)), _UNKNOWN)
        members_ik[rows] = 0
        for row, names in zip(rows.tolist(), parsed, strict=True):
            members_ik[row, every.codes(names)] = 1
        return members_ik

    def knows_all(self, truth: AnyArray, annotations: Annotations) -> bool:
        """See `Task.knows_all`."""
        return bool((truth >= 0).all() and not (truth[:, annotations.n_classes :] > 0).any())

    def truth_to_learn(self, truth: AnyArray, annotations: Annotations) -> Any:
        """See `Task.truth_to_learn`: {item: its classes, but for those that nobody said}."""
        names = annotations.classes
        return {
            annotations.items[i]: names[truth[i, : len(names)] == 1].tolist()
            for i in np.flatnonzero(known_truth(truth)).tolist()
        }

    def targets(self, annotations: Annotations) -> Tensor:
        """See `Task.targets`: the share of every item's labels that have a class, (i, k)."""
        return _tensor(shares_of_items(gather_evidence(annotations)))

    def module_on_consensus(
        self, network: nn.Module, consensus: Consensus, *, hard: bool
    ) -> MultilabelModule:
        """See `Task.module_on_consensus`; a hard consensus has a class or has it not."""
        applies_ik = np.asarray(consensus.probabilities)
        target_ik = decide(applies_ik)[0].astype(np.float64) if hard else applies_ik
        return _on_targets(network, consensus.annotations, target_ik, consensus.confusion)

    def module_on_truth(
        self, network: nn.Module, annotations: Annotations, truth: AnyArray
    ) -> MultilabelModule:
        """See `Task.module_on_truth`."""
        return _on_targets(network, annotations, np.maximum(truth, 0).astype(np.float64), None)

    def annotator_model(self, annotations: Annotations, annotators: Any) -> MultilabelLayer:
        """See `Task.annotator_model`; annotators are confusions (a, k, z, y)."""
        layer = MultilabelLayer(annotations.n_annotators, annotations.n_classes)
        return layer.init_from_confusions(annotators)

    def restore_noise(
        self, name: str, settings: Mapping[str, Any], crowd: Annotations, n_features: int
    ) -> MultilabelLayer:
        """See `Task.restore_noise`."""
        return MultilabelLayer(crowd.n_annotators, crowd.n_classes, **settings)

    def predictions(self, outputs: Tensor, scaler: TargetScaler) -> Floats:
        """See `Task.predictions`: the probabilities that classes apply (i, k)."""
        return np.asarray(outputs.sigmoid().numpy(), dtype=np.float64)

    def posterior(self, model: FittedModel, inputs: Inputs, annotations: Annotations) -> Consensus:
        """See `Task.posterior`."""
        noise: Any = model.noise
        outputs = predict_outputs(model.network, inputs, model.device, model.settings).numpy()
        n_unseen = annotations.n_annotators - noise.n_annotators
        confusion_akzy = _with_average(noise.confusion(), n_unseen)
        usual_az = _with_average(noise.usual_rates(), n_unseen)
        log_p_ikz = sum_evidence(
            annotations.item_offsets, annotations.annotator, annotations.label,
            set_members(annotations), np.log(np.maximum(confusion_akzy, _LEAST)),
        )  # fmt: skip
        applies_ik = special.expit(outputs + log_p_ikz[..., 1] - log_p_ikz[..., 0])
        traits = {"sensitivity": usual_az[:, 1], "specificity": usual_az[:, 0]}
        return SetConsensus.from_probabilities(
            annotations, applies_ik, confusion=confusion_akzy, annotator_traits=traits,
            cannot_continue=NEEDS_FEATURES,
        )  # fmt: skip

    def _scores(self, truth: AnyArray, predicted: Any, features: Any) -> Scores | None:
        """Scores of the probabilities that classes apply (i, k)."""
        known = known_truth(truth)
        if predicted is None or not known.any():
            return None
        truth_ik, applies_ik = truth[known] == 1, predicted[known]
        # Of a class that nobody said, every method says that it does not apply.
        wide_ik = np.pad(applies_ik, ((0, 0), (0, truth_ik.shape[1] - applies_ik.shape[1])))
        names = list(range(truth_ik.shape[1]))
        return set_scores(truth_ik, decide(wide_ik)[0], wide_ik, names).as_dict()

    def scored_consensus(self, consensus: Any) -> Any:
        """See `Task.scored_consensus`: the probabilities that classes apply."""
        return consensus.probabilities


def _on_targets(
    network: nn.Module,
    annotations: Annotations,
    target_ik: Floats,
    confusion_akzy: Floats | None,
) -> MultilabelModule:
    """A module that trains the network on targets; profiles are against them by default."""
    if confusion_akzy is None:
        confusion_akzy = estimate_set_confusions(annotations, target_ik)
    layer = MultilabelLayer(annotations.n_annotators, annotations.n_classes)
    layer.init_from_confusions(confusion_akzy)
    return MultilabelModule(network, layer, _tensor(target_ik), on_targets=True)


def _with_average(rates: Tensor, n_unseen: int) -> Floats:
    """The rates of annotators (a, ...), and those of an average one for the unseen."""
    rates_a = np.asarray(rates.double().cpu().numpy())
    return np.concatenate([rates_a, np.repeat(rates_a.mean(axis=0, keepdims=True), n_unseen, 0)])


def _given(truth: Any, annotations: Annotations) -> tuple[AnyArray, list[Any]]:
    """The rows of items whose truth is given, and their sets."""
    if not isinstance(truth, Mapping):
        sets = list(truth)
        if len(sets) != annotations.n_items:
            raise DataError(f"{len(sets)} truths for {annotations.n_items} items")
        return np.arange(len(sets)), sets
    row = annotations.item_vocabulary.codes(truth)
    kept = zip(row.tolist(), truth.values(), strict=True)
    return row[row >= 0], [each for place, each in kept if place >= 0]


def _sets(annotations: Annotations) -> Any:
    return annotations.class_vocabulary


def _tensor(array: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).float()
