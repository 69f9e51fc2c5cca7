"""The scores of a trained model."""

import numpy as np
from torch.nn import Module

from manyhands import evaluation
from manyhands.core.arrays import Floats
from manyhands.estimators import CrowdClassifier
from manyhands.experiments.data import ExperimentData
from manyhands.noise import Mixture
from manyhands.selection import Trial, scores_of

_UNKNOWN = -1  # the truth of an item whose truth is not known


def measure(data: ExperimentData, model: CrowdClassifier) -> dict[str, float]:
    """Every score that the data allow, by name; those of groups with the largest group first."""
    trial = data.trial
    scores = scores_of(trial, model) | {"epochs": float(model.epoch_)}
    if trial.test_features is not None and trial.test_truth is not None:
        predicted_ik = model.predict_proba(trial.test_features)
        known = trial.test_truth >= 0
        scores["f1"] = evaluation.f1_score(
            trial.test_truth[known], predicted_ik.argmax(axis=1)[known]
        )
        if data.label_shares is not None:
            scores["cross-entropy"] = evaluation.soft_cross_entropy(data.label_shares, predicted_ik)
    if trial.truth is not None and (trial.truth >= 0).all():
        scores |= _against_truth(trial, model)
    noise = model.noise_
    scores["noise-parameters"] = float(sum(each.numel() for each in noise.parameters()))
    scores["layer-parameters"] = float(noise.n_layer_parameters)
    for name, value_m in groups_of(noise).items():
        if name != "confusion":
            scores |= {f"{name}-{m}": float(value) for m, value in enumerate(value_m, 1)}
    return scores


def true_counts(trial: Trial) -> Floats:
    """How often each annotator gave each label to items of each true class; shape (a, k, l)."""
    ann = trial.annotations
    assert trial.truth is not None
    return evaluation.confusion_counts(
        ann.annotator, trial.truth[ann.item], ann.label, ann.n_annotators, ann.n_classes
    )


def _against_truth(trial: Trial, model: CrowdClassifier) -> dict[str, float]:
    """Scores on the labelled items: predicted classes, and estimated confusions."""
    assert trial.truth is not None
    predicted = model.predict_proba(trial.features).argmax(axis=1)
    counts_akl = true_counts(trial)
    seen_a = trial.annotations.labels_per_annotator > 0
    true_akl, estimated_akl = (
        evaluation.normalize_counts(counts_akl[seen_a]),
        model.confusion_[seen_a],
    )
    return {
        "train-accuracy": evaluation.accuracy_score(trial.truth, predicted),
        "i-js": evaluation.individual_js(estimated_akl, true_akl),
        "g-js": evaluation.global_js(estimated_akl, counts_akl[seen_a]),
    }


def groups_of(noise: Module) -> dict[str, Floats]:
    """Each group's confusion, prevalence, similarity to the identity and entropy in nats.

    The largest group is the first. A noise model without groups has nothing.
    """
    if not isinstance(noise, Mixture):
        return {}
    share_m = noise.log_weights().detach().exp()[0].double().cpu().numpy()
    order = np.argsort(-share_m, kind="stable")
    group_mkl = noise.group_confusion().double().cpu().numpy()[order]
    return {
        "confusion": group_mkl,
        "prevalence": share_m[order],
        "identity-similarity": evaluation.identity_similarity(group_mkl),
        "entropy": evaluation.confusion_entropy(group_mkl) * np.log(group_mkl.shape[-1]),
    }


def accuracies_of_annotators(trial: Trial) -> Floats:
    """The share of each annotator's labels that are right, among items with known truth.

    It is not a number for an annotator without such items.
    """
    assert trial.truth is not None
    truth_n = trial.truth[trial.annotations.item]
    right_n = np.where(truth_n == _UNKNOWN, np.nan, truth_n == trial.annotations.label)
    return _means_of_annotators(trial, right_n)


def biases_of_annotators(trial: Trial) -> Floats:
    """The mean of label minus truth of each annotator, where labels are numbers."""
    assert trial.truth is not None
    return _means_of_annotators(
        trial, trial.annotations.label - trial.truth[trial.annotations.item]
    )


def _means_of_annotators(trial: Trial, value_n: Floats) -> Floats:
    """The mean over each annotator's values that are numbers; not a number if there are none."""
    annotator_n, n_annotators = trial.annotations.annotator, trial.annotations.n_annotators
    known = np.isfinite(value_n)
    total_a = np.bincount(annotator_n[known], value_n[known], minlength=n_annotators)
    count_a = np.bincount(annotator_n[known], minlength=n_annotators)
    nothing = np.full(n_annotators, np.nan)
    return np.asarray(np.divide(total_a, count_a, out=nothing, where=count_a > 0))
