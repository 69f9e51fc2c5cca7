"""infer with cross_fit: no item is judged by a model that has seen its labels."""

import numpy as np
import pytest
from sklearn.base import clone

from featured_crowds import QUICK, featured
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.estimators import (
    CrowdClassifier,
    CrowdMultilabelClassifier,
    CrowdRegressor,
    CrowdTagger,
)
from manyhands.estimators.cross_fitting import draw_folds
from manyhands.evaluation import log_loss
from set_crowds import simulate_sets


def crowd_of_few(n_items=160, seed=0):
    """Two labels per item, a third of them wrong, and features that tell the classes apart."""
    return featured(
        "symmetric", spread=0.9, n_features=12, n_items=n_items, n_annotators=8, labels_per_item=2,
        lowest=0.5, highest=0.75, seed=seed,
    )  # fmt: skip


@pytest.fixture(scope="module")
def crowd():
    return crowd_of_few()


def changed_label(ann, item):
    """The annotations with another label of one item."""
    label = ann.label.copy()
    place = int(ann.item_offsets[item])
    label[place] = (label[place] + 1) % ann.n_classes
    names = {"items": ann.items, "annotators": ann.annotators, "classes": ann.classes}
    return Annotations.from_arrays(
        ann.items[ann.item], ann.annotators[ann.annotator], ann.classes[label], **names
    )


def test_it_is_better_where_the_network_has_learnt_the_labels(crowd):
    clf = CrowdClassifier(
        method="speelfc", epochs=40, learning_rate=0.01, validation_fraction=0.0,
        progress=False, device="cpu",
    )  # fmt: skip
    plain = clf.fit(crowd.x, crowd.annotations).infer(crowd.x, crowd.annotations)
    crossed = clf.infer(crowd.x, crowd.annotations, cross_fit=4)
    right = [(each.labels == crowd.truth).mean() for each in (plain, crossed)]
    losses = [log_loss(crowd.truth, each.probabilities) for each in (plain, crossed)]
    assert right[1] > right[0] + 0.05
    assert losses[1] < 0.7 * losses[0]


@pytest.mark.parametrize("method", ["speelfc", "em"])
def test_labels_of_an_item_never_enter_what_judges_it(crowd, method):
    clf = CrowdClassifier(method=method, seed=3, **QUICK)
    before = clf.infer(crowd.x, crowd.annotations, cross_fit=4).probabilities
    after = clf.infer(crowd.x, changed_label(crowd.annotations, 5), cross_fit=4).probabilities
    fold = draw_folds(np.ones(len(crowd.x), dtype=bool), 4, seed=3)
    same = (fold == fold[5]) & (np.arange(len(fold)) != 5)  # judged by the model that judges item 5
    np.testing.assert_array_equal(after[same], before[same])
    assert not np.allclose(after[fold != fold[5]], before[fold != fold[5]], atol=1e-6)


def test_the_estimator_is_not_used_and_stays_as_it_is(crowd):
    clf = CrowdClassifier(method="speelfc", **QUICK)
    clone(clf).infer(crowd.x, crowd.annotations, cross_fit=2)  # need not be fitted
    clf.fit(crowd.x, crowd.annotations)
    before = clf.predict_proba(crowd.x)
    found = clf.infer(crowd.x, crowd.annotations, cross_fit=2)
    again = clf.infer(crowd.x, crowd.annotations, cross_fit=2)
    np.testing.assert_array_equal(clf.predict_proba(crowd.x), before)
    np.testing.assert_array_equal(found.probabilities, again.probabilities)
    assert found.confusion.shape == clf.confusion_.shape


def test_rows_follow_the_names_of_items(crowd):
    clf = CrowdClassifier(method="speelfc", **QUICK)
    order = np.random.default_rng(0).permutation(len(crowd.x))
    found = clf.infer(crowd.x[order], crowd.annotations, X_items=order, cross_fit=3)
    assert found.annotations.items.tolist() == order.tolist()
    assert found.annotations.n_annotations == crowd.annotations.n_annotations


def test_an_annotator_of_one_fold_is_an_average_one(crowd):
    ann = crowd.annotations
    rare = np.where(np.arange(ann.n_annotations) == 7, "once", ann.annotators[ann.annotator])
    names = {"items": ann.items, "classes": ann.classes}
    new = Annotations.from_arrays(ann.item, rare, ann.label, **names)
    found = CrowdClassifier(method="speelfc", **QUICK).infer(crowd.x, new, cross_fit=2)
    assert np.isfinite(found.confusion).all()
    assert found.annotators_frame()["annotator"].tolist() == new.annotators.tolist()


def test_it_says_when_the_network_has_learnt_the_labels(crowd):
    clf = CrowdClassifier(method="speelfc", **QUICK).fit(crowd.x[:80], crowd.annotations[:80])
    assert clf.infer(crowd.x[80:], crowd.annotations[80:]).warnings == ()
    told = clf.infer(crowd.x[10:60], crowd.annotations[10:60]).warnings
    assert "50 of these 50 items" in told[0]
    assert "cross_fit" in told[0]
    crossed = clf.infer(crowd.x[10:60], crowd.annotations[10:60], cross_fit=2)
    assert crossed.warnings == ()


def test_numbers(crowd):
    rng = np.random.default_rng(1)
    truth = crowd.x @ rng.normal(size=crowd.x.shape[1])
    bias = rng.normal(size=crowd.annotations.n_annotators)
    ann = crowd.annotations
    value = truth[ann.item] + bias[ann.annotator] + rng.normal(size=ann.n_annotations)
    numbers = Annotations.from_arrays(ann.item, ann.annotator, value, kind="numbers")
    longer = QUICK | {"epochs": 20, "learning_rate": 0.1}
    reg = CrowdRegressor(method="two-stage-gaussian", network="logistic", **longer)
    found = reg.infer(crowd.x, numbers, cross_fit=4)
    mean = np.bincount(ann.item, value) / np.bincount(ann.item)
    assert np.square(found.values - truth).mean() < 0.7 * np.square(mean - truth).mean()
    assert found.spread.min() > 0
    assert np.corrcoef(found.annotators_frame()["bias"], bias)[0, 1] > 0.8


def test_sets_of_classes_stay_sets():
    crowd = simulate_sets(0, n_items=40)
    x = crowd.truth_ik.astype(np.float32)
    clf = CrowdMultilabelClassifier(**QUICK)
    plain = clf.fit(x, crowd.annotations).infer(x, crowd.annotations)
    crossed = clf.infer(x, crowd.annotations, cross_fit=2)
    assert plain.warnings
    assert not crossed.warnings
    assert type(crossed) is type(plain)
    assert crossed.confusion.shape == plain.confusion.shape
    assert sum(map(len, crossed.sets)) > len(x)  # more than one class of some items


def test_folds_of_a_tagger_are_sentences():
    sentences = [["Anna", "sang"], ["he", "ran"], ["Anna", "ran"], ["he", "sang"]] * 4
    tags = np.array(["B-PER", "O", "O", "O"] * 8)
    ann = Annotations.from_arrays(list(range(32)) * 2, [0] * 32 + [1] * 32, np.tile(tags, 2))
    tagger = CrowdTagger(method="two-stage-majority", seed=1, **(QUICK | {"epochs": 3}))
    before = tagger.infer(sentences, ann, cross_fit=4).tokens.probabilities
    after = tagger.infer(sentences, changed_label(ann, 6), cross_fit=4).tokens.probabilities
    fold = np.repeat(draw_folds(np.ones(16, dtype=bool), 4, seed=1), 2)
    same = (fold == fold[6]) & (np.arange(32) // 2 != 3)
    np.testing.assert_array_equal(after[same], before[same])
    assert not np.allclose(after[fold != fold[6]], before[fold != fold[6]], atol=1e-7)


def test_folds_are_kept_in_the_checkpoint(crowd, tmp_path):
    clf = CrowdClassifier(method="speelfc", checkpoint=tmp_path / "run", **QUICK)
    first = clf.infer(crowd.x, crowd.annotations, cross_fit=2).probabilities
    assert sorted(each.name for each in (tmp_path / "run").iterdir()) == ["fold-0", "fold-1"]
    again = clf.infer(crowd.x, crowd.annotations, cross_fit=2).probabilities
    np.testing.assert_array_equal(first, again)
    with pytest.raises(DataError, match="another set of labels"):
        clf.infer(crowd.x, changed_label(crowd.annotations, 5), cross_fit=2)


def test_wrong_requests_are_refused(crowd):
    clf = CrowdClassifier(method="speelfc", **QUICK)
    for wrong in (1, -3, 2.5):
        with pytest.raises(SettingError, match="cross_fit"):
            clf.infer(crowd.x, crowd.annotations, cross_fit=wrong)
    with pytest.raises(DataError, match="3 items, or sentences, have labels"):
        clf.infer(crowd.x[:3], crowd.annotations[:3], cross_fit=4)
    with pytest.raises(SettingError, match="needs truth"):
        CrowdClassifier(method="truth", **QUICK).infer(crowd.x, crowd.annotations, cross_fit=2)
