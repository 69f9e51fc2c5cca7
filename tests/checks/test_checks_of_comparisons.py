"""Every check of comparisons finds what was planted, and says nothing of a good table."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.annotations import Comparisons
from manyhands.checks import PAIR_CHECKS, check, check_pairs
from manyhands.io import PairFile
from simulated_pairs import simulate_pairs


def names(report):
    return [each.check for each in report.findings]


def found(pairs, name):
    return next((each for each in check(pairs).findings if each.check == name), None)


def test_a_good_table_has_no_finding():
    pairs, _ = simulate_pairs(0, n=1500)
    assert set(names(check(pairs))) <= {"contradictory-rows"}
    assert check(pairs).ok


def test_rows_that_cannot_be_used_are_all_listed(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("left,right,annotator,winner\np,q,u,p\np,p,u,p\nq,,u,q\np,q,v,\np,q,v,nobody\n")
    report = check_pairs(PairFile(path).rows())
    assert names(report)[:3] == ["blank-cell", "self-comparison", "unknown-winner"]
    blank, same, unknown = report.findings[:3]
    assert [place.split(", ")[1] for place in blank.places] == ["line 4", "line 5"]
    assert same.places[0].endswith("line 3")
    assert unknown.names == ("nobody",)
    assert report.summary["rows"] == 5
    assert report.summary["labels"] == 1


def test_a_table_without_a_usable_row(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("left,right,annotator,winner\np,p,u,p\n")
    assert names(check_pairs(PairFile(path).rows()))[0] == "no-comparison"


def test_groups_of_items_are_found():
    pairs = Comparisons.from_arrays(list("axax"), list("byby"), list("uuvv"), list("axax"))
    assert "{a, b}, {x, y}" in found(pairs, "disconnected-items").message


def test_a_side_that_wins_too_often_is_found():
    pairs, _ = simulate_pairs(1, side=0.8)
    assert "the left item won" in found(pairs, "side-bias").message
    chosen = pairs.to_frame()
    always = mh.Comparisons.from_frame(chosen.assign(winner="left"))
    assert "winner and the loser" in found(always, "side-bias").message


def test_annotators_of_one_side_and_against_the_others_are_found():
    follows = np.array([1.0] * 7 + [0.0])
    side = np.array([9.0] + [0.0] * 7)
    pairs, _ = simulate_pairs(2, n_items=20, n=4000, follows=follows, side=side)
    assert found(pairs, "one-sided-annotator").names == ("0",)
    assert found(pairs, "against-others").names == ("7",)


def test_contradictions_items_without_a_limit_and_few_comparisons_are_notes():
    pairs = Comparisons.from_arrays(
        list("aabc"), list("bbcb"), list("uuvv"), ["left", "right", "left", "right"]
    )
    report = check(pairs)
    notes = {each.check: each for each in report.findings if each.severity == "note"}
    assert notes["contradictory-rows"].names == ("u",)
    assert notes["items-without-limit"].names == ("c",)
    assert set(notes["few-comparisons"].names) == {"a", "c"}
    assert "unshared-pairs" in notes


@pytest.mark.parametrize("name", PAIR_CHECKS)
def test_a_single_comparison_breaks_no_check(name):
    from manyhands.checks.comparisons import ComparisonTable

    pairs = Comparisons.from_arrays(["a"], ["b"], ["u"], ["a"])
    list(PAIR_CHECKS[name](ComparisonTable(pairs.to_rows())))
