"""From the export of every tool to a report in one command: the examples of the pages on tools."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from command_line import call

from manyhands.report import page as pages

TOOLS = Path(__file__).parents[2] / "docs/how-to/tools"
PAGES = sorted(page for page in TOOLS.glob("*.md") if page.stem != "index")
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^manyhands aggregate (.*)$", re.MULTILINE)
READING = {"--item", "--annotator", "--label", "--layout", "--sheet"}  # of both commands
TOKENS = {"inception"}


@pytest.fixture(autouse=True)
def _small_library(monkeypatch):
    monkeypatch.setattr(pages, "chart_library", lambda: "window.drawChart = async () => {};")


def reading_words(command):
    """The files of a command and the options that say how they are read."""
    words, kept = shlex.split(command), []
    for n, word in enumerate(words):
        option = word if word.startswith("--") else words[n - 1] if n else ""
        if not option.startswith("--") or option in READING:
            kept.append(word)
    return kept


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_export_becomes_a_report_in_one_command(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, known = page.read_text(), {}
    command = COMMAND.search(text)
    with contextlib.redirect_stdout(io.StringIO()):
        for block in EXAMPLE.findall(text[: command.start()]):
            exec(compile(block, page.name, "exec"), known)
    outcome = call("report", *reading_words(command.group(1)), "--out", "report.html")
    assert outcome.code == 0, outcome
    made = (tmp_path / "report.html").read_text()
    assert "What to do next" in made
    assert ("Most contested spans" in made) == (page.stem in TOKENS)
