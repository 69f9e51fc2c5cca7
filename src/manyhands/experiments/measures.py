"""What is measured of a trained model."""

import numpy as np

from manyhands.core.arrays import Floats
from manyhands.estimators import CrowdClassifier
from manyhands.evaluation import (
    accuracy,
    confusion_entropy,
    f1,
    global_js,
    identity_similarity,
    individual_js,
    label_counts,
    shares_of_counts,
    soft_cross_entropy,
)
from manyhands.experiments.sources import Material
from manyhands.noise import Mixture
from manyhands.selection import Trial, scores_of

MEASURES = 2  # raised when what is measured changes, so that old records do not count


def measured(material: Material, model: CrowdClassifier) -> dict[str, float]:
    """Every score that the material allows, by name."""
    trial = material.trial
    scores = scores_of(trial, model) | {"epochs": float(model.epoch_)}
    if trial.test_features is not None and trial.test_truth is not None:
        found_ik = model.predict_proba(trial.test_features)
        known = trial.test_truth >= 0
        scores["f1"] = f1(trial.test_truth[known], found_ik.argmax(axis=1)[known])
        if material.shares is not None:
            scores["cross-entropy"] = soft_cross_entropy(material.shares, found_ik)
    if trial.truth is not None and (trial.truth >= 0).all():
        scores |= _against_truth(trial, model)
    return scores | _of_noise_model(model)


def true_counts(trial: Trial) -> Floats:
    """How often each annotator said each label of each true class (a, k, l)."""
    ann = trial.annotations
    assert trial.truth is not None
    return label_counts(
        ann.annotator, trial.truth[ann.item], ann.label, ann.n_annotators, ann.n_classes
    )


def _against_truth(trial: Trial, model: CrowdClassifier) -> dict[str, float]:
    """On the labelled items: the network's classes, and portraits against what people really do."""
    assert trial.truth is not None
    found = model.predict_proba(trial.features).argmax(axis=1)
    counts_akl = true_counts(trial)
    seen_a = trial.annotations.labels_per_annotator > 0
    true_akl, found_akl = shares_of_counts(counts_akl[seen_a]), model.confusion_[seen_a]
    return {
        "train-accuracy": accuracy(trial.truth, found),
        "i-js": individual_js(found_akl, true_akl),
        "g-js": global_js(found_akl, counts_akl[seen_a]),
    }


def _of_noise_model(model: CrowdClassifier) -> dict[str, float]:
    """How large the noise model is and, if it has groups, what they are like: largest first."""
    noise = model.noise_
    scores = {"noise-parameters": float(sum(each.numel() for each in noise.parameters()))}
    if isinstance(noise, Mixture):
        share_m = noise.log_weights().detach().exp()[0].numpy()
        group_mkl = noise.group_confusion().double().numpy()
        for rank, group in enumerate(np.argsort(-share_m, kind="stable"), 1):
            scores[f"prevalence-{rank}"] = float(share_m[group])
            scores[f"identity-similarity-{rank}"] = float(identity_similarity(group_mkl[group]))
            nats = np.log(group_mkl.shape[-1])
            scores[f"entropy-{rank}"] = float(confusion_entropy(group_mkl[group]) * nats)
    return scores
