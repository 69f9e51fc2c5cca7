"""Rooms import only rooms above them, function-local imports included."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import manyhands

ROOMS = [
    "core", "annotations", "io", "simulation", "datasets", "evaluation", "agreement",
    "aggregation", "checks", "noise", "networks", "engine", "methods", "estimators", "selection",
    "experiments", "report", "scale", "cli",
]  # fmt: skip
HOME = Path(manyhands.__file__).parent
FILES = sorted(HOME.rglob("*.py"))


def imported_modules(tree):
    """Every manyhands module that a syntax tree imports, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("manyhands"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("manyhands"):
            if node.module == "manyhands":
                yield from (f"manyhands.{alias.name}" for alias in node.names)
            else:
                yield node.module


def room_of(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else None


def wrong_imports(source, room):
    """Rooms that a file of this room imports though they stand below it."""
    place = ROOMS.index(room)
    rooms = {room_of(module) for module in imported_modules(ast.parse(source))}
    return sorted(each for each in rooms if each and ROOMS.index(each) > place)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_imports_point_up(path):
    room = path.relative_to(HOME).parts[0]
    if room not in ROOMS:  # the package's own __init__ and __main__ stand above no room
        return
    assert wrong_imports(path.read_text(), room) == []


def test_every_folder_is_a_room():
    folders = {path.parent.relative_to(HOME).parts[0] for path in FILES if path.parent != HOME}
    assert folders <= set(ROOMS)


def test_a_function_local_import_is_seen():
    source = "def f():\n    from manyhands.cli import app\n"
    assert wrong_imports(source, "io") == ["cli"]


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= 350
