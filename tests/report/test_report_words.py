"""Reports say of levels, numbers, sets, tokens and comparisons what fits them."""

import json

import numpy as np
import pytest

import manyhands as mh
from manyhands.aggregation import aggregate_tokens
from manyhands.annotations import Sentences, TokenLabels
from manyhands.checks import check, flag_annotators
from manyhands.report import annotators, ranking_content, report_content
from manyhands.report import page as pages
from manyhands.report.charts import charts
from manyhands.report.ranking_words import AGAINST, BY_SCORES, GUESSES
from manyhands.report.spans import SpanView
from manyhands.report.wording import FEW_MORE, MAX_NAMES, names_of


def rated(off, n_items=150, n_levels=5, seed=0):
    """Every annotator is `off` levels from the truth, up or down; None is drawn at random."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, n_levels + 1, n_items)
    columns = []
    for most in off:
        if most is None:
            columns.append(rng.integers(1, n_levels + 1, n_items))
            continue
        step = rng.integers(0, most + 1, n_items) * rng.choice([-1, 1], n_items)
        columns.append(np.clip(truth + step, 1, n_levels))
    label = np.stack(columns, axis=1)
    item, annotator = np.indices(label.shape)
    return mh.Annotations.from_arrays(
        item.ravel(), annotator.ravel(), label.ravel(), kind="ordinal"
    )


def test_annotators_near_the_level_are_not_weak():
    """Those one level off in most cases are wrong more often than right, and still useful."""
    content = report_content(
        mh.aggregate(rated([1, 1, 1, 1, 2, 5], n_levels=9), "ordinal-dawid-skene")
    )
    rows = {row["name"]: row for row in content["annotators"]["rows"]}
    assert rows["4"]["quality"] < 0.5
    assert [name for name, row in rows.items() if row["weak"]] == ["5"]
    assert " levels on average, more than half of the " in rows["5"]["weak"]
    trust = " ".join(content["summary"]["trust"])
    assert (
        "1 is expected to be off by more than half as many levels as labels at random: 5." in trust
    )
    assert "wrong more often than right" not in trust
    assert any("% of the items (right or one level off for " in line
               for line in content["summary"]["have"])  # fmt: skip


def test_the_report_of_numbers_speaks_of_no_classes():
    rng = np.random.default_rng(1)
    truth = rng.normal(50, 10, 120)
    label = truth[:, None] + rng.normal(0, 3, (120, 5))
    label[:, 3], label[:, 4] = rng.normal(50, 10, 120), 50.0
    label[7, 0] += 60.0
    ann = mh.Annotations.from_dense(label)
    evidence = {flag.kind: flag.evidence for flag in flag_annotators(ann)}
    assert evidence["constant"] == "the 120 labels are all 50, while the items vary"
    assert evidence["random"].startswith(
        "the 120 labels follow the order of items by the others to"
    )
    summary = report_content(mh.aggregate(ann))["summary"]
    assert "by class" not in " ".join(summary["agree"])
    assert summary["have"][1].startswith("They are ")
    (hard,) = [line for line in summary["next"] if "unusually far apart" in line]
    assert "first 7" in hard


def test_mistakes_of_sets_are_shares_of_the_labels_they_could_be_made_in():
    sets = [[{"a"}, {"a"}, {"a", "b"}]] * 10 + [[{"b"}, {"b"}, {"b"}]] * 30
    rows = [(i, who, said) for i, row in enumerate(sets) for who, said in enumerate(row)]
    ann = mh.Annotations.from_arrays(*zip(*rows, strict=True), kind="multilabel")
    (found,) = report_content(mh.aggregate(ann, "multilabel-majority"))["confusions"]["common"]
    assert (found["consensus"], found["label"], found["labels"]) == ("nothing", "b", 10)
    assert found["share"] == round(10 / 30, 4)  # b was added to 10 of 30 labels of items without it


def test_tokens_are_counted_as_tokens_and_shown_among_their_words():
    sentences = Sentences.from_lists([["Ann", "lives", "in", "Rome", "now"], ["Bob", "sleeps"]])
    said = [[1, 0, 0, 2, 0, 1, 0], [1, 0, 0, 3, 0, 1, 0]]
    labels = TokenLabels.from_codes(
        sentences, [*range(7)] * 2, [0] * 7 + [1] * 7, said[0] + said[1], ["x", "y"],
        ["O", "B-PER", "B-LOC", "B-ORG"],
    )  # fmt: skip
    consensus = aggregate_tokens(sentences, labels.annotations, "majority")
    view = SpanView(labels=labels, consensus=consensus)
    content = report_content(consensus.tokens, spans=view)
    assert content["summary"]["have"][0].startswith("14 labels of 7 tokens in 2 sentences by 2 ")
    assert content["sizes"]["sentences"] == 2
    first = content["actions"]["items"][0]
    assert first["text"] == "Ann lives in [Rome] now"
    assert any(line.startswith("Relabel 1 token ") for line in content["summary"]["next"])


def judged(seed=0):
    """Judges who follow the scores, one who guesses and one who says the opposite."""
    rng = np.random.default_rng(seed)
    score = np.linspace(-3, 3, 12)
    one, two = rng.integers(0, 12, (2, 1500))
    one, two = one[one != two], two[one != two]
    who = rng.integers(0, 7, len(one))
    chance = 1 / (1 + np.exp(score[two] - score[one]))
    chance = np.where(who == 5, 0.5, np.where(who == 6, 1 - chance, chance))
    left = rng.random(len(one)) < chance
    names = np.array([f"judge {a}" for a in range(7)])
    return mh.Comparisons.from_arrays(one, two, names[who], np.where(left, one, two))


def test_the_page_of_a_ranking_names_annotators_to_look_at():
    content = ranking_content(mh.aggregate(judged()))
    verdicts = {row["name"]: row["verdict"] for row in content["annotators"]["rows"]}
    assert verdicts == {f"judge {a}": BY_SCORES for a in range(5)} | {
        "judge 5": GUESSES, "judge 6": AGAINST,
    }  # fmt: skip
    summary = content["summary"]
    assert summary["have"][1].startswith("The best is 11 (rank 1")
    assert summary["trust"][0].startswith("5 of 7 annotators judge by the scores")
    assert "1 judges against the scores: judge 6." in summary["trust"]
    assert "1 cannot be told from guesses: judge 5." in summary["trust"]
    told = " ".join(summary["next"])
    assert "1 annotator disagrees with the others more often than by chance (judge 6): " in told
    assert "Look at some comparisons of judge 5, whose judgements" in told


def test_checks_count_one_annotator_in_the_singular():
    found = {each.check: each.message for each in check(judged()).findings}
    assert found["against-others"].startswith("1 annotator disagrees with the others")


def test_long_names_do_not_make_the_page_larger_than_the_limit():
    """Rows that do not fit are left out, those with flags last, and the page says how many."""
    rng = np.random.default_rng(0)
    n_items, n_annotators = 1500, 300
    truth = rng.integers(0, 3, n_items)
    item, annotator = np.repeat(np.arange(n_items), 10), np.tile(np.arange(n_annotators), 50)
    label = np.where(rng.random(len(item)) < 0.7, truth[item], rng.integers(0, 3, len(item)))
    label[annotator == 7] = 1
    names = np.array([f"{'名' * 100} {a}" for a in range(n_annotators)])
    consensus = mh.aggregate(mh.Annotations.from_arrays(item, names[annotator], label))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(annotators, "MAX_MARKUP", 200_000)
        content = report_content(consensus)
        patch.setattr(pages, "chart_library", lambda: "")
        page = pages.render(content)
    table = content["annotators"]
    assert table["n"] == n_annotators
    assert 100 < len(table["rows"]) < 180
    assert names[7] in [row["name"] for row in table["rows"]]
    section = page[page.index('<section id="annotators"') : page.index('<section id="agreement"')]
    chart = json.dumps(charts(content)["annotators"], ensure_ascii=False)
    assert len((section + chart).encode()) < 220_000
    assert f"{len(table['rows'])} of 300 are shown" in " ".join(section.split())


def test_classes_that_are_numbers_are_listed_in_their_order():
    said = {"10": 12, "2": 8, "1": 20}
    for names, order in ((said, ["1", "2", "10"]), ({"x": 3, "b": 9, "a": 6}, ["b", "a", "x"])):
        label = [name for name, n in names.items() for _ in range(n)]
        item = [n // 2 for n in range(len(label))]
        ann = mh.Annotations.from_arrays(item, [n % 2 for n in range(len(label))], label)
        rows = report_content(mh.aggregate(ann, "majority"))["classes"]
        assert [row["class"] for row in rows] == order


def test_short_lists_of_names_are_whole():
    names = [f"n{k}" for k in range(20)]
    assert names_of(names, list(range(MAX_NAMES + FEW_MORE))).endswith(" and n11")
    assert names_of(names, list(range(MAX_NAMES + FEW_MORE + 1))).endswith(" and 5 more")


@pytest.mark.parametrize(("most", "is_log"), [(40, False), (400, True)])
def test_the_axis_of_numbers_of_labels_says_that_it_is_logarithmic(most, is_log):
    """One annotator gives a label to every item, the other two to the first ten."""
    rows = [(i, a, i % 2) for i in range(most) for a in range(3) if a == 0 or i < 10]
    ann = mh.Annotations.from_arrays(*zip(*rows, strict=True))
    x = charts(report_content(mh.aggregate(ann, "majority")))["annotators"]["layer"][0]["encoding"][
        "x"
    ]
    assert (x["scale"].get("type") == "log") == is_log
    assert ("logarithmic" in x["axis"]["title"]) == is_log
