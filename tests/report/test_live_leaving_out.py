"""The local page leaves annotators out on a button or by name, and takes them back."""

import numpy as np
import pytest
from command_line import SMALL
from live_client import live_client, texts

from manyhands.report import page as report_page


@pytest.fixture(scope="module", autouse=True)
def _small_library():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_page, "chart_library", lambda: "window.drawChart = async () => {};")
        yield


@pytest.fixture(scope="module")
def live():
    with live_client(max_files=50, max_results=50) as client:
        yield client


def crowd(guesser="=cmd() <i>"):
    """Four who agree in most cases, and one who guesses."""
    rng = np.random.default_rng(0)
    lines = ["item,annotator,label"]
    for i in range(80):
        truth = rng.integers(0, 3)
        for a in range(4):
            lines.append(f"{i},u{a},{truth if rng.random() < 0.9 else rng.integers(0, 3)}")
        lines.append(f"{i},{guesser},{rng.integers(0, 3)}")
    return "\n".join(lines) + "\n"


def test_those_to_remove_are_left_out_on_a_button_and_taken_back(live):
    file = live.upload(crowd())
    result = live.run(file, "dawid-skene")
    page = live.get(result).text
    assert "Leave this annotator out" in texts(page)
    assert live.made(f"{result}/exclude", go="yes") == file
    shown = live.get(file).text
    assert "Note: 1 annotator excluded, with 80 labels" in texts(shown)
    assert "=cmd() &lt;i&gt;" in shown  # a name is text here too
    again = live.run(file, "dawid-skene")
    assert "320 labels of 80 items by 4 annotators" in texts(live.get(again).text)
    assert 'id="leave-out"' not in live.get(again).text
    assert "dawid-skene, without 1 annotator" in texts(live.get(file).text)
    live.made(f"{file}/columns", item="item", annotator="annotator", label="label")
    assert "excluded" in texts(live.get(file).text)  # they stay left out
    live.made(f"{file}/columns", readmit="yes")
    assert "400 labels" in texts(live.get(file).text)


def test_annotators_are_left_out_by_name(live):
    file = live.upload(crowd("v"))
    live.get(file)  # when it is read
    live.made(f"{file}/columns", exclude="v\r\n\r\nu3")
    assert "2 annotators excluded, with 160 labels" in texts(live.get(file).text)
    live.made(f"{file}/columns", exclude="nobody")
    shown = texts(live.get(file).text)
    assert "nobody" in shown
    assert "Take back those who are left out: v , u3 , nobody" in shown
    live.made(f"{file}/columns", readmit="yes", exclude="v")
    assert "1 annotator excluded, with 80 labels" in texts(live.get(file).text)


def test_nobody_is_left_out_where_nobody_should_be(live):
    result = live.run(live.upload(SMALL))
    live.get(result)
    answer = live.post(f"{result}/exclude", go="yes")
    assert answer.status_code == 409
    assert "nobody to leave out" in answer.text
    assert live.post("/results/999/exclude", go="yes").status_code == 404


def test_comparisons_of_items_are_told_where_they_are_ranked(live):
    file = live.upload("left,right,annotator,winner\na,b,u,left\nb,c,u,right\na,c,v,left\n")
    shown = texts(live.get(file).text)
    assert "compares items in pairs; manyhands report ranks them" in shown
