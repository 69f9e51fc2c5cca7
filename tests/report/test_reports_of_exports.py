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
REPORT = re.compile(r"^manyhands (report .* --out report\.html)$", re.MULTILINE)
TOKENS = {"inception"}


@pytest.fixture(autouse=True)
def _small_library(monkeypatch):
    monkeypatch.setattr(pages, "chart_library", lambda: "window.drawChart = async () => {};")


def test_the_table_of_tools_has_every_page_and_a_picture_of_the_report():
    text = (TOOLS / "index.md").read_text()
    rows = "".join(line for line in text.splitlines() if line.startswith("|"))
    assert {page.name for page in PAGES} == set(re.findall(r"\]\(([\w-]+\.md)\)", rows))
    assert "manyhands report EXPORT" in text
    for picture in re.findall(r"!\[.+\]\((\S+)\)", text):
        assert (TOOLS / picture).is_file()
    assert text.count("images/report.png") == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_export_becomes_a_report_in_one_command(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, known = page.read_text(), {}
    commands = REPORT.findall(text)
    assert len(commands) == 1, "a page shows one command that writes a report"
    with contextlib.redirect_stdout(io.StringIO()):
        for block in EXAMPLE.findall(text[: text.index(commands[0])]):
            exec(compile(block, page.name, "exec"), known)
    assert "](../../images/report.png)" in text[text.index(commands[0]) :]
    outcome = call(*shlex.split(commands[0]))
    assert outcome.code == 0, outcome
    made = (tmp_path / "report.html").read_text()
    assert "What to do next" in made
    assert ("Most contested spans" in made) == (page.stem in TOKENS)
