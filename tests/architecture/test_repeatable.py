"""Tests give the same outcome every time: nothing in them is left to chance or to the clock."""

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def drawn():
    """The examples of a property test."""
    seen = []

    @given(st.integers(), st.floats(allow_nan=False), st.text())
    def look(whole, decimal, text):
        seen.append((whole, decimal, text))

    look()
    return seen


@pytest.mark.skipif(not settings.default.derandomize, reason="examples are drawn at random")
def test_examples_do_not_depend_on_the_modules_that_are_loaded(tmp_path, monkeypatch):
    first = drawn()
    assert len(first) == settings.default.max_examples
    constants = [f"{7919 * n}, {n / 7}, 'word {n}'" for n in range(300)]
    module = ModuleType("of_our_own")
    module.__file__ = str(tmp_path / "of_our_own.py")
    (tmp_path / "of_our_own.py").write_text("\n".join(constants))
    monkeypatch.setitem(sys.modules, "of_our_own", module)
    assert drawn() == first


TESTS = Path(__file__).parents[1]
BY_CHANCE = {TESTS / "fuzz.py", TESTS / "rooms.py", *TESTS.glob("fuzzing/*.py")}
FILES = sorted(set(TESTS.rglob("*.py")) - BY_CHANCE)
SEEDED = {"default_rng", "Generator", "Random", "manual_seed", "seed", "get_state"}
DRAWS = {"rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "poisson"}
CHANCE = {"urandom", "uuid1", "uuid4", "randbelow", "token_hex"}
CLOCKS = {"time", "datetime"}
SETTLED = {"deadline", "derandomize", "database", "suppress_health_check"}  # by the profile


def left_to_chance(source):
    """Lines of a program that draw without a seed, look at a clock or undo the profile."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {node.module} if isinstance(node, ast.ImportFrom) else {
                alias.name for alias in node.names
            }  # fmt: skip
            if names & CLOCKS:
                yield node.lineno
        if isinstance(node, ast.Call) and _is_chance(node):
            yield node.lineno


def _is_chance(call):
    *owner, name = ast.unparse(call.func).split(".")
    given = {keyword.arg for keyword in call.keywords}
    if name in SEEDED:
        return name == "default_rng" and not call.args
    if owner[-1:] == ["random"]:  # random.choice, np.random.choice
        return True
    if owner == ["torch"] and name.removesuffix("_like") in DRAWS:
        return "generator" not in given
    if name.endswith("_") and name.removesuffix("_") in {
        *DRAWS,
        "uniform",
        "random",
        "exponential",
    }:
        return "generator" not in given
    return name in CHANCE or (name == "settings" and bool(given & SETTLED))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_nothing_is_left_to_chance_or_to_the_clock(path):
    if path == TESTS / "conftest.py":  # it makes the profile
        return
    assert list(left_to_chance(path.read_text())) == []


@pytest.mark.parametrize(
    "line",
    [
        "torch.randn(3)", "torch.rand_like(x)", "x.normal_()", "np.random.rand(3)",
        "np.random.default_rng()", "random.choice(x)", "os.urandom(2)", "import time",
        "from time import sleep", "settings(deadline=None)", "import datetime",
    ],
)  # fmt: skip
def test_chance_is_seen(line):
    assert list(left_to_chance(line)) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "torch.randn(3, generator=g)", "np.random.default_rng(0)", "random.Random(seed)",
        "rng.normal(size=3)", "np.random.seed(5)", "settings(max_examples=3)",
    ],
)  # fmt: skip
def test_seeds_are_no_chance(line):
    assert list(left_to_chance(line)) == []
