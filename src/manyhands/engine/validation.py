"""Which epoch is the best, judged by labels kept aside."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import Floats
from manyhands.engine.batches import CrowdData
from manyhands.engine.crowd_module import EVALUATION_BATCH, ClassificationModule, CrowdModule
from manyhands.evaluation import CRITERIA, CROWD_METRICS, LabelPredictions, crowd_metrics

LIKELIHOOD = "likelihood"
VALIDATION = "held_out"  # what the history calls the likelihood


def epoch_scores(module: CrowdModule, crowd: CrowdData, monitor: str) -> dict[str, float]:
    """What the history keeps of an epoch: the likelihood, and all criteria for other judges."""
    scores = {VALIDATION: mean_log_label(module, crowd)}
    if monitor != LIKELIHOOD:
        assert isinstance(module, ClassificationModule), (
            "other criteria look at class probabilities"
        )
        found = crowd_metrics(label_predictions(module, crowd))
        scores |= {name: found[name] for name in CROWD_METRICS if name != LIKELIHOOD}
    return scores


def best_epoch(history: Sequence[Mapping[str, Any]], monitor: str) -> int | None:
    """The number of the best epoch so far, the earliest of equals; None in the warm-up."""
    entries = [entry for entry in history if not entry["warming_up"]]
    if not entries:
        return None
    keys = {name: VALIDATION if name == LIKELIHOOD else name for name in CROWD_METRICS}
    scores = {
        name: np.array([entry[key] for entry in entries])
        for name, key in keys.items()
        if key in entries[0]
    }
    return int(entries[int(np.argmax(CRITERIA[monitor](scores)))]["epoch"])


@torch.no_grad()
def mean_log_label(module: CrowdModule, crowd: CrowdData) -> float:
    """The mean log-probability, or log density, of a crowd's labels under the model."""
    module.eval()
    order = crowd.labelled[crowd.inputs.by_length(crowd.labelled)]
    parts = [module.label_log_prob(batch) for batch in crowd.batches(order, EVALUATION_BATCH)]
    return float(torch.cat(parts).double().mean())


def label_predictions(module: ClassificationModule, crowd: CrowdData) -> LabelPredictions:
    """A crowd's labels beside what the model says of them."""
    log_class_ik, log_label_nl = predicted(module, crowd)
    ann = crowd.annotations
    return LabelPredictions(
        item=crowd.labelled.astype(np.int32),
        row=np.searchsorted(crowd.labelled, ann.item).astype(np.int32),
        label=ann.label,
        log_class_ik=_floats(log_class_ik),
        log_label_nl=_floats(log_label_nl),
    )


@torch.no_grad()
def predicted(module: ClassificationModule, crowd: CrowdData) -> tuple[Tensor, Tensor]:
    """Log p(k | x) of every labelled item, (i, k), and log p(l | a, x) of every label, (n, l)."""
    module.eval()
    parts = [
        module.predict_labels(batch) for batch in crowd.batches(crowd.labelled, EVALUATION_BATCH)
    ]
    log_class, log_label = zip(*parts, strict=True)
    return torch.cat(log_class), torch.cat(log_label)


def _floats(tensor: Tensor) -> Floats:
    return np.asarray(tensor.cpu().double().numpy(), dtype=np.float64)
