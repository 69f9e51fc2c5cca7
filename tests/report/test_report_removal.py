"""What a report says of leaving annotators out: numbers before and after, and the command."""

import json

import numpy as np
import pytest

import manyhands as mh
from manyhands.report import profile_annotators, report_content
from manyhands.report.items import choose_items, rows_that_fit
from manyhands.report.removal import MAX_TYPED, Removal, exclusion_commands
from manyhands.simulation import SCENARIOS, PlantedSettings


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["planted"](
        PlantedSettings(n_annotators=40, n_items=500, labels_per_item=5, share=0.3, seed=7)
    )


@pytest.fixture(scope="module")
def labels(crowd):
    """The same with names."""
    ann = crowd.annotations
    return mh.Annotations.from_arrays(
        ann.item, [f"ann {a}" for a in ann.annotator], np.array(list("abcd"))[ann.label]
    )


@pytest.fixture(scope="module")
def removal(labels):
    return Removal.of(profile_annotators(mh.aggregate(labels)))


@pytest.fixture(scope="module")
def content(removal):
    return report_content(removal.profiles.consensus, file="labels.csv")


def test_numbers_without_them_are_those_of_the_labels_that_are_left(labels, removal, content):
    gone = labels.annotators[removal.profiles.left_out]
    rest = labels.without_annotators(gone)
    after = mh.aggregate(rest)
    rows = {row["what"]: row for row in content["removal"]["rows"]}
    assert rows["Labels"]["without"] == rest.n_annotations
    assert rows["Annotators"]["now"] - rows["Annotators"]["without"] == len(gone)
    few = rows["Items with fewer than two labels"]
    assert few["without"] == (rest.labels_per_item < 2).sum()
    alpha = rows["Krippendorff's alpha (nominal)"]
    assert alpha["now"] == pytest.approx(mh.agreement.alpha(labels).value, abs=1e-4)
    assert alpha["without"] == pytest.approx(mh.agreement.alpha(rest).value, abs=1e-4)
    assert alpha["without"] > alpha["now"]
    unsure = rows["Items with a confidence below 0.7"]
    assert unsure["now"] == (removal.profiles.consensus.confidence < 0.7).sum()
    assert unsure["without"] == (after.confidence < 0.7).sum() == content["items"]["relabel"]["n"]
    changed = removal.profiles.consensus.labels != after.labels
    assert rows["Items whose consensus becomes another"]["without"] == changed.sum()


def test_leaving_out_makes_the_consensus_of_planted_crowds_more_often_right(crowd, removal):
    truth = np.array(list("abcd"))[crowd.truth[removal.rest.annotations.items.astype(int)]]
    now, after = (each.labels == truth for each in (removal.profiles.consensus, removal.rest))
    assert after.mean() > now.mean()
    decided = removal.decided_by_copies
    assert decided.any()
    assert after[decided].mean() > now[decided].mean()


def test_one_of_each_pair_stays(crowd, labels, removal):
    profiles = removal.profiles
    source = crowd.annotator_notes["copies"]
    planted = {
        frozenset([f"ann {a}", f"ann {source[a]}"])
        for a in np.flatnonzero(crowd.behaviour == "copycat")
    }
    found = {frozenset(labels.annotators[group].tolist()) for group in profiles.copying}
    assert found == planted
    for kept, *spare in profiles.copying:
        assert not profiles.left_out[kept]
        assert profiles.spare[spare].all()
        assert labels.labels_per_annotator[kept] >= labels.labels_per_annotator[spare].max()


def test_the_expected_accuracy_is_the_mean_confidence(removal, content):
    expected = removal.profiles.consensus.confidence.mean()
    assert content["expected"] == pytest.approx(expected, abs=1e-4)
    (told,) = [line for line in content["summary"]["have"] if "expected to be right" in line]
    assert f"for {100 * expected:.0f} % of the items" in told
    assert f"for {100 * removal.rest.confidence.mean():.0f} % without" in told
    assert "rests on the labels alone" in told


def test_reasons_count_the_labels_that_are_left(content, removal, labels):
    profiles = removal.profiles
    spare = {a: group[0] for group in profiles.copying for a in group[1:]}
    told = 0
    for row in content["actions"]["items"]:
        said, *rest = row["why"].split("; ")
        code = labels.item_vocabulary.code(row["item"])
        mine = labels.annotator[labels.item == code]
        n_left = int((~profiles.left_out[mine]).sum())
        assert sum(int(part.split(" of ")[0]) for part in said.split(", ")) == n_left
        assert f" of {n_left} say" in said or n_left == 1
        gone = " ".join(part for part in rest if part.startswith("not counted: "))
        n_removed = int(profiles.untrusted[mine].sum())
        assert ("to remove" in gone) == bool(n_removed)
        for a in set(mine) & set(spare):
            one, other = labels.annotators[[a, spare[a]]]
            assert f"the label of {one}, who is not independent of {other}" in gone
            told += 1
    assert told


def test_all_lists_of_items_show_the_consensus_of_the_labels_that_are_left(content, removal):
    judged = removal.judged
    items = [str(name) for name in judged.annotations.items]
    differs = 0
    for name in ("relabel", "hard", "contested"):
        for row in content["items"][name]["rows"]:
            code = items.index(row["item"])
            assert row["consensus"] == judged.labels[code]
            assert row["confidence"] == pytest.approx(judged.confidence[code], abs=1e-3)
            all_labels = removal.profiles.consensus.labels[code]
            assert row["now"] == (all_labels if all_labels != judged.labels[code] else None)
            differs += row["now"] is not None
    assert differs


def test_items_that_keep_fewer_than_two_labels_are_named(content, removal):
    left_i = removal.rest.annotations.labels_per_item
    named = content["removal"]["few"]
    assert named["n"] == (left_i < 2).sum() > 0
    assert named["names"] == [str(name) for name in removal.rest.annotations.items[left_i < 2]][:20]


def test_annotators_are_marked_in_lists_of_items(content, removal, labels):
    marked = {}
    for row in content["items"]["contested"]["rows"]:
        for each in row["labels"]:
            marked |= {name.rstrip(" †‡"): name[-1] for name in each["annotators"]}
    for a, name in enumerate(labels.annotators):
        if name in marked:
            sign = "†" if removal.profiles.untrusted[a] else None
            spare = bool(removal.profiles.spare[a])
            assert (marked[name] if marked[name] in "†‡" else None) == (sign or "‡" * spare or None)


def test_many_names_are_a_file_and_odd_names_are_counted():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 400)
    good = np.where(rng.random((400, 12)) < 0.9, truth[:, None], rng.integers(0, 4, (400, 12)))
    bad = np.tile(np.arange(MAX_TYPED + 2) % 4, (400, 1))
    names = [f"good {n}" for n in range(12)] + ["odd\u202ename"]
    names += [f"bad {n}" for n in range(MAX_TYPED + 1)]
    ann = mh.Annotations.from_dense(np.hstack([good, bad]), annotators=names)
    profiles = profile_annotators(mh.aggregate(ann, "dawid-skene"))
    assert profiles.untrusted.sum() == MAX_TYPED + 2
    found = exclusion_commands(profiles, "labels.csv", n_relabel=0)
    assert found["aggregate"] == (
        "manyhands aggregate labels.csv --exclude-from exclude.txt --method dawid-skene "
        "--out consensus.csv"
    )
    assert sorted(found["names"]) == sorted(f"bad {n}" for n in range(MAX_TYPED + 1))
    assert found["n_untyped"] == 1


def test_nobody_to_leave_out_changes_nothing():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 200)
    label = np.where(rng.random((200, 5)) < 0.9, truth[:, None], rng.integers(0, 3, (200, 5)))
    consensus = mh.aggregate(mh.Annotations.from_dense(label))
    content = report_content(consensus)
    assert content["removal"] is None
    assert content["items"]["relabel"]["n"] == (consensus.confidence < 0.7).sum()


def test_an_anonymous_report_has_no_command_with_names(removal):
    found = report_content(removal.profiles.consensus, anonymous=True, file="labels.csv")
    assert found["removal"]["commands"] is None
    assert "--exclude" not in json.dumps(found)


def test_weak_annotators_are_to_look_at():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, 300)
    right = rng.random((300, 6)) < np.array([0.4, 0.9, 0.9, 0.85, 0.85, 0.8])
    label = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 4, (300, 6))) % 4)
    names = ["weak", "b", "c", "d", "e", "f"]
    content = report_content(mh.aggregate(mh.Annotations.from_dense(label, annotators=names)))
    (row,) = content["actions"]["annotators"]["rows"]
    assert (row["names"], row["action"], row["kind"]) == (["weak"], "look at some labels", "weak")
    assert content["summary"]["trust"][0].startswith("Nothing speaks against 5 of 6 annotators")
    assert any(line.endswith("than right: weak.") for line in content["summary"]["trust"])
    told = {each["name"]: each["weak"] for each in content["annotators"]["rows"]}
    assert told.pop("weak") == "expected to be wrong more often than right"
    assert not any(told.values())
    (look,) = [line for line in content["summary"]["next"] if line.startswith("Look at")]
    assert look.startswith("Look at some labels of weak, who is expected to be wrong more often")
    assert content["removal"] is None  # to look at is not to remove


def test_hard_items_are_beyond_what_is_usual():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 4, 1000)
    is_hard = np.arange(1000) < 40
    p_right = np.where(is_hard, 0.3, 0.85)[:, None]
    right = rng.random((1000, 8)) < p_right
    label = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 4, (1000, 8))) % 4)
    consensus = mh.aggregate(mh.Annotations.from_dense(label))
    lists = choose_items(consensus, np.zeros(8, dtype=bool))
    found = np.isin(np.arange(1000), lists.hard)
    assert lists.n_hard == found.sum() < 100
    assert found[is_hard].mean() > 0.8
    assert found[~is_hard].mean() < 0.05
    assert lists.n_contested == len(lists.contested) == 100


def test_all_items_to_relabel_are_listed_up_to_a_bound():
    rng = np.random.default_rng(5)
    label = rng.integers(0, 4, (400, 3))
    content = report_content(mh.aggregate(mh.Annotations.from_dense(label), "majority"))
    relabel = content["items"]["relabel"]
    assert len(relabel["rows"]) == relabel["n"] > 100
    most = 50 * 500
    fit = rows_that_fit(relabel["rows"], most)
    assert 10 < len(fit) < 50
    assert fit == relabel["rows"][: len(fit)]


def test_half_of_a_mistake_is_by_those_who_make_it():
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 3, 300)
    label = np.tile(truth[:, None], (1, 6))
    label[:, 0] = np.where((truth == 0) & (rng.random(300) < 0.5), 1, truth)  # one annotator only
    everyone = (truth[:, None] == 2) & (rng.random((300, 6)) < 0.2)
    label[everyone] = 1
    content = report_content(mh.aggregate(mh.Annotations.from_dense(label)))
    rows = {(row["consensus"], row["label"]): row for row in content["confusions"]["common"]}
    assert rows["0", "1"]["half_by"] == 1
    assert rows["2", "1"]["half_by"] >= 3
    assert rows["2", "1"]["of_annotators"] == 6
