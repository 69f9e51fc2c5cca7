"""What a reader who knows nothing of a crowd learns from the text of its report alone.

Names of annotators, items and classes tell nothing. What is read is compared with what was planted.
"""

import random
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import manyhands as mh
from manyhands.core.settings import generator
from manyhands.report import page as pages
from manyhands.report import report_content
from manyhands.simulation import SCENARIOS, PlantedSettings

SETTINGS = PlantedSettings(
    n_annotators=60, n_items=900, n_classes=5, labels_per_item=6, share=0.2, hard_share=0.08, seed=4
)


class Tables(HTMLParser):
    """The texts of the cells of tables by caption, and of the steps that a list gives."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.steps, self.caption, self.place = {}, [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("caption", "th", "td", "li"):
            self.place = tag
        if tag == "caption":
            self.caption = ""
        elif tag == "tr":
            self.rows.setdefault(self.caption, []).append([])
        elif tag == "li":
            self.steps.append("")
        elif tag in ("th", "td"):
            self.rows[self.caption][-1].append("")

    def handle_endtag(self, tag):
        if tag in ("caption", "th", "td", "li"):
            self.place = ""

    def handle_data(self, data):
        if self.place == "caption":
            self.caption += data
        elif self.place == "li":
            self.steps[-1] += data
        elif self.place:
            self.rows[self.caption][-1][-1] += data


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["planted"](SETTINGS)


@pytest.fixture(scope="module")
def names():
    """Names that tell nothing, of annotators, items and classes."""
    rng = random.Random(SETTINGS.seed)
    sizes = (SETTINGS.n_annotators, SETTINGS.n_items, SETTINGS.n_classes)
    return [np.array([f"{rng.getrandbits(40):010x}" for _ in range(n)]) for n in sizes]


@pytest.fixture(scope="module")
def labels(crowd, names):
    ann = crowd.annotations
    who, what, classes = names
    return mh.Annotations.from_arrays(what[ann.item], who[ann.annotator], classes[ann.label])


@pytest.fixture(scope="module")
def read(labels):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "chart_library", lambda: "")
        return Tables(pages.render(report_content(mh.aggregate(labels))))


def rows_of(read, words):
    (found,) = [rows for caption, rows in read.rows.items() if words in caption]
    return found[1:]


def test_the_reader_removes_those_who_were_planted_and_nobody_else(crowd, names, read):
    who = names[0]
    rows = rows_of(read, "Annotators to remove or to look at")
    removed = {row[0] for row in rows if row[1] == "remove"}
    planted = np.isin(crowd.behaviour, ["random", "constant", "adversary"])
    assert removed == set(who[planted])
    pairs = {frozenset(row[0].split(" and ")) for row in rows if row[1] == "keep one of the two"}
    copycats = np.flatnonzero(crowd.behaviour == "copycat")
    source = crowd.annotator_notes["copies"]
    assert pairs == {frozenset([who[a], who[source[a]]]) for a in copycats}
    assert len(rows) == len(removed) + len(pairs)


def test_the_first_steps_name_them_too(crowd, names, read):
    steps = " ".join(text for text in read.steps if text.startswith("Remove"))
    for name in names[0][np.isin(crowd.behaviour, ["random", "constant", "adversary"])]:
        assert name in steps
    (pairs,) = [text for text in read.steps if text.startswith("Keep one annotator of each pair")]
    for name in names[0][crowd.behaviour == "copycat"]:
        assert name in pairs


def test_items_to_relabel_first_are_hard_or_have_a_wrong_consensus(crowd, names, labels, read):
    listed = [row[0] for row in rows_of(read, "Items to relabel first")]
    assert len(listed) == 10
    hard = generator(SETTINGS.seed, "hard items").random(SETTINGS.n_items) < SETTINGS.hard_share
    consensus = mh.aggregate(labels)
    said = dict(zip(consensus.annotations.items, consensus.labels, strict=True))
    wrong = np.array([said[name] for name in names[1]]) != names[2][crowd.truth]
    assert np.mean(hard | wrong) < 0.2
    assert np.mean((hard | wrong)[np.isin(names[1], listed)]) >= 0.7
    for _, why in rows_of(read, "Items to relabel first"):
        said, *rest = why.split("; ")
        counts = [int(part.split(" of ")[0]) for part in said.split(", ")]
        (gone,) = [part for part in rest if part.startswith("not counted")] or [""]
        removed = re.search(r"(one|\d) labels? of an", gone)
        more = 0 if removed is None else int(removed[1].replace("one", "1"))
        more += gone.count("who is not independent")
        assert sum(counts) + more == 6  # every label of the item is told
