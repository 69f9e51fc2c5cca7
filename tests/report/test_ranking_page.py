"""The page of a ranking holds what the ranking says, and obeys nothing in the data."""

import html

import numpy as np

import manyhands as mh
from manyhands.annotations import Comparisons
from manyhands.report import ranking_content, render_ranking, write_ranking_report
from simulated_pairs import simulate_pairs


def test_the_content_follows_the_ranking():
    ranking = mh.aggregate(simulate_pairs(1, tie=-0.5)[0])
    rows = ranking_content(ranking)["items"]["rows"]
    assert [row["name"] for row in rows] == [str(name) for name in ranking.items[ranking.order]]
    assert rows[0]["rank"] == 1
    assert rows[-1]["above_next"] is None
    assert all(row["marks"][0] <= row["marks"][1] <= row["marks"][2] for row in rows)
    people = ranking_content(ranking)["annotators"]["rows"]
    have = ranking_content(ranking)["summary"]["have"][0]
    pairs = ranking.comparisons
    assert have.startswith(f"{len(pairs):,} comparisons of {pairs.n_items} items by ")
    assert have.endswith("% are ties.")
    assert [row["quality"] for row in people] == sorted(row["quality"] for row in people)


def test_names_are_escaped_and_there_is_no_script(tmp_path):
    items = np.array(["<script>alert(1)</script>", "b\u202e", "c"])
    pairs = Comparisons.from_arrays(
        items[[0, 1, 2]], items[[1, 2, 0]], list("uvw"), items[[0, 1, 0]]
    )
    content = ranking_content(mh.aggregate(pairs, position_bias="annotator"), title="<b>")
    page = render_ranking(content)
    assert "<script" not in page
    assert "\u202e" not in page
    assert "default-src 'none'" in html.unescape(page)
    assert write_ranking_report(content, tmp_path / "page.html") == len(page.encode())


def test_an_anonymous_page_has_no_names():
    pairs = Comparisons.from_arrays(["Tom", "Xi"], ["Una", "Yo"], ["Eve", "Eve"], ["Tom", "Yo"])
    page = render_ranking(ranking_content(mh.aggregate(pairs), anonymous=True))
    for name in ("Tom", "Una", "Xi", "Yo", "Eve"):
        assert name not in page.replace("Your", "")
    assert "item 1" in page
    assert "Group" in page
