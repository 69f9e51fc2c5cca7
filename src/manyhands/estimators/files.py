"""A fitted model in a folder: weights as safetensors, everything else as JSON."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import manyhands
from manyhands.annotations import Annotations, Kind
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, ManyhandsError, first_line
from manyhands.engine.checkpoint import as_arrays, as_tensors, require_like
from manyhands.engine.features import NumericEncoder
from manyhands.engine.frozen_states import FrozenEncoder
from manyhands.engine.images import ImageEncoder
from manyhands.engine.new_network import make_network
from manyhands.engine.randomness import own_random_numbers
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.task import TargetScaler
from manyhands.engine.tasks import task_of
from manyhands.engine.text import TextEncoder
from manyhands.engine.transformer_text import SubwordEncoder
from manyhands.estimators.base import CrowdEstimator
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.multilabel import CrowdMultilabelClassifier
from manyhands.estimators.ranker import as_ranker
from manyhands.estimators.regressor import CrowdRegressor
from manyhands.estimators.tagger import CrowdTagger
from manyhands.io.bundle import read_bundle, under, write_bundle
from manyhands.io.headers import (
    COUNT,
    COUNTS,
    FLAG,
    NAMES,
    NUMBERS,
    OBJECT,
    OBJECTS,
    TEXT,
    TEXTS,
    Fields,
    optional,
    require_fields,
)  # fmt: skip
from manyhands.methods import METHODS, Method
from manyhands.methods.crf.network import CrfEncoder
from manyhands.networks import Network
from manyhands.networks.tag_transitions import add_transitions

NAME = "model"
ESTIMATORS: dict[str, type[CrowdEstimator]] = {
    each.task: each
    for each in (CrowdClassifier, CrowdRegressor, CrowdTagger, CrowdMultilabelClassifier)
}
_ENCODERS: dict[str, Any] = {
    each.kind: each
    for each in (
        NumericEncoder,
        TextEncoder,
        ImageEncoder,
        CrfEncoder,
        SubwordEncoder,
        FrozenEncoder,
    )
}
FIELDS: Fields = {
    "task": TEXT, "method": TEXT, "method_class": TEXT, "init": optional(TEXT), "options": OBJECT,
    "network": optional(TEXT), "network_class": TEXT, "restored_with": OBJECT,
    "network_config": optional(OBJECT),
    "noise": optional(TEXT), "noise_settings": OBJECT, "encoder": TEXT, "encoder_settings": OBJECT,
    "separator": optional(TEXT), "scaler": NUMBERS, "training": OBJECT, "epoch": COUNT,
    "history": OBJECTS, "search_history": OBJECTS, "classes": NAMES, "annotators": NAMES,
    "annotator_columns": TEXTS,
}  # fmt: skip
_ENCODER_FIELDS: dict[str, Fields] = {
    "numeric": {"shape": COUNTS, "names": optional(TEXTS), "keep_integers": FLAG},
    "text": {
        "words": TEXTS, "tokens": FLAG, "frozen": FLAG, "vectors_given": FLAG,
        "max_tokens": optional(COUNT),
    },
    "images": {"size": COUNTS, "naming": TEXT},
    "subwords": {"tokens": FLAG, "pairs": FLAG, "max_tokens": optional(COUNT), "padding": COUNT},
    "frozen-subwords": {"subwords": OBJECT, "pooling": TEXT, "config": OBJECT},
    "crf": {"features": TEXTS},
}  # fmt: skip
_METHOD_CLASSES: dict[str, type[Method]] = {
    type(each).__name__: type(each) for each in METHODS.values()
}
_NOT_SAVED = ("network", "method", "noise", "init", "word_vectors", "checkpoint", "progress")


def estimator_for(kind: Kind) -> type[CrowdEstimator]:
    """The estimator that learns labels of items of a kind.

    >>> estimator_for("numbers").__name__
    'CrowdRegressor'
    """
    return ESTIMATORS[task_of(kind).name]


def save_model(model: CrowdEstimator, folder: str | Path) -> None:
    """Write a fitted model; a previous model in the folder stays until this one is complete."""
    noise, noise_settings = model.noise_spec_
    tensors = _prefixed("network", model.network_.state_dict())
    tensors |= _prefixed("noise", model.noise_.state_dict())
    tensors |= _prefixed("encoder", model.encoder_.tensors())
    in_tensors = {key: each for key, each in noise_settings.items() if isinstance(each, Tensor)}
    tensors |= _prefixed("setting", in_tensors)
    for name, column in model.annotator_columns_.items():
        if name != "annotator":
            tensors[f"annotators.{name}"] = torch.from_numpy(np.ascontiguousarray(column))
    crowd: Annotations = model.crowd_
    header = {
        "task": model.task,
        "manyhands": manyhands.__version__,
        "method": model._method_text(),
        "method_class": model.method_class_.__name__,
        "init": model.init,
        "options": _options(model),
        "network": _network_name(model),
        "network_class": type(model.network).__name__,
        "network_config": _network_config(model.network_),
        "restored_with": model.restored_with_,
        "noise": noise,
        "noise_settings": {
            key: each for key, each in noise_settings.items() if key not in in_tensors
        },
        "encoder": model.encoder_.kind,
        "encoder_settings": model.encoder_.header(),
        "scaler": asdict(model.scaler_),
        "training": asdict(model.settings_),
        "epoch": model.epoch_,
        "search_history": [_untimed(entry) for entry in model.search_history_],
        "history": [_untimed(entry) for entry in model.history_],
        "classes": crowd.classes.tolist(),
        "separator": getattr(crowd.class_vocabulary, "separator", None),  # of sets of classes
        "annotators": crowd.annotators.tolist(),
        "annotator_columns": list(model.annotator_columns_),
    }
    write_bundle(folder, NAME, as_arrays(tensors), header)


def load(folder: str | Path, *, network: Network | None = None) -> Any:
    """Load a model that was saved to a folder.

    A network of your own is not in the files, only its weights: give the network, or a function
    that makes it, as `network`. It is copied.
    """
    arrays, header = read_bundle(folder, NAME, FIELDS)
    if str(header.get("task")) not in ESTIMATORS:
        raise DataError(f"{folder}: holds {header.get('task')!r}, not a model of a known task")
    try:
        with own_random_numbers():  # a new network draws weights
            return as_ranker(_restored(as_tensors(arrays), header, network))
    except ManyhandsError as error:
        raise DataError(f"{folder}: {error}") from None
    except Exception as error:  # nothing in a file may be more than refused
        reason = first_line(error)
        raise DataError(f"{folder}: the model does not fit its description: {reason}") from error


def _restored(
    tensors: Mapping[str, Tensor], header: Mapping[str, Any], network: Network | None
) -> CrowdEstimator:
    make = ESTIMATORS[header["task"]]
    require_fields(header["encoder_settings"], _ENCODER_FIELDS[header["encoder"]])
    encoder = _ENCODERS[header["encoder"]].restore(
        header["encoder_settings"], under("encoder.", tensors)
    )
    noise_settings = {**header["noise_settings"], **under("setting.", tensors)}
    asked_for = _network(header) if network is None else network
    method_class = _METHOD_CLASSES[header["method_class"]]
    model: Any = make(
        asked_for if header["network"] is not None or network is not None else None,
        header["method"],
        noise=noise_settings if noise_settings and _takes_noise(header["method"]) else None,
        init=header["init"],
        word_vectors=getattr(encoder, "word_vectors", None),
        **header["options"],
    )
    task = make._task()
    crowd = Annotations.from_arrays(
        [], [], [],
        kind=task.kind, annotators=header["annotators"], classes=header["classes"] or None,
        separator=header["separator"] if task.kind == "multilabel" else None,
    )  # fmt: skip

    def new_network() -> nn.Module:
        settings, config = model.network_settings, header["network_config"]
        if config is not None:  # the folder of a pretrained network need not be there any more
            settings = {**(settings or {}), "folder": None, "config": config}
        return make_network(asked_for, encoder.shape, task.n_outputs(crowd.n_classes), settings)

    def restored_network() -> nn.Module:
        made = method_class.restore_network(
            new_network, header["restored_with"], crowd.n_annotators, crowd.n_classes
        )
        tags = [str(name) for name in header["classes"]]
        return add_transitions(made, tags, getattr(model, "transitions", "none"))

    def restored_noise() -> nn.Module:
        return task.restore_noise(header["noise"], noise_settings, crowd, encoder.n_noise_features)

    model.network_ = _with_weights(restored_network, under("network.", tensors), network is None)
    model.network_.eval()
    model.noise_spec_ = (header["noise"], noise_settings)
    model.noise_ = _with_weights(restored_noise, under("noise.", tensors), True)
    model.encoder_, model.crowd_, model.method_class_ = encoder, crowd, method_class
    model.restored_with_ = header["restored_with"]
    model.network_spec_ = (asked_for, model.network_settings)
    for name, declared in make._settings().items():
        declared.checked(getattr(model, name))
    model.scaler_ = TargetScaler(**{key: float(each) for key, each in header["scaler"].items()})
    model.settings_ = TrainingSettings(**header["training"])
    model.epoch_ = int(header["epoch"])
    model.history_, model.search_history_ = map(list, (header["history"], header["search_history"]))
    model._set_feature_names()
    columns: dict[str, AnyArray] = {"annotator": crowd.annotators}
    for name in header["annotator_columns"]:
        if name != "annotator":
            columns[name] = tensors[f"annotators.{name}"].numpy()
    model.annotator_columns_ = columns
    restored: CrowdEstimator = model
    return restored


def _with_weights(
    make: Callable[[], nn.Module], tensors: Mapping[str, Tensor], sized_by_file: bool
) -> nn.Module:
    """A module with the weights of a file.

    If the file says how large it is, it is compared with the weights before memory is taken.
    """
    if sized_by_file:
        with torch.device("meta"):
            require_like(tensors, make().state_dict())
    module = make()
    require_like(tensors, module.state_dict())
    module.load_state_dict(tensors)
    return module


def _prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}.{key}": each for key, each in tensors.items()}


def _options(model: CrowdEstimator) -> dict[str, Any]:
    """The settings that a model was made with, and those that its fit used for the others."""
    used = asdict(model.settings_) | {"network_settings": _plain(model.network_spec_[1])}
    return {
        name: used[name] if name in used else _plain(getattr(model, name))
        for name in model._settings()
        if name not in _NOT_SAVED
    }


def _plain(value: Any) -> Any:
    """A setting as JSON holds it: numpy's numbers, as a grid search gives, become Python's own."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _takes_noise(method: str) -> bool:
    """Whether the settings of the noise model are the caller's; other methods make their own."""
    return method not in METHODS or METHODS[method].takes_noise_settings


def _network(header: Mapping[str, Any]) -> str:
    if header["network"] is None:
        raise DataError(
            f"the model has a network of your own ({header['network_class']}), which is not in the "
            "files: load it with network=, made as it was for training"
        )
    return str(header["network"])


def _network_name(model: CrowdEstimator) -> str | None:
    """The name of the network that was asked for; None for a network of the user's."""
    network = model.network_spec_[0]
    return network if isinstance(network, str) else None


def _network_config(network: nn.Module) -> dict[str, Any] | None:
    """The description of the pretrained network in a network, if there is one."""
    found = (getattr(each, "pretrained_config", None) for each in network.modules())
    return next((each for each in found if isinstance(each, dict)), None)


def _untimed(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "seconds"}
