"""The page of a report: one file, everything escaped, nothing from elsewhere."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hostile_names import HEBREW, LONG, NAMES, hostile_labels

import manyhands as mh
from manyhands.report import page as pages
from manyhands.report import report_content, write_report
from manyhands.simulation import SCENARIOS, CrowdSettings


class Elements(HTMLParser):
    """The elements of a page, their attributes, and their text; void elements have no end."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text.append(data)


@pytest.fixture(scope="module", autouse=True)
def _small_library():
    """The library of charts takes seconds to bundle; the browser tests use it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "chart_library", lambda: "window.drawChart = async () => {};")
        yield


def parsed(ann, **settings):
    return Elements(pages.render(report_content(mh.aggregate(ann), **settings)))


def test_hostile_names_are_text_and_nothing_else():
    page = parsed(hostile_labels(), title=NAMES[0])
    tame = parsed(SCENARIOS["confusions"](CrowdSettings(n_items=30)).annotations)
    assert page.open == tame.open == []
    assert set(page.tags) == set(tame.tags)
    assert page.tags.count("script") == tame.tags.count("script") == 4
    assert {name for _, name, _ in page.attributes} <= {name for _, name, _ in tame.attributes}
    text = "".join(page.text)
    for name in NAMES[:4] + NAMES[5:8]:
        assert name in text
    assert HEBREW in text
    assert "abc\\u202egpj.exe" in text  # what turns the direction of writing is written out
    assert f"{LONG[:120]}… (10,000 characters)" in text
    assert LONG[:400] not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)


def test_words_from_right_to_left_stand_alone_in_sentences():
    ann = mh.Annotations.from_arrays(
        [1, 1, 1, 2, 2, 2], list("abcabc"), [HEBREW, "x", HEBREW, "x", "x", HEBREW]
    )
    text = pages.render(report_content(mh.aggregate(ann, "majority")))
    assert f"2 of 3 say “<bdi>{HEBREW}</bdi>”, 1 of 3 says “x”" in text


def test_nothing_is_asked_from_elsewhere():
    page = parsed(hostile_labels())
    addresses = [value for _, name, value in page.attributes if name in ("src", "href", "action")]
    assert addresses
    assert all(value.startswith(("#", "data:")) for value in addresses)
    policy = next(value for _, name, value in page.attributes if name == "content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy


def test_data_of_scripts_hold_no_markup():
    text = pages.render(report_content(mh.aggregate(hostile_labels())))
    data = re.search('<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert not set("<>&") & set(data[1])
    assert "manyhands" in text


def test_every_id_is_once_and_every_link_has_its_place():
    page = parsed(SCENARIOS["spammers"](CrowdSettings(n_items=60)).annotations)
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = [value[1:] for _, name, value in page.attributes if name == "href" and "#" in value]
    assert set(links) <= set(ids)
    controls = {v for _, name, v in page.attributes if name in ("aria-controls", "aria-labelledby")}
    assert controls <= set(ids)


def test_a_report_is_written_whole(tmp_path):
    content = report_content(mh.aggregate(hostile_labels()))
    n_bytes = write_report(content, tmp_path / "report.html")
    written = (tmp_path / "report.html").read_bytes()
    assert len(written) == n_bytes
    assert written.decode() == pages.render(content)
    with pytest.raises(mh.ManyhandsError, match="no such folder"):
        write_report(content, tmp_path / "none" / "report.html")


def test_the_same_labels_give_the_same_page():
    ann = SCENARIOS["spammers"](CrowdSettings(n_items=60)).annotations
    one, two = (pages.render(report_content(mh.aggregate(ann))) for _ in range(2))
    assert one == two


def test_the_size_does_not_grow_with_the_items():
    sizes = [
        len(pages.render(report_content(mh.aggregate(_wide(n_items), "majority"))))
        for n_items in (6_000, 20_000)
    ]
    assert sizes[1] < 1.1 * sizes[0]


def _wide(n_items):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, (n_items, 3))
    return mh.Annotations.from_dense(label)
