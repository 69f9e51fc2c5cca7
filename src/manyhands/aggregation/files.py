"""A consensus in a folder: arrays as safetensors, everything else as json."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import manyhands
from manyhands.aggregation.base import Aggregator
from manyhands.aggregation.catalog import AGGREGATORS
from manyhands.aggregation.consensus import Consensus
from manyhands.aggregation.evidence import Quality
from manyhands.aggregation.set_consensus import SetConsensus, separator_of
from manyhands.aggregation.tokens import TokenConsensus, with_spans
from manyhands.annotations import Annotations, Sentences, Times, Vocabulary
from manyhands.annotations.label_sets import SetVocabulary, set_members
from manyhands.core.arrays import AnyArray, read_only
from manyhands.core.errors import DataError, ManyhandsError, first_line
from manyhands.core.settings import settings_of
from manyhands.io.bundle import read_bundle, under, write_bundle
from manyhands.io.headers import FLAG, NUMBER, OBJECT, TEXT, TEXTS, Fields, optional

NAME = "consensus"  # of the bundle
OPTIONAL = (
    "probabilities",
    "raw_probabilities",
    "values",
    "spread",
    "signal_share",
    "given_confusion",
    "codes",
    "set_confidence",
)
TRAITS = ("item_traits", "annotator_traits")
FIELDS: Fields = {
    "backend": TEXT, "converged": FLAG, "temperature": NUMBER, "cannot_continue": optional(TEXT),
    "method": optional(TEXT), "names": OBJECT, **dict.fromkeys(TRAITS, TEXTS),
}  # fmt: skip
Packed = tuple[dict[str, AnyArray], dict[str, Any]]


def save_consensus(
    folder: str | Path, consensus: Consensus, sentences: Sentences | None = None
) -> None:
    """Write a consensus, and the sentences of a consensus of tokens."""
    arrays, header = _pack_consensus(consensus)
    if sentences is not None:
        words = {"words": sentences.word, "sentences": sentences.names}
        name_arrays, header["sentence_names"] = _pack_names(words)
        arrays |= name_arrays | {"sentence_offsets": sentences.offsets}
    write_bundle(folder, NAME, arrays, header)


def _pack_consensus(consensus: Consensus) -> Packed:
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
    found = {name: getattr(consensus, name, None) for name in OPTIONAL}
    arrays |= {name: each for name, each in found.items() if each is not None}
    if ann.times is not None:
        arrays |= {f"times.{name}": _as_saved(each) for name, each in ann.times.columns().items()}
    for field in TRAITS:
        for name, trait in getattr(consensus, field).items():
            arrays[f"{field}.{name}"] = _as_numbers(name, trait)
    names = {"items": ann.items, "annotators": ann.annotators}
    if ann.class_vocabulary is not None:
        names["classes"] = ann.classes
    if ann.kind == "multilabel":
        arrays["set_members"] = set_members(ann)
    ordered = {"ordered": True} if ann.ordered else {}
    header: dict[str, Any] = {
        "manyhands": manyhands.__version__,
        "backend": ann.backend,
        **ordered,
        **({"separator": separator_of(ann)} if ann.kind == "multilabel" else {}),
        "converged": consensus.converged,
        "temperature": float(consensus.temperature),
        "cannot_continue": consensus.cannot_continue,
        "warnings": list(consensus.warnings),
        "chosen": consensus.chosen,
        **{field: list(getattr(consensus, field)) for field in TRAITS},
        "method": None,
    }
    if consensus.method is not None:
        header |= _pack_method(consensus.method)
        arrays |= {
            f"parameters.{each.name}": np.asarray(getattr(consensus.parameters, each.name))
            for each in dataclasses.fields(consensus.parameters)
        }
    name_arrays, header["names"] = _pack_names(names)
    return arrays | name_arrays, header


def _pack_names(names: Mapping[str, AnyArray]) -> Packed:
    """Whole numbers and truth values as arrays, other names as lists of text."""
    arrays, lists = {}, {}
    for key, each in names.items():
        if each.dtype.kind in "ib":
            arrays[f"names.{key}"] = each
        else:
            lists[key] = [_as_json(name) for name in each.tolist()]
    return arrays, lists


def _pack_method(method: Aggregator[Any]) -> dict[str, Any]:
    """The name and the settings of an aggregator; where it ran is no part of the model."""
    if "name" not in vars(type(method)):
        raise DataError(
            f"{type(method).__name__} is not in AGGREGATORS, so its consensus cannot be saved; "
            "pickle it"
        )
    names = [each.name for each in dataclasses.fields(method) if each.name != "device"]
    settings = {name: getattr(method, name) for name in names}
    return {
        "method": method.name,
        "settings": {name: _pack_setting(value) for name, value in settings.items()},
    }


def _pack_setting(value: Any) -> Any:
    if isinstance(value, Mapping):  # of matrices by name
        return [[_as_json(name), np.asarray(each).tolist()] for name, each in value.items()]
    plain = _as_json(value)
    return str(plain) if isinstance(plain, float) and math.isinf(plain) else plain


def _as_numbers(name: str, trait: AnyArray) -> AnyArray:
    array = np.asarray(trait)
    if array.dtype.kind not in "biuf":
        raise DataError(f"the trait {name!r} cannot be saved: its values are not numbers")
    return array


def _as_saved(times: AnyArray) -> AnyArray:
    """Seconds as they are, moments as whole milliseconds."""
    return times.view(np.int64) if times.dtype.kind == "M" else times


def _as_json(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, str | int | float):
        return plain
    raise DataError(f"{plain!r} cannot be saved; names must be text or numbers")


Arrays = Mapping[str, AnyArray]


def load_consensus(folder: str | Path) -> Consensus | TokenConsensus:
    """The consensus in a folder; `update` and `predict` continue as before it was saved."""
    stored, header = read_bundle(folder, NAME, FIELDS)
    arrays = {name: each.copy() for name, each in stored.items()}  # stored ones are read-only
    try:
        consensus = _consensus(arrays, header)
        if "sentence_names" not in header:
            return consensus
        return with_spans(_sentences(arrays, header["sentence_names"]), consensus)
    except ManyhandsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(
            f"{folder}: the consensus does not fit its description: {first_line(error)}"
        ) from error


def _consensus(arrays: Arrays, header: Mapping[str, Any]) -> Consensus:
    method = None if header["method"] is None else AGGREGATORS[header["method"]]
    fields: dict[str, Any] = {name: arrays[name] for name in OPTIONAL if name in arrays}
    for field in TRAITS:
        fields[field] = {name: arrays[f"{field}.{name}"] for name in header[field]}
    if method is not None:
        fields["method"] = method(
            **{name: _setting(method, name, value) for name, value in header["settings"].items()}
        )
        fields["parameters"] = method.parameters_type(
            **{
                name: each if each.ndim else each.item()
                for name, each in under("parameters.", arrays).items()
            }
        )
    consensus_type = SetConsensus if "set_members" in arrays else Consensus
    return consensus_type(
        annotations=_annotations(arrays, header),
        quality=Quality.from_interval(
            arrays["quality"], arrays["quality_low"], arrays["quality_high"]
        ),
        known=arrays["known"],
        cannot_continue=header["cannot_continue"],
        objective=tuple(arrays["objective"].tolist()),
        converged=header["converged"],
        temperature=header["temperature"],
        warnings=tuple(header.get("warnings", ())),
        chosen=header.get("chosen", ""),
        **fields,
    )


def _annotations(arrays: Arrays, header: Mapping[str, Any]) -> Annotations:
    names = _names(arrays, header["names"])
    classes = None
    if "classes" in names:
        classes = Vocabulary(names["classes"], "class", ordered=header.get("ordered") is True)
    if classes is not None and "set_members" in arrays:
        members = arrays["set_members"].astype(bool)
        classes = SetVocabulary.of_members(classes, members, str(header["separator"]))
    return Annotations(
        read_only(arrays["item"]),
        read_only(arrays["annotator"]),
        read_only(arrays["label"]),
        Vocabulary(names["items"], "item"),
        Vocabulary(names["annotators"], "annotator"),
        classes,
        header["backend"],
        times=_times(under("times.", arrays)),
    )


def _times(saved: Arrays) -> Times | None:
    if not saved:
        return None
    seconds, moments = saved.get("seconds"), saved.get("time")
    return Times(
        None if seconds is None else read_only(seconds),
        None if moments is None else read_only(moments.view("datetime64[ms]")),
    )


def _sentences(arrays: Arrays, lists: Mapping[str, list[Any]]) -> Sentences:
    names = _names(arrays, lists)
    return Sentences(names["words"], read_only(arrays["sentence_offsets"]), names["sentences"])


def _names(arrays: Arrays, lists: Mapping[str, list[Any]]) -> dict[str, AnyArray]:
    names = under("names.", arrays)
    for key, each in lists.items():
        names[key] = np.empty(len(each), dtype=object)
        names[key][:] = each
    return {key: read_only(each) for key, each in names.items()}


def _setting(method: type[Aggregator[Any]], name: str, value: Any) -> Any:
    if isinstance(value, list):  # matrices by name
        return {each: np.array(matrix) for each, matrix in value}
    declared = settings_of(method).get(name)
    return float(value) if declared is not None and declared.type is float else value
