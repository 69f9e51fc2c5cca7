"""Training on labels that are sets: contracts of the methods, and of the estimator."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import manyhands as mh
from manyhands import Annotations, CrowdMultilabelClassifier
from manyhands.core.errors import DataError, SettingError
from manyhands.estimators import estimator_for, load
from manyhands.estimators.many import why_separate
from manyhands.evaluation import set_scores
from manyhands.methods import METHODS, TwoStage
from set_crowds import CLASSES, simulate_sets

METHOD_NAMES = [name for name, method in METHODS.items() if "multilabel" in method.tasks]
QUICK = {"epochs": 3, "batch_size": 32, "progress": False, "device": "cpu", "network": "logistic"}
LONG = {"epochs": 40, "learning_rate": 0.03, "validation_fraction": 0.0, "progress": False,
        "device": "cpu", "network": "logistic"}  # fmt: skip


def featured(seed=0, n_items=80, **settings):
    """A crowd of sets and features that tell them."""
    crowd = simulate_sets(seed, n_items=n_items, **settings)
    rng = np.random.default_rng(7)
    mixed = crowd.truth_ik @ rng.normal(size=(len(CLASSES), 8))
    return crowd, (mixed + 0.4 * rng.normal(size=mixed.shape)).astype(np.float32)


def fit(name, crowd, x, annotations=None, **settings):
    given = {"truth": crowd.truth} if METHODS[name].needs_truth else {}
    model = CrowdMultilabelClassifier(method=name, **(QUICK | settings))
    return model.fit(x, crowd.annotations if annotations is None else annotations, **given)


def rebuilt(crowd, *, item=None, who=None, classes=None, order=None):
    """The labels of a crowd with other names, or in another order of rows."""
    ann = crowd.annotations
    items, people = ann.items[ann.item], ann.annotators[ann.annotator]
    sets = [[(classes or {}).get(k, k) for k in each] for each in ann.label_sets]
    rows = range(ann.n_annotations) if order is None else order
    rename = (who or {}).get
    return Annotations.from_arrays(
        [items[n] for n in rows], [rename(people[n], people[n]) for n in rows],
        [sets[n] for n in rows], kind="multilabel", items=range(ann.n_items),
        classes=sorted((classes or {}).get(k, k) for k in CLASSES),
    )  # fmt: skip


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_probabilities_of_classes_stand_in_their_order_and_need_not_sum_to_one(name):
    crowd, x = featured()
    model = fit(name, crowd, x)
    found = model.predict_proba(x)
    assert model.classes_.tolist() == CLASSES
    assert found.shape == (80, 5)
    assert ((found > 0) & (found < 1)).all()
    assert np.abs(found.sum(axis=1) - 1.0).max() > 0.1
    assert (model.predict(x) == (found > 0.5)).all()
    assert model.predict_sets(x)[3] == {CLASSES[k] for k in np.flatnonzero(found[3] > 0.5)}


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_shuffled_rows_change_nothing_and_names_of_people_only_their_profiles(name):
    crowd, x = featured()
    ann = crowd.annotations
    expected = fit(name, crowd, x, rebuilt(crowd))
    order = np.random.default_rng(1).permutation(ann.n_annotations)
    shuffled = fit(name, crowd, x, rebuilt(crowd, order=order))
    np.testing.assert_array_equal(shuffled.predict_proba(x), expected.predict_proba(x))
    who = {a: ann.n_annotators - 1 - a for a in range(ann.n_annotators)}
    turned = fit(name, crowd, x, rebuilt(crowd, who=who))
    np.testing.assert_allclose(turned.predict_proba(x), expected.predict_proba(x), atol=1e-4)
    np.testing.assert_allclose(turned.confusion_[::-1], expected.confusion_, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in METHOD_NAMES if name != "truth"])
def test_permuted_classes_permute_what_is_found(name):
    crowd, x = featured()
    swap = dict(zip(CLASSES, CLASSES[::-1], strict=True))
    # The start of a network depends on the order of its outputs: here it is zero for all.
    settings = {"network": lambda shape, k: zero_network(shape[0], k)}
    before = fit(name, crowd, x, rebuilt(crowd), **settings)
    after = fit(name, crowd, x, rebuilt(crowd, classes=swap), **settings)
    np.testing.assert_allclose(after.predict_proba(x)[:, ::-1], before.predict_proba(x), atol=1e-4)
    np.testing.assert_allclose(after.confusion_[:, ::-1], before.confusion_, atol=1e-4)


def zero_network(n_features, n_classes):
    network = torch.nn.Linear(n_features, n_classes)
    torch.nn.init.zeros_(network.weight)
    torch.nn.init.zeros_(network.bias)
    return network


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_unanimous_sets_are_learnt(name):
    crowd, x = featured(n_items=120)
    names = np.array(CLASSES)
    item = np.repeat(np.arange(120), 3)
    sets = [names[crowd.truth_ik[i]].tolist() for i in item]
    ann = Annotations.from_arrays(item, np.tile(["u", "v", "w"], 120), sets, kind="multilabel")
    model = fit(name, crowd, x, ann, **LONG)
    assert model.score(x, crowd.truth_ik) > 0.8
    assert model.infer(x, ann).score(crowd.truth).exact_match > 0.97


def test_planted_profiles_are_recovered_and_network_and_labels_beat_each_alone():
    crowd, x = featured(seed=2, n_items=900, n_annotators=8)
    model = fit("multilabel-layer", crowd, x, **LONG)
    right_akz = np.einsum("akzz->akz", model.confusion_)
    assert np.abs(right_akz - crowd.right_akz).mean() < 0.05
    both = model.infer(x, crowd.annotations).score(crowd.truth).f1_micro
    applies = model.predict_proba(x)
    alone = set_scores(crowd.truth_ik, applies > 0.5, applies, CLASSES).f1_micro
    assert both > max(alone, mh.aggregate(crowd.annotations).score(crowd.truth).f1_micro)
    frame = model.annotators_frame()
    assert frame["sensitivity"].between(0, 1).all()
    assert abs(frame["sensitivity_a"] - crowd.right_akz[:, 0, 1]).mean() < 0.07


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_a_saved_model_says_the_same(name, tmp_path):
    crowd, x = featured()
    model = fit(name, crowd, x)
    model.save(tmp_path)
    again = load(tmp_path)
    assert isinstance(again, CrowdMultilabelClassifier)
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    for found, expected in zip(
        again.infer(x, crowd.annotations).to_frame().items(),
        model.infer(x, crowd.annotations).to_frame().items(),
        strict=True,
    ):
        assert found[1].tolist() == expected[1].tolist(), found[0]
    assert again.annotators_frame().equals(model.annotators_frame())


def test_the_separator_of_sets_is_kept_in_files(tmp_path):
    crowd, x = featured()
    ann = crowd.annotations
    sets = ["|".join(sorted(each)) or "[]" for each in ann.label_sets]
    given = Annotations.from_arrays(
        ann.item, ann.annotator, sets, kind="multilabel", separator="|", classes=CLASSES
    )
    model = fit("two-stage-multilabel-majority", crowd, x, given)
    model.save(tmp_path)
    label = load(tmp_path).prediction_columns(x)["label"]
    assert label.tolist() == model.prediction_columns(x)["label"].tolist()
    assert any("|" in each for each in label)


def test_a_stopped_run_continues_to_the_same_model(tmp_path):
    crowd, x = featured()
    settings = {**LONG, "epochs": 6}
    expected = CrowdMultilabelClassifier(**settings).fit(x, crowd.annotations)

    class StoppedError(Exception):
        pass

    def stop(_):
        if next(epochs) == 3:
            raise StoppedError
        return {}

    epochs = iter(range(100))
    model = CrowdMultilabelClassifier(checkpoint=tmp_path / "checkpoint", **settings)
    with pytest.raises(StoppedError):
        model.fit(x, crowd.annotations, callback=stop)
    model.fit(x, crowd.annotations, resume=True)
    np.testing.assert_array_equal(model.predict_proba(x), expected.predict_proba(x))


def test_unseen_annotators_count_as_average_ones_and_unseen_sets_are_known():
    crowd, x = featured()
    model = fit("multilabel-layer", crowd, x)
    new = Annotations.from_arrays([0], ["new"], [CLASSES], kind="multilabel")
    found = model.infer(x[:1], new)
    right_kz = np.einsum("akzz->akz", model.confusion_).mean(axis=0)
    odds_k = right_kz[:, 1] / (1 - right_kz[:, 0])
    prior_k = model.predict_proba(x[:1])[0]
    expected_k = prior_k * odds_k / (prior_k * odds_k + 1 - prior_k)
    np.testing.assert_allclose(found.probabilities[0], expected_k, rtol=1e-5)
    assert found.confusion.shape == (16, 5, 2, 2)


def test_weights_of_rows_are_equal_to_repeated_rows():
    crowd, x = featured(n_items=40)
    ann, times = crowd.annotations, np.array([0, 1, 2, 3] * 10)
    index = np.repeat(np.arange(40), times)
    rows = [np.flatnonzero(ann.item == i) for i in index]
    flat = np.concatenate(rows)
    item = np.repeat(np.arange(len(index)), [len(each) for each in rows])
    more = Annotations.from_arrays(
        item, ann.annotators[ann.annotator[flat]], [ann.label_sets[n] for n in flat],
        kind="multilabel", classes=CLASSES, annotators=ann.annotators, items=range(len(index)),
    )  # fmt: skip
    settings = {**LONG, "epochs": 4, "batch_size": 1000, "scale": "none", "init": "own",
                "noise": {"prior_precision": 0.0, "class_precision": 0.0}}  # fmt: skip
    expected = CrowdMultilabelClassifier(**settings).fit(x[index], more).predict_proba(x)
    found = CrowdMultilabelClassifier(**settings).fit(x, ann, times).predict_proba(x)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    plain = CrowdMultilabelClassifier(**settings).fit(x, ann).predict_proba(x)
    assert np.abs(plain - expected).max() > 1e-3


def test_scores_take_sets_matrices_and_labels_of_a_crowd():
    crowd, x = featured()
    model = fit("multilabel-layer", crowd, x, **LONG)
    sets = [crowd.truth[i] for i in range(len(x))]
    assert model.score(x, sets) == model.score(x, crowd.truth_ik)
    assert model.score(x, crowd.truth_ik) == model.scorecard(x, sets).exact_match
    majority = mh.aggregate(crowd.annotations, "multilabel-majority").members
    assert model.score(x, crowd.annotations) == model.score(x, majority)
    with pytest.raises(DataError, match="4 columns for 5 classes"):
        model.score(x, crowd.truth_ik[:, :4])


def test_the_likelihood_is_that_of_whole_sets():
    crowd, x = featured()
    model, ann = fit("multilabel-layer", crowd, x), crowd.annotations
    said_nkz = model.confusion_[ann.annotator][..., 1]
    p_nk = model.predict_proba(x)[ann.item]
    said_nk = p_nk * said_nkz[..., 1] + (1 - p_nk) * said_nkz[..., 0]
    log_nk = np.log(np.where(ann.members, said_nk, 1 - said_nk))
    assert model.log_likelihood(x, ann) == pytest.approx(log_nk.sum(axis=1).mean(), rel=1e-5)


def test_settings_of_the_layer_and_of_two_stages_reach_them():
    crowd, x = featured()
    model = fit("multilabel-layer", crowd, x, noise={"class_precision": 9.0}, init="own")
    assert model.noise_.by_class.prior_precision == 9.0
    own = TwoStage(mh.aggregation.MultilabelMixture(n_patterns=2))
    assert own.tasks == ("multilabel",)
    CrowdMultilabelClassifier(method=own, **QUICK).fit(x, crowd.annotations)
    with pytest.raises(SettingError, match="no setting 'omega'; known: accuracy"):
        fit("multilabel-layer", crowd, x, noise={"omega": 0.1})
    with pytest.raises(SettingError, match="monitor must be likelihood for sets"):
        fit("multilabel-layer", crowd, x, monitor="peer")
    with pytest.raises(SettingError, match="label_smoothing must be 0"):
        fit("two-stage-multilabel-majority", crowd, x, label_smoothing=0.1)
    with pytest.raises(SettingError, match="method must be for multilabel; got conal"):
        CrowdMultilabelClassifier(method="conal").fit(x, crowd.annotations)


def test_classes_refuse_sets_and_name_the_estimator_for_them():
    crowd, x = featured()
    with pytest.raises(DataError, match="sets are learnt by CrowdMultilabelClassifier"):
        mh.CrowdClassifier().fit(x, crowd.annotations)
    assert estimator_for("multilabel") is CrowdMultilabelClassifier


def test_seeds_are_fitted_one_by_one_and_copies_are_equal():
    crowd, x = featured()
    model = CrowdMultilabelClassifier(**QUICK)
    assert "MultilabelModule" in why_separate(model, x, crowd.annotations)
    models = mh.fit_many(model, x, crowd.annotations, seeds=[0, 1])
    alone = clone(model).set_params(seed=1).fit(x, crowd.annotations)
    np.testing.assert_array_equal(models[1].predict_proba(x), alone.predict_proba(x))


def test_labels_of_one_class_each_are_read_as_sets_of_it():
    """Classes become sets, so that any labels of classes can be learnt as sets."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    x = (2 * np.eye(3)[truth] + 0.2 * rng.normal(size=(60, 3))).astype(np.float32)
    ann = Annotations.from_dense(np.tile(truth[:, None], (1, 3)))
    model = CrowdMultilabelClassifier(**LONG).fit(x, ann)
    assert [set(map(int, each)) for each in model.predict_sets(x)] == [{k} for k in truth]
