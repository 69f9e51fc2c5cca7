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
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.tensors import as_arrays, as_tensors
from manyhands.estimators.base import CrowdEstimator
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.crf_encoder import CrfEncoder
from manyhands.estimators.feature_encoder import Reader
from manyhands.estimators.new_network import Network, new_network
from manyhands.estimators.regressor import CrowdRegressor
from manyhands.estimators.scaling import Scaling
from manyhands.estimators.tagger import CrowdTagger
from manyhands.estimators.target_scaler import TargetScaler
from manyhands.estimators.text_encoder import TextEncoder, default_of
from manyhands.io import WordVectors
from manyhands.io.bundle import read_bundle, under, write_bundle
from manyhands.methods import (
    METHODS,
    CrfNetwork,
    EndToEnd,
    RegressionEndToEnd,
    TopicClassifier,
    TopicRegressor,
    WordFeatures,
)
from manyhands.networks import (
    AnnotatorHeads,
    KernelClassifier,
    RegressionHeads,
    WordTable,
    default_network,
)
from manyhands.noise import NOISE, RegressionLayer

NAME = "model"
OWN = (
    "scale",
    "freeze_embeddings",
    "max_tokens",
    "valid",
)  # settings that are not those of training
Fitted = CrowdClassifier | CrowdRegressor | CrowdTagger
ESTIMATORS = {each.__name__: each for each in (CrowdClassifier, CrowdRegressor, CrowdTagger)}
# of the network asked for
MADE_OF_ANOTHER = (
    AnnotatorHeads,
    KernelClassifier,
    RegressionHeads,
    TopicClassifier,
    TopicRegressor,
    CrfNetwork,
)


def save_model(model: CrowdEstimator, folder: str | Path) -> None:
    """Write a fitted model; an older model in the folder stays until the new one is whole."""
    tensors = {f"network.{key}": each for key, each in model.network_.state_dict().items()}
    tensors |= {f"noise.{key}": each for key, each in model.noise_.state_dict().items()}
    for name, column in model.annotator_columns_.items():
        if name != "annotator":
            tensors[f"annotators.{name}"] = torch.from_numpy(np.ascontiguousarray(column))
    if model.scaling_ is not None:
        tensors |= {"scaling.shift": model.scaling_.shift, "scaling.factor": model.scaling_.factor}
    if isinstance(model.words_, TextEncoder):
        tensors["words.vectors"] = torch.from_numpy(model.words_.table.vectors)
    noise, given = model.noise_made_
    tensors |= {f"setting.{key}": each for key, each in given.items() if isinstance(each, Tensor)}
    crowd: Annotations = model.crowd_
    header = {
        "estimator": type(model).__name__,
        "manyhands": manyhands.__version__,
        "method": model.method if isinstance(model.method, str) else repr(model.method),
        "init": model.init,
        "own": {name: getattr(model, name) for name in OWN if name in model._get_param_names()},
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
        "unit": asdict(model.unit_) if isinstance(model, CrowdRegressor) else None,
        "annotators": crowd.annotators.tolist(),
        "annotator_columns": list(model.annotator_columns_),
        "features": _listed(getattr(model, "feature_names_in_", None)),
        "words": _words_told(model),
    }
    write_bundle(folder, NAME, as_arrays(tensors), header)


def load(folder: str | Path, *, network: Network | None = None) -> Fitted:
    """A model that was saved to a folder.

    A network of your own is not in the files, only its weights: give it, or what makes it, as
    `network`. It is copied.
    """
    arrays, header = read_bundle(folder, NAME)
    if header.get("estimator") not in ESTIMATORS:
        raise DataError(f"{folder}: holds {header.get('estimator')!r}, not a model")
    try:
        with torch.random.fork_rng(devices=[]):  # a new network draws weights
            return _restored(as_tensors(arrays), header, network)
    except (KeyError, TypeError, RuntimeError) as error:
        said = first_line(error)
        raise DataError(f"{folder}: the model does not fit its description: {said}") from error


def _restored(
    tensors: Mapping[str, Tensor], header: Mapping[str, Any], network: Network | None
) -> Fitted:
    shape, classes = tuple(header["shape"]), header["classes"]
    words = _words_again(header["words"], under("words.", tensors))
    seen = (words.table.dimension,) if isinstance(words, TextEncoder) else shape
    make = ESTIMATORS[header["estimator"]]
    training = header["training"]
    given = {**header["noise_settings"], **under("setting.", tensors)}
    wanted = _network(header) if network is None else network
    model: Any = make(
        wanted,
        header["method"],
        noise=given if given and _takes_noise(header["method"]) else None,
        init=header["init"],
        **header["own"],
        **_vectors_again(header["words"], words),
        **{name: value for name, value in training.items() if name in make._get_param_names()},
    )
    model.network_ = _network_again(new_network(wanted, shape, len(classes) or 1), header)
    model.network_.load_state_dict(under("network.", tensors))
    model.network_.eval()
    model.noise_made_ = (header["noise"], given)
    n_annotators, of_numbers = len(header["annotators"]), make is CrowdRegressor
    if of_numbers:
        model.noise_ = RegressionLayer(n_annotators, kind=header["noise"], **given)
        model.unit_ = TargetScaler(**header["unit"])
    else:
        model.noise_ = NOISE[header["noise"]](
            n_annotators, len(classes), n_features=int(np.prod(seen)), **given
        )
    model.noise_.load_state_dict(under("noise.", tensors))
    model.crowd_ = Annotations.from_arrays(
        [], [], [], kind=make.kind, annotators=header["annotators"], classes=classes or None
    )
    if not of_numbers:
        model.classes_ = model.crowd_.classes
    model.settings_, model.shape_ = TrainingSettings(**training), shape
    model.epoch_, model.history_ = header["epoch"], header["history"]
    model.search_history_ = header["search"]
    scaling = under("scaling.", tensors)
    model.scaling_ = Scaling(scaling["shift"], scaling["factor"]) if scaling else None
    model.words_ = words
    model.n_features_in_ = int(np.prod(shape))
    if header["features"] is not None:
        model.feature_names_in_ = np.array(header["features"], dtype=object)
    columns: dict[str, AnyArray] = {"annotator": model.crowd_.annotators}
    for name in header["annotator_columns"]:
        if name != "annotator":
            columns[name] = tensors[f"annotators.{name}"].numpy()
    model.annotator_columns_ = columns
    restored: Fitted = model
    return restored


def _words_told(model: CrowdEstimator) -> dict[str, Any] | None:
    words = model.words_
    if words is None:
        return None
    if isinstance(words, CrfEncoder):
        return {"features": list(words.features.names)}
    told = {"tokens": words.tokens, "fixed": words.fixed, "max_tokens": words.max_tokens}
    given = model.word_vectors is not None
    return {"words": list(words.table.words), "vectors given": given, **told}


def _vectors_again(told: Mapping[str, Any] | None, words: Reader | None) -> dict[str, Any]:
    """The vectors that words started from, where some were given: a new fit starts there too."""
    if told is None or not isinstance(words, TextEncoder) or not told["vectors given"]:
        return {}
    table = words.table
    return {"word_vectors": WordVectors(np.array(table.words, dtype=object), table.vectors[2:])}


def _words_again(told: Mapping[str, Any] | None, tensors: Mapping[str, Tensor]) -> Reader | None:
    if told is None:
        return None
    if "features" in told:
        return CrfEncoder(WordFeatures(tuple(told["features"])))
    table = WordTable(tuple(told["words"]), tensors["vectors"].numpy())
    return TextEncoder(table, told["tokens"], told["fixed"], told["max_tokens"])


def _takes_noise(method: str) -> bool:
    """Whether the settings of the noise model were the caller's; others make their own."""
    return method not in METHODS or isinstance(METHODS[method], EndToEnd | RegressionEndToEnd)


def _network(header: Mapping[str, Any]) -> str:
    if header["network"] is None:
        raise DataError(
            f"the model has a network of your own ({header['network_class']}), which is not in the "
            "files: load it with network=, made as it was for training"
        )
    return str(header["network"])


def _network_name(model: CrowdEstimator) -> str | None:
    if model.network is None:
        only = model._method().only_network
        return only or default_of(model.words_) or default_network(model.shape_)
    return model.network if isinstance(model.network, str) else None


def _network_made(network: nn.Module) -> dict[str, Any]:
    """The class of the network asked for, and what the method made of it."""
    if isinstance(network, MADE_OF_ANOTHER):
        made = {"class": type(network).__name__, "settings": network.settings}
        return {"network_class": network.asked_for, "network_made": made}
    return {"network_class": type(network).__name__, "network_made": None}


def _network_again(asked_for: nn.Module, header: Mapping[str, Any]) -> nn.Module:
    made = header["network_made"]
    if made is None:
        return asked_for
    sizes = len(header["annotators"]), len(header["classes"])
    make: Any = {each.__name__: each for each in MADE_OF_ANOTHER}[made["class"]]
    again: nn.Module = make(asked_for, *sizes, **made["settings"])
    return again


def _untimed(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "seconds"}


def _listed(names: AnyArray | None) -> list[str] | None:
    return None if names is None else [str(name) for name in names]
