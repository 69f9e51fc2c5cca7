"""Names that come from data cannot move the cursor, forge a line, or break the output."""

import json
import os

import pytest
from command_line import assert_refused, call

from manyhands.cli.output import visible

ESCAPES = "\x1b[2J\x1b]0;title\x07"
FORGED = "ann\nERROR   nothing: all is well"


def table(*names):
    quoted = ['"{}"'.format(name.replace('"', '""')) for name in names]
    return "item,annotator,label\n" + "".join(f"{i},{name},x\n" for i, name in enumerate(quoted))


def test_what_is_visible():
    assert visible("a\x1b[2Jb\r\n\u202ec\x9b") == r"a\x1b[2Jb\r\n\u202ec\x9b"
    assert visible("Käse\t[red]x[/red]") == "Käse\t[red]x[/red]"
    assert len(visible("x" * 10**7)) < 5000


@pytest.mark.parametrize("command", ["check", "aggregate"])
def test_names_are_shown_escaped(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text(table(ESCAPES, FORGED, "[red]bold[/red]", "x"))
    outcome = (
        call(command, "labels.csv", "--out", "c.csv")
        if command == "aggregate"
        else call(command, "labels.csv")
    )
    assert outcome.code == 0, outcome
    for text in (outcome.out, outcome.err):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\nERROR   nothing" not in text


def test_json_is_valid_and_cannot_move_the_cursor(tmp_path):
    (tmp_path / "labels.csv").write_text(table(ESCAPES, "\x9b1m", "x"))
    out = call("check", tmp_path / "labels.csv", "--json").out
    json.loads(out)
    assert not set(out) & set("\x1b\x07\x9b")


def test_an_error_is_one_short_line(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\n" + "x" * 10**6 + ",u,\n")
    outcome = call("aggregate", tmp_path / "labels.csv")
    assert_refused(outcome)
    assert len(outcome.err) < 5000


def test_markup_in_a_path_is_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "[bold]labels[red].csv").write_text(table("u", "v"))
    assert call("check", "[bold]labels[red].csv").code == 0
    assert_refused(call("aggregate", "[/red]missing.csv"))


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_is_not_converted_onto_itself(link, tmp_path):
    source, same = tmp_path / "a.csv", tmp_path / "b.csv"
    text = "item,annotator,label,time\na,u,x,1\na,v,y,2\n"
    source.write_text(text)
    link(source, same)
    for target in (source, same):
        for more in ((), ("--to", "wide")):
            assert_refused(call("convert", source, target, *more))
            assert source.read_text() == text


def test_nul_in_an_argument_is_refused(tmp_path):
    (tmp_path / "labels.csv").write_text(table("u", "v"))
    assert_refused(call("aggregate", "a\x00b.csv"))
    assert_refused(call("aggregate", tmp_path / "labels.csv", "--out", "a\x00b.csv"))
