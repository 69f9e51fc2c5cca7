"""The syntax trees of the package, and what they import."""

import ast
from functools import cache
from pathlib import Path

import manyhands

# The order of docs/architecture.md: a room may import the rooms before it.
ROOMS = [
    "core", "annotations", "io", "simulation", "datasets", "evaluation", "agreement",
    "aggregation", "checks", "noise", "networks", "engine", "methods", "estimators", "selection",
    "experiments", "report", "scale", "cli",
]  # fmt: skip
HOME = Path(manyhands.__file__).parent
FILES = sorted(HOME.rglob("*.py"))


def name_of(path):
    """The path of a file within the package, for test ids and messages."""
    return str(path.relative_to(HOME))


def room_of_file(path):
    """The room of a file; None for the package's own __init__ and __main__."""
    room = path.relative_to(HOME).parts[0]
    return room if room in ROOMS else None


@cache
def tree_of(path):
    return ast.parse(path.read_text())


def room_of_module(module):
    """The room of a dotted module name such as manyhands.io.tables; None outside of rooms."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "manyhands" and parts[1] in ROOMS else None


def home_of(name):
    """The module that a public name of the package comes from: manyhands.aggregate -> its room."""
    return f"manyhands.{manyhands._HOMES.get(name, name)}"


def package_names(tree):
    """Local names of the package itself: mh after `import manyhands as mh`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "manyhands":
                    yield alias.asname or alias.name


def dotted(node):
    """The parts of an attribute chain: mh.checks.check -> ("mh", "checks", "check")."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (*([node.id] if isinstance(node, ast.Name) else []), *reversed(parts))


def package_attributes(tree):
    """Every attribute chain of the package, the longest only, without the package's name.

    Chains in string annotations count too.
    """
    local = set(package_names(tree))
    quoted = [
        ast.parse(node.value, mode="eval")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and any(node.value.startswith(f"{name}.") for name in local)
        and node.value.replace(".", "").isidentifier()
    ]
    for each in (tree, *quoted):
        inner = {id(n.value) for n in ast.walk(each) if isinstance(n, ast.Attribute)}
        for node in ast.walk(each):
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                chain = dotted(node)
                if chain[0] in local:
                    yield chain[1:]


def imported_modules(tree):
    """Every manyhands module that a tree imports or reaches as an attribute of the package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("manyhands."))
        elif isinstance(node, ast.ImportFrom) and node.module == "manyhands":
            yield from (home_of(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("manyhands."):
            yield node.module
    yield from (home_of(chain[0]) for chain in package_attributes(tree))
