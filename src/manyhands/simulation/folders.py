"""A simulated crowd as a folder of files that any reader reads."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError
from manyhands.io import whole_file, write_annotations, write_table
from manyhands.simulation.crowds import SimulatedCrowd
from manyhands.simulation.scenarios import CrowdSettings


def write_crowd(
    crowd: SimulatedCrowd, folder: str | Path, scenario: str, settings: CrowdSettings
) -> list[str]:
    """Write labels.csv, truth.csv, annotators.csv and scenario.json; the paths written."""
    written = write_labels_and_truth(crowd, folder)
    described = Path(folder) / "scenario.json"
    with whole_file(described) as stream:
        content = {"scenario": scenario} | asdict(settings)
        stream.write((json.dumps(content, indent=2) + "\n").encode())
    return [*written, str(described)]


def write_labels_and_truth(crowd: SimulatedCrowd, folder: str | Path) -> list[str]:
    """Write labels.csv, truth.csv and annotators.csv; the paths written."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise DataError(f"{home}: is a file; name a folder")
    home.mkdir(parents=True, exist_ok=True)
    paths = [home / name for name in ("labels.csv", "truth.csv", "annotators.csv")]
    write_annotations(crowd.annotations, paths[0])
    write_table({"item": crowd.annotations.items, "truth": crowd.truth}, paths[1])
    write_table(annotator_columns(crowd), paths[2])
    return [str(path) for path in paths]


def annotator_columns(crowd: SimulatedCrowd) -> dict[str, AnyArray]:
    """What each simulated annotator is: behaviour, accuracy, and how often right in each class."""
    right_ak = np.einsum("akk->ak", crowd.confusion)
    names = crowd.annotations.classes
    return {
        "annotator": crowd.annotations.annotators,
        "behaviour": crowd.behaviour,
        "accuracy": right_ak.mean(axis=1),
    } | {f"right_{name}": right_ak[:, k] for k, name in enumerate(names)}
