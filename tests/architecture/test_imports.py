"""Rooms import only rooms above them, and nothing in production imports the simulator."""

import ast
import importlib
import subprocess
import sys

import pytest
from source_trees import (
    FILES,
    HOME,
    ROOMS,
    imported_modules,
    name_of,
    package_attributes,
    room_of_file,
    room_of_module,
    tree_of,
)

import manyhands

# Simulated crowds serve the demo, the experiments of papers and `manyhands simulate`.
SIMULATION_USERS = {
    "__init__.py",
    "cli/demo.py",
    "cli/simulate.py",
    "datasets/demo.py",
    "experiments/data.py",
    "experiments/network_annotators.py",
    "experiments/preferences.py",
    "experiments/figures/p3_theorem_1.py",
}


def wrong_imports(tree, room):
    """Rooms that a file of this room imports although they stand below it."""
    rooms = {room_of_module(module) for module in imported_modules(tree)}
    return sorted(each for each in rooms if each and ROOMS.index(each) > ROOMS.index(room))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_up(path):
    room = room_of_file(path)
    assert room is None or wrong_imports(tree_of(path), room) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_public_names_of_rooms_are_reached_through_the_package(path):
    private = []
    for chain in package_attributes(tree_of(path)):
        if chain[0] in ROOMS:
            public = importlib.import_module(f"manyhands.{chain[0]}").__all__
            private += [chain] if len(chain) > 1 and chain[1] not in public else []
        elif chain[0] not in manyhands.__all__ and chain[0] not in {"__file__", "__version__"}:
            private.append(chain)
    assert private == []


def test_only_these_files_import_the_simulator():
    users = {
        name_of(path)
        for path in FILES
        if room_of_file(path) != "simulation"
        and "simulation" in {room_of_module(module) for module in imported_modules(tree_of(path))}
    }
    assert users == SIMULATION_USERS


def test_every_folder_is_a_room():
    folders = {path.parent.relative_to(HOME).parts[0] for path in FILES if path.parent != HOME}
    assert folders <= set(ROOMS)


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("def f():\n    from manyhands.cli import app\n", ["cli"]),
        ("from manyhands import aggregate\n", ["aggregation"]),
        ("import manyhands as mh\nmh.CrowdClassifier()\n", ["estimators"]),
        ("import manyhands as mh\ndef f(c: 'mh.aggregation.Consensus'): ...\n", ["aggregation"]),
        ("import manyhands.selection\n", ["selection"]),
        ("import manyhands as mh\nmh.Annotations\n", []),
    ],
)
def test_wrong_imports_are_seen(source, wrong):
    assert wrong_imports(ast.parse(source), "io") == wrong


def test_attribute_chains_of_the_package_are_seen():
    tree = ast.parse("import manyhands as mh\nmh.checks.report._summarize(mh.checks.check(1).ok)\n")
    found = set(package_attributes(tree))
    assert ("checks", "report", "_summarize") in found
    assert ("checks", "check") in found


@pytest.mark.parametrize("statement", ["import manyhands", "import manyhands.aggregation"])
def test_heavy_libraries_stay_out(statement):
    heavy = ["torch", "matplotlib", "pandas.plotting._core", "transformers", "pyspark"]
    code = f"{statement}; import sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(done.stdout)
    assert [name for name in loaded if name != "pandas.plotting._core"] == []
    if statement == "import manyhands":
        assert loaded == []


def test_every_public_name_can_be_had():
    for name in manyhands.__all__:
        assert getattr(manyhands, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = manyhands.nonsense
