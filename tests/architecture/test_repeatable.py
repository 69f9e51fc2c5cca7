"""Tests give the same outcome every time: nothing in them is left to chance or to the clock."""

import sys
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
