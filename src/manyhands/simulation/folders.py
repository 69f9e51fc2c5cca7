"""Write a simulated crowd into a folder of CSV files."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from manyhands.annotations import Items
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io import atomic_write, new_files, write_table
from manyhands.io.json_text import read_json
from manyhands.simulation.crowds import SimulatedCrowd
from manyhands.simulation.preferences import SimulatedPreferences
from manyhands.simulation.settings import CrowdSizes

_LONGEST = 1 << 20  # bytes of scenario.json


def write_crowd(
    crowd: SimulatedCrowd | SimulatedPreferences,
    folder: str | Path,
    scenario: str,
    settings: CrowdSizes,
) -> list[str]:
    """Write everything about a crowd; returns the paths.

    The files are labels.csv (pairs.csv for comparisons), truth.csv, annotators.csv and
    scenario.json. Items with features add
    features.csv, test items test_truth.csv and test_features.csv, labels with a source sources.csv.
    """
    home, scenario_path = Path(folder), Path(folder) / "scenario.json"
    own = getattr(crowd, "tables", None)
    tables = _crowd_tables(crowd) if own is None else own()
    if not _was_simulated(scenario_path):
        new_files(folder, *tables, "scenario.json")
    _write(tables, home)
    with atomic_write(scenario_path) as stream:
        content = {"scenario": scenario} | asdict(settings)
        stream.write((json.dumps(content, indent=2) + "\n").encode())
    written = [str(home / name) for name in tables]
    return [*written[:3], str(scenario_path), *written[3:]]


def write_labels_and_truth(crowd: SimulatedCrowd, folder: str | Path) -> list[str]:
    """Write labels.csv, truth.csv and annotators.csv; returns the paths."""
    return _write(_first_tables(crowd), Path(folder))


def _write(tables: Mapping[str, Mapping[str, AnyArray]], home: Path) -> list[str]:
    """Write tables into a folder, which is made; returns their paths."""
    if home.exists() and not home.is_dir():
        raise DataError(f"{home}: is a file; name a folder")
    home.mkdir(parents=True, exist_ok=True)
    for name, columns in tables.items():
        write_table(columns, home / name)
    return [str(home / name) for name in tables]


def _crowd_tables(crowd: Any) -> dict[str, dict[str, AnyArray]]:
    """All tables of a crowd that labels items, by file name."""
    return _first_tables(crowd) | _further_tables(crowd)


def _first_tables(crowd: SimulatedCrowd) -> dict[str, dict[str, AnyArray]]:
    """The tables that every such crowd has."""
    truth = {"item": crowd.annotations.items, "truth": crowd.truth}
    return {
        "labels.csv": crowd.annotations.to_columns(),
        "truth.csv": truth,
        "annotators.csv": annotator_columns(crowd),
    }


def _was_simulated(path: Path) -> bool:
    """Whether the tables beside this file are those of a crowd that was simulated before."""
    try:
        return "scenario" in read_json(path, max_bytes=_LONGEST)
    except (DataError, TypeError):
        return False


def annotator_columns(crowd: SimulatedCrowd) -> dict[str, AnyArray]:
    """Columns about each annotator: behaviour, accuracy, and the accuracy in each class."""
    accuracy_ak = np.einsum("akk->ak", crowd.confusion)
    names = crowd.annotations.classes
    return {
        "annotator": crowd.annotations.annotators,
        "behaviour": crowd.behaviour,
        "accuracy": accuracy_ak.mean(axis=1),
        **{f"right_{name}": accuracy_ak[:, k] for k, name in enumerate(names)},
        **crowd.annotator_notes,
    }


def _further_tables(crowd: SimulatedCrowd) -> dict[str, dict[str, AnyArray]]:
    """The tables of features, test items and sources, by file name."""
    ann, test = crowd.annotations, crowd.test
    tables = {}
    if crowd.features is not None:
        items = Items(np.zeros(len(ann), dtype=np.int32), crowd.features)
        tables["features.csv"] = _feature_columns(ann.items, items)
    if test is not None:
        names = np.arange(len(ann), len(ann) + len(test.truth))
        tables["test_truth.csv"] = {"item": names, "truth": ann.classes[test.truth]}
        if test.features is not None:
            tables["test_features.csv"] = _feature_columns(names, test)
    if crowd.label_notes:
        pairs = {"item": ann.items[ann.item], "annotator": ann.annotators[ann.annotator]}
        tables["sources.csv"] = {**pairs, **crowd.label_notes}
    return tables


def _feature_columns(names: AnyArray, items: Items) -> dict[str, AnyArray]:
    flat = items.flat_features
    return {"item": names} | {f"x{j}": flat[:, j] for j in range(flat.shape[1])}
