"""Making runs: progress, memory, and libraries that are not installed."""

import builtins
import subprocess
import sys

import pytest
from rich.console import Console
from rich.progress import Progress

from manyhands.experiments import EXPERIMENTS, Records, RunOptions, drawing, run_missing, runs

TINY = "p3/figure-1"


def without(monkeypatch, *names):
    """Make imports of some libraries fail."""
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] in names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.mark.parametrize(
    ("place", "about"),
    [
        ("terminal", {"force_terminal": True}),
        ("notebook", {"force_jupyter": True}),
        ("file", {"force_terminal": False, "force_jupyter": False}),
    ],
)
def test_progress_is_shown_in_a_terminal_and_in_a_notebook(place, about, data, monkeypatch):
    shown = []

    class Bar(Progress):
        """Remembers whether it is shown; a notebook would need widgets to show it."""

        def __init__(self, *columns, disable, **given):
            shown.append(not disable)
            super().__init__(*columns, disable=True, **given)

    monkeypatch.setattr(runs, "Console", lambda **given: Console(**given, **about))
    monkeypatch.setattr(runs, "Progress", Bar)
    made = EXPERIMENTS[TINY].runs(RunOptions(data=data))
    run_missing(made, Records(), data, progress=True)
    assert shown == [place != "file"]


def test_no_progress_unless_asked_for(data, monkeypatch, capsys):
    monkeypatch.setattr(runs, "Console", lambda **given: Console(force_terminal=True, **given))
    run_missing(EXPERIMENTS[TINY].runs(RunOptions(data=data)), Records(), data)
    assert capsys.readouterr().err == ""


def test_memory_is_unknown_where_the_system_does_not_report_it(monkeypatch, tmp_path):
    assert runs.peak_mib() > 1
    monkeypatch.setattr(runs, "_LINUX_STATUS", tmp_path / "nothing")
    assert runs.peak_mib() > 1
    monkeypatch.delitem(sys.modules, "resource", raising=False)
    without(monkeypatch, "resource")
    assert runs.peak_mib() is None


def test_a_figure_without_matplotlib_says_how_to_install_it(monkeypatch):
    def refuse(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("manyhands.core.drawing.import_module", refuse)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'manyhands\[plot\]'"):
        drawing.new_figure(1.0, 1.0, "title")


@pytest.mark.slow
def test_experiments_are_imported_without_matplotlib():
    code = "import manyhands.experiments, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
