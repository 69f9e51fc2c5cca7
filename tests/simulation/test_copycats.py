"""Some people say what somebody else said."""

import numpy as np
import pytest
from planted import assert_share, small_crowd


def with_sources(crowd):
    """Places of copycats' labels, and of the source's label of the same item, where given."""
    ann = crowd.annotations
    pairs = zip(ann.item.tolist(), ann.annotator.tolist(), strict=True)
    place = {pair: n for n, pair in enumerate(pairs)}
    found = []
    for n in np.flatnonzero(crowd.source_a[ann.annotator] >= 0):
        there = place.get((int(ann.item[n]), int(crowd.source_a[ann.annotator[n]])))
        if there is not None:
            found.append((n, there))
    return np.array(found).T


def test_copies_are_as_frequent_as_set():
    crowd = small_crowd("copycats", share=0.5, copying=0.6)
    copycat = crowd.source_a[crowd.annotations.annotator] >= 0
    assert_share(crowd.copied_n[copycat], 0.6)
    assert not crowd.copied_n[~copycat].any()


def test_a_copy_is_what_the_source_said():
    crowd = small_crowd("copycats", share=0.5, copying=0.6)
    mine, source = with_sources(crowd)
    assert len(mine) > 500
    label, copied = crowd.annotations.label, crowd.copied_n[mine]
    assert (label[mine[copied]] == label[source[copied]]).all()


@pytest.mark.parametrize("copying", [0.0, 0.6, 1.0])
def test_copycats_agree_with_their_source_at_the_rate_set(copying):
    crowd = small_crowd("copycats", share=0.5, copying=copying, lowest=0.6, highest=0.6)
    mine, source = with_sources(crowd)
    by_chance = 0.6**2 + 3 * (0.4 / 3) ** 2
    agree = crowd.annotations.label[mine] == crowd.annotations.label[source]
    assert_share(agree, copying + (1 - copying) * by_chance)


def test_copycats_of_one_source_agree_though_it_gave_no_label():
    crowd = small_crowd("copycats", share=0.8, n_sources=1, copying=1.0)
    ann = crowd.annotations
    told = crowd.copied_n | (ann.annotator == crowd.source_a.max())
    alone = 0
    for i in range(200):
        here = ann.item == i
        assert len(set(ann.label[here & told].tolist())) <= 1
        alone += (here & crowd.copied_n).sum() > 1 and (here & told & ~crowd.copied_n).sum() == 0
    assert alone > 50


def test_sources_do_not_copy_and_are_as_many_as_set():
    crowd = small_crowd("copycats", n_annotators=200, share=0.6, n_sources=4)
    copies = crowd.source_a >= 0
    assert copies.sum() == 120
    assert (crowd.behaviour[copies] == "copycat").all()
    sources = np.unique(crowd.source_a[copies])
    assert len(sources) == 4
    assert (crowd.source_a[sources] == -1).all()
    np.testing.assert_array_equal(crowd.annotator_notes["copies"], crowd.source_a)


def test_nobody_copies_when_nobody_is_told_to():
    crowd = small_crowd("copycats", share=0.0)
    assert not crowd.copied_n.any()
    assert set(crowd.behaviour) == {"honest"}
    assert set(crowd.label_notes["source"]) == {"own"}
