"""Which row belongs to which item, and who said what: names, strangers, consensus."""

import numpy as np
import polars as pl
import pytest

from featured_crowds import QUICK, assert_same_bits, columns, featured, fit
from manyhands.aggregation import Consensus
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError
from manyhands.engine import classification_posterior
from manyhands.estimators import CrowdClassifier


@pytest.fixture(scope="module")
def crowd():
    return featured()


@pytest.fixture(scope="module")
def model(crowd):
    return fit("speelfc", crowd)


def fitted(crowd, x, annotations=None, **how):
    model = CrowdClassifier(method="speelfc", **QUICK)
    return model.fit(x, crowd.annotations if annotations is None else annotations, **how)


def test_rows_named_in_order_change_not_a_bit(crowd, model):
    assert_same_bits(fitted(crowd, crowd.x, X_items=range(60)), model)
    assert_same_bits(fitted(crowd, crowd.x, X_items=[str(i) for i in range(60)]), model)


def test_rows_may_stand_in_any_order(crowd):
    order = np.random.default_rng(0).permutation(60)
    found = fitted(crowd, crowd.x[order], X_items=order)
    item, annotator, label = columns(crowd.annotations)
    place = np.argsort(order)
    expected = fitted(crowd, crowd.x[order], Annotations.from_arrays(place[item], annotator, label))
    assert_same_bits(found, expected)
    together = found.infer(crowd.x[order], crowd.annotations, X_items=order)
    assert together.annotations.items.tolist() == order.tolist()
    straight = found.infer(crowd.x, crowd.annotations)
    np.testing.assert_allclose(together.probabilities, straight.probabilities[order], atol=1e-6)


def test_rows_without_labels_are_taken(crowd):
    names = [*range(60), "nobody", "saw", "these"]
    x = np.concatenate([crowd.x, crowd.x[:3]])
    model = fitted(crowd, x, X_items=names)
    together = model.infer(x, crowd.annotations, X_items=names)
    assert together.to_frame()["n_annotations"].tolist()[-4:] == [3, 0, 0, 0]
    np.testing.assert_allclose(
        together.probabilities[60:], model.predict_proba(crowd.x[:3]), atol=1e-6
    )


def test_labels_without_features_are_refused_by_name(crowd):
    with pytest.raises(DataError, match=r"2 items have labels but no features: 58, 59; add"):
        fitted(crowd, crowd.x[:58], X_items=range(58))
    unlabelled = Annotations.from_arrays(*columns(crowd.annotations), items=range(99))
    fitted(crowd, crowd.x, unlabelled, X_items=range(60))  # those without labels need none


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([0] * 60, "the item 0 is listed twice"),
        (range(59), "60 rows of features and 59 names in X_items"),
        ([f"other {i}" for i in range(60)], "60 items have labels but no features: 0, 1"),
    ],
)
def test_wrong_names_of_rows_are_told(names, text, crowd):
    with pytest.raises(DataError, match=text):
        fitted(crowd, crowd.x, X_items=names)


def test_names_may_be_of_any_kind(crowd):
    item, annotator, label = columns(crowd.annotations)
    ann = Annotations.from_arrays(
        [f"image é {i}" for i in item],
        [f"Ann\n{a}" for a in annotator],
        np.array(["cat", "dog 🐶", "-1"], dtype=object)[label],
        kind="classes",
    )
    model = fitted(crowd, crowd.x, ann, X_items=[f"image é {i}" for i in range(60)])
    assert set(model.predict(crowd.x)) <= {"cat", "dog 🐶", "-1"}
    assert model.score(crowd.x, model.predict(crowd.x)) == 1.0


def test_classes_nobody_said_are_classes(crowd):
    ann = Annotations.from_arrays(*columns(crowd.annotations), classes=[0, 1, 2, 3])
    model = fitted(crowd, crowd.x, ann)
    assert model.predict_proba(crowd.x).shape == (60, 4)
    assert model.confusion_.shape == (6, 4, 4)


def test_people_who_said_nothing_are_portrayed(crowd):
    ann = Annotations.from_arrays(*columns(crowd.annotations), annotators=range(8))
    for method in ("speelfc", "conal", "mixture-e2e", "two-stage-majority"):
        model = fit(method, crowd, annotations=ann)
        assert np.isfinite(model.confusion_).all()
        assert model.annotators_frame()["n_annotations"].tolist()[6:] == [0, 0]


def test_a_stranger_has_no_portrait(crowd, model):
    with pytest.raises(DataError, match="no annotator 'nobody'; known: 0, 1, 2, 3, 4, 5"):
        model.profile("nobody")
    people = np.array(["anna", "bert", "carl", "dora", "emil", "fay"], dtype=object)
    item, annotator, label = columns(crowd.annotations)
    named = fit("speelfc", crowd, annotations=Annotations.from_arrays(
        item, people[annotator], label))  # fmt: skip
    with pytest.raises(DataError, match="no annotator 'ana'; nearest: anna"):
        named.profile("ana")
    assert (named.profile("bert") == named.confusion_[1]).all()


# --- network and labels together ---


def test_strangers_are_taken_for_average_people(crowd, model):
    item, _, label = columns(crowd.annotations)
    strangers = Annotations.from_arrays(item, np.tile(["x", "y", "z"], 60), label)
    together = model.infer(crowd.x, strangers)
    assert isinstance(together, Consensus)
    mean = model.confusion_.mean(axis=0)
    log_p = np.log(model.predict_proba(crowd.x))
    np.add.at(log_p, item, np.log(mean[:, label]).T)
    expected = np.exp(log_p) / np.exp(log_p).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(together.probabilities, expected, atol=1e-5)
    assert together.annotators_frame()["annotator"].tolist()[6:] == ["x", "y", "z"]


def test_the_posterior_is_the_networks_times_what_people_said(crowd, model):
    item, annotator, label = columns(crowd.annotations)
    log_p = np.log(model.predict_proba(crowd.x))
    np.add.at(log_p, item, np.log(model.confusion_[annotator, :, label]))
    expected = np.exp(log_p) / np.exp(log_p).sum(axis=1, keepdims=True)
    found = model.infer(crowd.x, crowd.annotations).probabilities
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("method", ["speelfc", "conal", "speelfc-d", "mixture-e2e"])
def test_items_may_be_looked_at_one_by_one(method, crowd, monkeypatch):
    model = fit(method, crowd)
    expected = model.infer(crowd.x, crowd.annotations).probabilities
    monkeypatch.setattr(classification_posterior, "_MAX_CELLS", 1)
    found = model.infer(crowd.x, crowd.annotations).probabilities
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_one_label_of_a_new_item_is_enough(crowd, model):
    new = Annotations.from_arrays(["new"], [3], [2])
    together = model.infer(crowd.x[:1], new)
    assert together.annotations.items.tolist() == ["new"]
    assert together.probabilities[0, 2] > model.predict_proba(crowd.x[:1])[0, 2]


def test_a_class_never_seen_is_named(crowd, model):
    with pytest.raises(DataError, match="no class 'cat'; known: 0, 1, 2"):
        model.infer(crowd.x[:1], Annotations.from_arrays(["new"], [3], ["cat"]))


def test_a_consensus_of_a_network_does_not_go_on_without_it(crowd, model):
    together = model.infer(crowd.x, crowd.annotations)
    with pytest.raises(DataError, match=r"call infer\(X, annotations\)"):
        together.predict(crowd.annotations)
    with pytest.raises(DataError, match=r"call infer\(X, annotations\)"):
        together.update(crowd.annotations)
    assert together.score(dict(enumerate(crowd.truth))) is not None


def test_labels_of_strangers_do_not_count_for_the_likelihood(crowd, model):
    item, annotator, label = columns(crowd.annotations)
    more = Annotations.from_arrays(
        [*item, 0, 1], [*annotator, "stranger", "stranger"], [*label, 0, 0]
    )
    expected = model.log_likelihood(crowd.x, crowd.annotations)
    assert model.log_likelihood(crowd.x, more) == pytest.approx(expected)
    with pytest.raises(DataError, match="not one label is of an annotator seen in training"):
        model.log_likelihood(crowd.x[:1], Annotations.from_arrays([0], ["stranger"], [0]))


def test_tables_are_of_the_kind_the_labels_came_in(crowd):
    item, annotator, label = columns(crowd.annotations)
    frame = pl.DataFrame({"item": item, "annotator": annotator, "label": label})
    model = fit("speelfc", crowd, annotations=Annotations.from_frame(frame))
    assert isinstance(model.annotators_frame(), pl.DataFrame)
