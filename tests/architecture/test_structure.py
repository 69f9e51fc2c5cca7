"""Files and functions stay small, modules have a subject, and classes are not asked for their type.

`MAX_TYPE_CHECKS` may only fall: what differs by class is a method of the class.
"""

import ast

import pytest
from source_trees import FILES, name_of, package_names, tree_of

MAX_FILE_LINES = 350
MAX_BODY_LINES = 60
MAX_TYPE_CHECKS = 26
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_function_bodies_stay_small(path):
    long = {name: size for name, size in bodies(tree_of(path)) if size > MAX_BODY_LINES}
    assert long == {}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_modules_have_a_subject(path):
    assert not FORBIDDEN_NAMES & {path.stem, path.parent.name}


def test_type_checks_of_own_classes_only_become_fewer():
    classes = {
        node.name
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    }
    found = [f"{name_of(path)}: {each}" for path in FILES for each in checks_of(path, classes)]
    assert len(found) <= MAX_TYPE_CHECKS, "\n".join(found)


def bodies(tree):
    """Every function with the number of lines of its body, the docstring excluded."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            yield node.name, body[-1].end_lineno - body[0].lineno + 1 if body else 0


def checks_of(path, classes):
    """The isinstance, issubclass and `type(x) is` expressions of a file about own classes."""
    tree = tree_of(path)
    own = own_names(tree, classes)
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if is_call and node.func.id in {"isinstance", "issubclass"}:
            asked = node.args[1]
        elif isinstance(node, ast.Compare) and any(map(is_type_call, [node.left])):
            asked = ast.Tuple(node.comparators)
        else:
            continue
        if any(refers_to(each, own, classes) for each in ast.walk(asked)):
            yield ast.unparse(node)


def own_names(tree, classes):
    """Names in a file that stand for classes of the package, or for the package itself."""
    names = set(package_names(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("manyhands"):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
    return names


def refers_to(node, own, classes):
    """Whether an expression is a class of the package: Name, or mh.Name, or module.Name."""
    if isinstance(node, ast.Name):
        return node.id in own & classes
    if isinstance(node, ast.Attribute) and node.attr in classes:
        base = node.value
        while isinstance(base, ast.Attribute):
            base = base.value
        return isinstance(base, ast.Name) and base.id in own
    return False


def is_type_call(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def test_the_size_of_a_body_excludes_the_docstring():
    tree = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    a = 1\n    return a\n')
    assert list(bodies(tree)) == [("f", 2)]
