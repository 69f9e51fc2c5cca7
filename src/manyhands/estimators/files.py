"""A fitted model in a folder: weights as safetensors, everything else as json."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import manyhands
from manyhands.annotations import Annotations
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, first_line
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.new_network import Network, new_network
from manyhands.estimators.scaling import Scaling
from manyhands.networks import DoctorNet, default_network
from manyhands.noise import NOISE
from manyhands.training import METHODS, EndToEnd, TrainingSettings, read_bundle, under, write_bundle

NAME = "model"


def save_classifier(model: CrowdClassifier, folder: str | Path) -> None:
    """Write a fitted classifier; an older model in the folder stays until the new one is whole."""
    tensors = {f"network.{key}": each for key, each in model.network_.state_dict().items()}
    tensors |= {f"noise.{key}": each for key, each in model.noise_.state_dict().items()}
    for name, column in model.annotator_columns_.items():
        if name != "annotator":
            tensors[f"annotators.{name}"] = torch.from_numpy(np.ascontiguousarray(column))
    if model.scaling_ is not None:
        tensors |= {"scaling.shift": model.scaling_.shift, "scaling.factor": model.scaling_.factor}
    noise, given = model.noise_made_
    tensors |= {f"setting.{key}": each for key, each in given.items() if isinstance(each, Tensor)}
    crowd: Annotations = model.crowd_
    header = {
        "estimator": "CrowdClassifier",
        "manyhands": manyhands.__version__,
        "method": model.method if isinstance(model.method, str) else repr(model.method),
        "start": model.start,
        "scale": model.scale,
        "network": _network_name(model),
        **_network_made(model.network_),
        "shape": list(model.shape_),
        "noise": noise,
        "noise_settings": {
            key: each for key, each in given.items() if not isinstance(each, Tensor)
        },
        "training": asdict(model.settings_),
        "epoch": model.epoch_,
        "search": [_untimed(entry) for entry in model.search_history_],
        "history": [_untimed(entry) for entry in model.history_],
        "classes": crowd.classes.tolist(),
        "annotators": crowd.annotators.tolist(),
        "annotator_columns": list(model.annotator_columns_),
        "features": _listed(getattr(model, "feature_names_in_", None)),
    }
    write_bundle(folder, NAME, {key: each.cpu() for key, each in tensors.items()}, header)


def load(folder: str | Path, *, network: Network | None = None) -> CrowdClassifier:
    """A model that was saved to a folder.

    A network of your own is not in the files, only its weights: give it, or what makes it, as
    `network`. It is copied.
    """
    tensors, header = read_bundle(folder, NAME)
    if header.get("estimator") != "CrowdClassifier":
        raise DataError(f"{folder}: holds {header.get('estimator')!r}, not a model")
    try:
        with torch.random.fork_rng(devices=[]):  # a new network draws weights
            return _restored(tensors, header, network)
    except (KeyError, TypeError, RuntimeError) as error:
        said = first_line(error)
        raise DataError(f"{folder}: the model does not fit its description: {said}") from error


def _restored(
    tensors: Mapping[str, Tensor], header: Mapping[str, Any], network: Network | None
) -> CrowdClassifier:
    shape, classes = tuple(header["shape"]), header["classes"]
    training = header["training"]
    given = {**header["noise_settings"], **under("setting.", tensors)}
    wanted = _network(header) if network is None else network
    model = CrowdClassifier(
        wanted,
        header["method"],
        noise=given if given and _takes_noise(header["method"]) else None,
        start=header["start"],
        scale=header["scale"],
        **training,
    )
    model.network_ = _network_again(new_network(wanted, shape, len(classes)), header)
    model.network_.load_state_dict(under("network.", tensors))
    model.network_.eval()
    model.noise_made_ = (header["noise"], given)
    model.noise_ = NOISE[header["noise"]](
        len(header["annotators"]), len(classes), n_features=int(np.prod(shape)), **given
    )
    model.noise_.load_state_dict(under("noise.", tensors))
    model.crowd_ = Annotations.from_arrays(
        [], [], [], kind="classes", annotators=header["annotators"], classes=classes
    )
    model.classes_ = model.crowd_.classes
    model.settings_, model.shape_ = TrainingSettings(**training), shape
    model.epoch_, model.history_ = header["epoch"], header["history"]
    model.search_history_ = header["search"]
    scaling = under("scaling.", tensors)
    model.scaling_ = Scaling(scaling["shift"], scaling["factor"]) if scaling else None
    model.n_features_in_ = int(np.prod(shape))
    if header["features"] is not None:
        model.feature_names_in_ = np.array(header["features"], dtype=object)
    columns: dict[str, AnyArray] = {"annotator": model.crowd_.annotators}
    for name in header["annotator_columns"]:
        if name != "annotator":
            columns[name] = tensors[f"annotators.{name}"].numpy()
    model.annotator_columns_ = columns
    return model


def _takes_noise(method: str) -> bool:
    """Whether the settings of the noise model were the caller's; others make their own."""
    return method not in METHODS or isinstance(METHODS[method], EndToEnd)


def _network(header: Mapping[str, Any]) -> str:
    if header["network"] is None:
        raise DataError(
            f"the model has a network of your own ({header['network_class']}), which is not in the "
            "files: load it with network=, made as it was for training"
        )
    return str(header["network"])


def _network_name(model: CrowdClassifier) -> str | None:
    if model.network is None:
        return model._method().only_network or default_network(model.shape_)
    return model.network if isinstance(model.network, str) else None


def _network_made(network: nn.Module) -> dict[str, Any]:
    """The class of the network asked for, and the heads that it was given."""
    if isinstance(network, DoctorNet):
        return {"network_class": network.asked_for, "heads": network.settings}
    return {"network_class": type(network).__name__, "heads": None}


def _network_again(asked_for: nn.Module, header: Mapping[str, Any]) -> nn.Module:
    heads = header.get("heads")
    if heads is None:
        return asked_for
    return DoctorNet(asked_for, len(header["annotators"]), len(header["classes"]), **heads)


def _untimed(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "seconds"}


def _listed(names: AnyArray | None) -> list[str] | None:
    return None if names is None else [str(name) for name in names]
