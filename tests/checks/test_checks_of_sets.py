"""Checks of labels that are sets of classes."""

import numpy as np

import manyhands as mh
from manyhands.annotations import Annotations
from manyhands.checks import check_file, flag_annotators
from set_crowds import simulate_sets


def found(path, text):
    path.write_text("item,annotator,label\n" + text)
    report = check_file(path, kind="multilabel")
    return report, {finding.check: finding for finding in report.findings}


def test_a_good_table_is_fine_and_its_sizes_are_told():
    report = mh.check(simulate_sets(0).annotations)
    assert report.ok
    assert report.summary["kind"] == "multilabel"
    assert report.summary["classes"] == 5


def test_cells_and_names_of_classes_are_checked(tmp_path):
    rows = "1,u,cat;dog\n1,v,Cat\n2,u,NA\n2,v,\n2,w,[]\n"
    report, checks = found(tmp_path / "labels.csv", rows)
    assert checks["blank-label"].places == (f"{tmp_path / 'labels.csv'}, line 5",)
    assert "written []" in checks["blank-label"].remedy
    assert checks["near-duplicate-classes"].names == ("'Cat'", "'cat'")
    assert checks["looks-missing"].names == ("NA",)
    assert checks["looks-missing"].places[0].endswith("line 4")
    assert report.summary["classes"] == 4


def test_classes_that_are_made_of_others_look_like_sets(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n1,u,cat;dog\n1,v,dog\n2,u,cat\n2,v,cat;dog\n")
    checks = {finding.check: finding for finding in check_file(path).findings}
    assert checks["looks-like-sets"].names == ("cat;dog",)
    assert "--kind multilabel" in checks["looks-like-sets"].remedy
    path.write_text("item,annotator,label\n1,u,dogs (big; small)\n1,v,cats\n2,u,cats\n")
    assert "looks-like-sets" not in {each.check for each in check_file(path).findings}


def test_sets_with_mixed_separators_are_named(tmp_path):
    rows = '1,u,cat;dog\n1,v,cat|dog\n2,u,"dog, cat"\n2,v,"emu, small"\n2,w,cat;dog\n'
    report, checks = found(tmp_path / "labels.csv", rows)
    finding = checks["mixed-separators"]
    assert finding.names == ("cat|dog", "dog, cat")
    assert [place.rpartition(" ")[2] for place in finding.places] == ["3", "4"]
    assert not report.ok
    _, checks = found(tmp_path / "labels.csv", "1,u,cat;dog\n1,v,cat\n2,u,dog\n")
    assert "mixed-separators" not in checks


def test_rows_of_one_set_are_no_repeats(tmp_path):
    _, checks = found(tmp_path / "labels.csv", "1,u,cat\n1,u,dog\n1,v,cat;dog\n")
    assert "repeated-pair" not in checks
    assert "one-class" in checks  # both sets are the same


def test_classes_outside_a_list_and_unused_ones_are_named(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n1,u,cat;cow\n1,v,cat\n2,u,dog\n2,v,dog\n")
    report = check_file(path, kind="multilabel", classes=["cat", "dog", "emu"])
    checks = {finding.check: finding for finding in report.findings}
    assert "label outside the classes cat, dog, emu" in checks["label-outside-classes"].message
    assert checks["class-never-said"].names == ("emu",)


def test_annotators_who_say_the_same_or_anything_are_flagged():
    crowd = simulate_sets(1, n_items=150, n_annotators=12, per_item=6)
    rng, ann = np.random.default_rng(0), crowd.annotations
    sets = [sorted(each) for each in ann.label_sets]
    for n, who in enumerate(ann.annotator):
        if who == 0:
            sets[n] = ["a"]
        if who == 1:
            sets[n] = sorted(sets[rng.integers(len(sets))])
    spoilt = Annotations.from_arrays(ann.item, ann.annotator, sets, kind="multilabel")
    flags = {(flag.annotator, flag.kind) for flag in flag_annotators(spoilt)}
    assert (0, "constant") in flags
    assert (1, "random") in flags
    assert not {kind for who, kind in flags if who > 1}
