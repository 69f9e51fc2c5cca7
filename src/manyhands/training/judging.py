"""Which epoch is the best, judged by labels kept aside."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import Floats
from manyhands.evaluation import CRITERIA, JUDGES, HeldLabels, crowd_scores
from manyhands.training.crowd import Crowd
from manyhands.training.learner import LOOK, Learner, Trainee

LIKELIHOOD = "likelihood"
HELD_OUT = "held_out"  # what the history calls the likelihood


def epoch_scores(learner: Trainee, crowd: Crowd, judge: str) -> dict[str, float]:
    """What the history keeps of an epoch: the likelihood, and all criteria for other judges."""
    scores = {HELD_OUT: mean_log_label(learner, crowd)}
    if judge != LIKELIHOOD:
        assert isinstance(learner, Learner), "other criteria look at class probabilities"
        found = crowd_scores(held_labels(learner, crowd))
        scores |= {name: found[name] for name in CRITERIA if name != LIKELIHOOD}
    return scores


def best_epoch(history: Sequence[Mapping[str, Any]], judge: str) -> int | None:
    """The number of the best epoch so far, the earliest of equals; None in the warm-up."""
    entries = [entry for entry in history if not entry["warming_up"]]
    if not entries:
        return None
    keys = {name: HELD_OUT if name == LIKELIHOOD else name for name in CRITERIA}
    scores = {
        name: np.array([entry[key] for entry in entries])
        for name, key in keys.items()
        if key in entries[0]
    }
    return int(entries[int(np.argmax(JUDGES[judge](scores)))]["epoch"])


@torch.no_grad()
def mean_log_label(learner: Trainee, crowd: Crowd) -> float:
    """The mean log-probability, or log density, of a crowd's labels under the model."""
    learner.eval()
    order = crowd.labelled[crowd.inputs.by_length(crowd.labelled)]
    parts = [learner.log_said(batch) for batch in crowd.batches(order, LOOK)]
    return float(torch.cat(parts).double().mean())


def held_labels(learner: Learner, crowd: Crowd) -> HeldLabels:
    """A crowd's labels beside what the model says of them."""
    log_class_ik, log_label_nl = foretold(learner, crowd)
    ann = crowd.annotations
    return HeldLabels(
        item=crowd.labelled.astype(np.int32),
        row=np.searchsorted(crowd.labelled, ann.item).astype(np.int32),
        label=ann.label,
        log_class_ik=_floats(log_class_ik),
        log_label_nl=_floats(log_label_nl),
    )


@torch.no_grad()
def foretold(learner: Learner, crowd: Crowd) -> tuple[Tensor, Tensor]:
    """Log p(k | x) of every labelled item, (i, k), and log p(l | a, x) of every label, (n, l)."""
    learner.eval()
    parts = [learner.foretell(batch) for batch in crowd.batches(crowd.labelled, LOOK)]
    log_class, log_label = zip(*parts, strict=True)
    return torch.cat(log_class), torch.cat(log_label)


def _floats(tensor: Tensor) -> Floats:
    return np.asarray(tensor.cpu().double().numpy(), dtype=np.float64)
