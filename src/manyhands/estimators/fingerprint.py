"""What tells one training run from another: a checkpoint goes on only where all of it is equal."""

import hashlib
from dataclasses import asdict
from typing import Any

import numpy as np

from manyhands.engine.crowd_module import CrowdModule
from manyhands.engine.inputs import Inputs, SparseInputs, TensorInputs
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.text_inputs import TextInputs
from manyhands.methods import Problem

_SAMPLE = 1000  # rows of features that are looked at
_WHEREVER = ("device", "devices", "threads")  # a run may move to another machine


def fingerprint_of(
    estimator: Any,
    module: CrowdModule,
    inputs: Inputs,
    problem: Problem,
    settings: TrainingSettings,
) -> dict[str, Any]:
    """Method, settings, network and data in a form that can be compared and written down.

    Of a torch Dataset only the shape is known.
    """
    annotations = problem.annotations
    chosen = {name: value for name, value in asdict(settings).items() if name not in _WHEREVER}
    return {
        "method": estimator.method if isinstance(estimator.method, str) else repr(estimator.method),
        "noise": repr(estimator.noise),
        "init": estimator.init,
        **chosen,
        "network": repr(module.network),
        "number of items": annotations.n_items,
        "set of labels": _digest(annotations.item, annotations.annotator, annotations.label),
        "shape of features": list(inputs.shape),
        "set of features": _digest(*_sampled(inputs)),
        "truth": "" if problem.truth is None else _digest(problem.truth),
    }


def _sampled(inputs: Inputs) -> list[Any]:
    every = max(1, len(inputs) // _SAMPLE)
    if isinstance(inputs, TensorInputs):
        return [inputs.tensor[::every].cpu().numpy()]
    if isinstance(inputs, SparseInputs):
        some = inputs.matrix[::every]
        return [some.data, some.indices, some.indptr]
    if isinstance(inputs, TextInputs):
        return [inputs.code.cpu().numpy(), inputs.offsets, inputs.vectors.cpu().numpy()]
    return []


def _digest(*arrays: Any) -> str:
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()[:16]
