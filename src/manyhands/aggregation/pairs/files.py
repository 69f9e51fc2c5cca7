"""A ranking in a folder: arrays as safetensors, everything else as json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import manyhands
from manyhands.aggregation.evidence import Quality
from manyhands.aggregation.pairs.catalog import PAIR_AGGREGATORS
from manyhands.aggregation.pairs.ranking import Ranking
from manyhands.annotations import Vocabulary
from manyhands.annotations.comparisons import Comparisons
from manyhands.core.arrays import AnyArray, read_only
from manyhands.core.errors import DataError, ManyhandsError, first_line
from manyhands.core.settings import settings_of
from manyhands.io.bundle import read_bundle, write_bundle
from manyhands.io.headers import FLAG, OBJECT, TEXT, TEXTS, Fields

NAME = "ranking"  # of the bundle
_FIELDS: Fields = {
    "backend": TEXT, "has_sides": FLAG, "converged": FLAG, "method": TEXT, "settings": OBJECT,
    "names": OBJECT, "warnings": TEXTS,
}  # fmt: skip
_PAIRS = ("left", "right", "annotator", "outcome")
_ARRAYS = ("scores", "group", "follows", "position", "position_deviation")


def save_ranking(folder: str | Path, ranking: Ranking) -> None:
    """Write a ranking with its comparisons."""
    pairs, quality = ranking.comparisons, ranking.quality
    arrays: dict[str, AnyArray] = {name: getattr(pairs, name) for name in _PAIRS}
    arrays |= {name: getattr(ranking, name) for name in _ARRAYS}
    arrays |= {
        "objective": np.array(ranking.objective, dtype=np.float64),
        "tie_weight": np.array([ranking.tie_weight]),
        "quality": quality.value, "quality_low": quality.low, "quality_high": quality.high,
    }  # fmt: skip
    if ranking.covariance is not None:
        arrays["covariance"] = ranking.covariance
    names = {"items": pairs.items.tolist(), "annotators": pairs.annotators.tolist()}
    settings = {
        name: str(value) if value == np.inf else value
        for name, value in ranking.method.get_params().items()
    }
    header = {
        "manyhands": manyhands.__version__, "backend": pairs.backend, "names": names,
        "has_sides": pairs.has_sides, "converged": ranking.converged, "method": ranking.method.name,
        "settings": settings, "warnings": list(ranking.warnings),
    }  # fmt: skip
    write_bundle(folder, NAME, arrays, header)


def load_ranking(folder: str | Path) -> Ranking:
    """The ranking in a folder."""
    stored, header = read_bundle(folder, NAME, _FIELDS)
    arrays = {name: each.copy() for name, each in stored.items()}  # stored ones are read-only
    try:
        return _ranking(arrays, header)
    except ManyhandsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(
            f"{folder}: the ranking does not fit its description: {first_line(error)}"
        ) from error


def _ranking(arrays: Mapping[str, AnyArray], header: Mapping[str, Any]) -> Ranking:
    method: Any = PAIR_AGGREGATORS[header["method"]]
    declared = settings_of(method)
    settings: dict[str, Any] = {
        name: float(value) if declared[name].type is float else value
        for name, value in header["settings"].items()
    }
    left, right, annotator, outcome = (read_only(arrays[name]) for name in _PAIRS)
    pairs = Comparisons(
        left,
        right,
        annotator,
        outcome,
        Vocabulary.of(header["names"]["items"], "item"),
        Vocabulary.of(header["names"]["annotators"], "annotator"),
        backend=header["backend"],
        has_sides=header["has_sides"],
    )
    return Ranking(
        comparisons=pairs,
        quality=Quality.from_interval(
            arrays["quality"], arrays["quality_low"], arrays["quality_high"]
        ),
        covariance=arrays.get("covariance"),
        tie_weight=float(arrays["tie_weight"][0]),
        method=method(**settings),
        objective=tuple(arrays["objective"].tolist()),
        converged=header["converged"],
        warnings=tuple(header["warnings"]),
        **{name: arrays[name] for name in _ARRAYS},
    )
