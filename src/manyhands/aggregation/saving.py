"""A consensus as arrays and a json header: what `save` writes."""

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import manyhands
from manyhands.annotations import Sentences
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError

if TYPE_CHECKING:
    from manyhands.aggregation.base import Aggregator
    from manyhands.aggregation.consensus import Consensus

NAME = "consensus"  # of the bundle
OPTIONAL = ("probabilities", "values", "spread", "signal_share", "confusion", "codes")
TRAITS = ("item_traits", "annotator_traits")
Packed = tuple[dict[str, AnyArray], dict[str, Any]]


def pack_consensus(consensus: "Consensus") -> Packed:
    """The arrays of a consensus, and everything else as json."""
    ann, quality = consensus.annotations, consensus.quality
    arrays: dict[str, AnyArray] = {
        "item": ann.item,
        "annotator": ann.annotator,
        "label": ann.label,
        "known": consensus.known,
        "objective": np.array(consensus.objective, dtype=np.float64),
        "quality": quality.value,
        "quality_low": quality.low,
        "quality_high": quality.high,
    }
    arrays |= {
        name: getattr(consensus, name) for name in OPTIONAL if getattr(consensus, name) is not None
    }
    for field in TRAITS:
        for name, trait in getattr(consensus, field).items():
            arrays[f"{field}.{name}"] = _as_numbers(name, trait)
    names = {"items": ann.items, "annotators": ann.annotators}
    if ann.class_vocabulary is not None:
        names["classes"] = ann.classes
    header: dict[str, Any] = {
        "manyhands": manyhands.__version__,
        "backend": ann.backend,
        "converged": consensus.converged,
        "temperature": float(consensus.temperature),
        "cannot_continue": consensus.cannot_continue,
        **{field: list(getattr(consensus, field)) for field in TRAITS},
        "method": None,
    }
    if consensus.method is not None:
        header |= _pack_method(consensus.method)
        arrays |= _pack_parameters(consensus.parameters)
    name_arrays, header["names"] = pack_names(names)
    return arrays | name_arrays, header


def pack_sentences(sentences: Sentences) -> Packed:
    """The sentences of a token consensus."""
    words = {"words": sentences.word, "sentences": sentences.names}
    arrays, names = pack_names(words)
    return arrays | {"sentence_offsets": sentences.offsets}, {"sentence_names": names}


def pack_names(names: Mapping[str, AnyArray]) -> Packed:
    """Whole numbers as arrays, other names as lists of text."""
    arrays, lists = {}, {}
    for key, each in names.items():
        if each.dtype.kind == "i":
            arrays[f"names.{key}"] = each
        else:
            lists[key] = [_as_json(name) for name in each.tolist()]
    return arrays, lists


def _pack_method(method: "Aggregator[Any]") -> dict[str, Any]:
    """The name and the settings of an aggregator."""
    if "name" not in vars(type(method)):
        raise DataError(
            f"{type(method).__name__} is not in AGGREGATORS, so its consensus cannot be saved; "
            "pickle it"
        )
    settings = {each.name: getattr(method, each.name) for each in dataclasses.fields(method)}
    return {
        "method": method.name,
        "settings": {name: _pack_setting(value) for name, value in settings.items()},
    }


def _pack_setting(value: Any) -> Any:
    if isinstance(value, Mapping):  # of matrices by name
        return [[_as_json(name), np.asarray(each).tolist()] for name, each in value.items()]
    plain = _as_json(value)
    return str(plain) if isinstance(plain, float) and math.isinf(plain) else plain


def _pack_parameters(parameters: Any) -> dict[str, AnyArray]:
    return {
        f"parameters.{each.name}": np.asarray(getattr(parameters, each.name))
        for each in dataclasses.fields(parameters)
    }


def _as_numbers(name: str, trait: AnyArray) -> AnyArray:
    array = np.asarray(trait)
    if array.dtype.kind not in "biuf":
        raise DataError(f"the trait {name!r} cannot be saved: its values are not numbers")
    return array


def _as_json(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, str | int | float):
        return plain
    raise DataError(f"{plain!r} cannot be saved; names must be text or numbers")
