"""Progress bars are shown in a terminal and in a notebook, and nowhere else."""

from typing import ClassVar

import pytest
import rich.console
import rich.progress

from manyhands.engine.item_bar import item_bar
from manyhands.engine.progress import EpochBar

PLACES = {
    "terminal": {"force_terminal": True},
    "notebook": {"force_jupyter": True},
    "file": {"force_terminal": False, "force_jupyter": False},
}


class Bar(rich.progress.Progress):
    """Remembers what it was told; a notebook would need widgets to show it."""

    made: ClassVar = []

    def __init__(self, *columns, console, **given):
        super().__init__(*columns, console=console, disable=True)
        self.made.append(self)


@pytest.fixture(params=PLACES)
def bars(request, monkeypatch):
    """The bars that are made at a place, and whether there should be one."""
    about, real = PLACES[request.param], rich.console.Console
    monkeypatch.setattr(rich.console, "Console", lambda **given: real(**given, **about))
    monkeypatch.setattr(rich.progress, "Progress", Bar)
    monkeypatch.setattr(Bar, "made", [])
    return Bar.made, request.param != "file"


def test_epochs_and_their_loss(bars):
    made, wanted = bars
    bar = EpochBar(3)
    bar.add({"epoch": 2, "loss": 0.25})
    bar.close()
    assert [(bar.tasks[0].completed, bar.tasks[0].total) for bar in made] == [(2, 3)] * wanted
    assert ["loss 0.2500" in bar.tasks[0].description for bar in made] == [True] * wanted


def test_items_before_the_first_epoch(bars):
    made, wanted = bars
    for asked in (False, True):
        with item_bar("reading images", 5, asked) as done:
            done(2)
            done(3)
        assert len(made) == (wanted and asked)
    assert [bar.tasks[0].completed for bar in made] == [5] * wanted
