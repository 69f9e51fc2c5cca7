"""Which epoch is the best, judged by labels kept aside."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from manyhands.core.arrays import Floats
from manyhands.evaluation import CRITERIA, JUDGES, HeldLabels, crowd_scores
from manyhands.training.crowd import Crowd
from manyhands.training.learner import LOOK, Learner

LIKELIHOOD = "likelihood"
HELD_OUT = "held_out"  # what the history calls the likelihood


def epoch_scores(learner: Learner, crowd: Crowd, judge: str) -> dict[str, float]:
    """What the history keeps of an epoch: the likelihood, and all criteria for other judges."""
    log_class_ik, log_label_nl = foretold(learner, crowd)
    scores = {HELD_OUT: _mean_said(crowd, log_label_nl)}
    if judge != LIKELIHOOD:
        found = crowd_scores(_held_labels(crowd, log_class_ik, log_label_nl))
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


def mean_log_label(learner: Learner, crowd: Crowd) -> float:
    """The mean log-probability of a crowd's labels under the model."""
    return _mean_said(crowd, foretold(learner, crowd)[1])


def held_labels(learner: Learner, crowd: Crowd) -> HeldLabels:
    """A crowd's labels beside what the model says of them."""
    return _held_labels(crowd, *foretold(learner, crowd))


@torch.no_grad()
def foretold(learner: Learner, crowd: Crowd) -> tuple[Tensor, Tensor]:
    """Log p(k | x) of every labelled item, (i, k), and log p(l | a, x) of every label, (n, l)."""
    learner.eval()
    parts = [learner.foretell(batch) for batch in crowd.batches(crowd.labelled, LOOK)]
    log_class, log_label = zip(*parts, strict=True)
    return torch.cat(log_class), torch.cat(log_label)


def _mean_said(crowd: Crowd, log_label_nl: Tensor) -> float:
    label_n = torch.from_numpy(crowd.annotations.label.astype(np.int64)).to(log_label_nl.device)
    return float(log_label_nl.gather(1, label_n.unsqueeze(1)).squeeze(1).double().mean())


def _held_labels(crowd: Crowd, log_class_ik: Tensor, log_label_nl: Tensor) -> HeldLabels:
    ann = crowd.annotations
    return HeldLabels(
        item=crowd.labelled.astype(np.int32),
        row=np.searchsorted(crowd.labelled, ann.item).astype(np.int32),
        label=ann.label,
        log_class_ik=_floats(log_class_ik),
        log_label_nl=_floats(log_label_nl),
    )


def _floats(tensor: Tensor) -> Floats:
    return np.asarray(tensor.cpu().double().numpy(), dtype=np.float64)
