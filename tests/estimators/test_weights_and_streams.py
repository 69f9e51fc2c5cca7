"""Weights of rows, and labels that arrive in parts."""

import numpy as np
import pytest

import manyhands as mh
from constant_network import Constant
from featured_crowds import assert_same_bits, featured, suited
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import seed_for
from manyhands.estimators import CrowdClassifier, CrowdRegressor
from manyhands.methods import METHODS
from rated_crowds import rated

TIMES = np.array([0, 1, 2, 3] * 15)  # how often every item counts
PLAIN = {"network": "logistic", "epochs": 4, "batch_size": 1000, "learning_rate": 0.05,
         "noise_learning_rate": 0.01, "validation_fraction": 0.0, "scale": "none",
         "progress": False, "device": "cpu"}  # fmt: skip
NOISY = [name for name, each in METHODS.items() if each.takes_more_labels]
FOR_CLASSES = [name for name in NOISY if "classification" in METHODS[name].tasks]
# Their starts and penalties do not depend on how often an item is there.
COMPARED = [name for name in FOR_CLASSES if name != "geocrowdnet"]
COMPARED += ["two-stage-majority", "two-stage-soft-majority", "truth"]


def equal_start(method):
    """Settings that leave out what depends on the number of labels: priors and a consensus."""
    if not METHODS[method].takes_noise_settings:
        return {}
    has_prior = "prior_precision" in METHODS[method].noise_spec[1]
    return {"init": "own", "noise": {"prior_precision": 0.0} if has_prior else None}


def repeated(crowd):
    """The crowd in which every item is there several times, with its labels."""
    ann, index = crowd.annotations, np.repeat(np.arange(len(TIMES)), TIMES)
    rows = [np.flatnonzero(ann.item == i) for i in index]
    row = np.concatenate(rows)
    item = np.repeat(np.arange(len(index)), [len(each) for each in rows])
    names = {"items": range(len(index)), "annotators": ann.annotators, "classes": ann.classes}
    labels = ann.classes[ann.label[row]]
    more = Annotations.from_arrays(item, ann.annotators[ann.annotator[row]], labels, **names)
    return crowd._replace(x=crowd.x[index], annotations=more, truth=crowd.truth[index])


def fit(method, crowd, sample_weight=None, **settings):
    truth = {"truth": crowd.truth} if METHODS[method].needs_truth else {}
    model = CrowdClassifier(method=method, **(PLAIN | equal_start(method) | settings))
    return model.fit(crowd.x, crowd.annotations, sample_weight, **truth)


@pytest.mark.parametrize("method", COMPARED)
def test_weights_are_equal_to_repeated_rows(method):
    crowd = featured()
    expected = fit(method, repeated(crowd)).predict_proba(crowd.x)
    np.testing.assert_allclose(
        fit(method, crowd, TIMES).predict_proba(crowd.x), expected, atol=1e-4
    )
    assert np.abs(fit(method, crowd).predict_proba(crowd.x) - expected).max() > 1e-3


@pytest.mark.parametrize("method", ["conal", "two-stage-majority"])
def test_equal_weights_change_nothing(method):
    crowd = featured()
    settings = {"batch_size": 16}
    assert_same_bits(
        fit(method, crowd, **settings), fit(method, crowd, np.full(60, 0.5), **settings)
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["two-stage-mean", "crowd-layer-b", "crowd-layer-sb"])
def test_a_regression_is_near_the_items_that_count(method):
    crowd = rated(biases=0.0)
    high_i = crowd.truth > np.median(crowd.truth)
    means = []
    for weight_i in (np.where(high_i, 1.0, 0.01), None, np.where(high_i, 0.01, 1.0)):
        model = CrowdRegressor(
            method=method, **(PLAIN | {"network": lambda *_: Constant(1), "epochs": 100})
        )
        means.append(model.fit(crowd.x, crowd.annotations, weight_i).predict(crowd.x).mean())
    assert means[0] > means[1] + 0.2 > means[2] + 0.4


@pytest.mark.parametrize(
    "method",
    [name for name, m in METHODS.items() if {"classification", "regression"} & {*m.tasks}],
)
def test_a_method_takes_weights_or_refuses_them(method):
    numbers = "classification" not in METHODS[method].tasks
    crowd = rated() if numbers else suited(method, featured())
    model = (CrowdRegressor if numbers else CrowdClassifier)(
        method=method, epochs=1, progress=False, device="cpu"
    )
    truth = {"truth": crowd.truth} if METHODS[method].needs_truth else {}
    if METHODS[method].takes_item_weights:
        model.fit(crowd.x, crowd.annotations, TIMES, **truth)
    else:
        with pytest.raises(SettingError, match=f"sample_weight is not for the method {method}"):
            model.fit(crowd.x, crowd.annotations, TIMES, **truth)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones(59), r"shape \(59,\) where 60 rows"),
        (np.ones((60, 2)), "one number each"),
        (-TIMES, "from 0 up"),
        (np.full(60, np.nan), "finite"),
        (np.zeros(60), "the weight of every item with labels is zero"),
    ],
)
def test_wrong_weights_are_refused(wrong, message):
    with pytest.raises(DataError, match=message):
        fit("speelfc", featured(), wrong)


def parts(crowd, n_parts=4):
    for index in np.array_split(np.arange(len(crowd.x)), n_parts):
        yield crowd.x[index], crowd.annotations[index]


@pytest.mark.slow
@pytest.mark.parametrize("method", FOR_CLASSES)
def test_classes_are_learnt_from_parts(method):
    crowd = featured(n_items=400)
    model = CrowdClassifier(method=method, learning_rate=0.02, progress=False, device="cpu")
    for _ in range(6):
        for x, annotations in parts(crowd):
            model.partial_fit(x, annotations, classes=crowd.annotations.classes)
    assert model.score(crowd.x, crowd.truth) > 0.95
    assert model.n_batches_ == 24


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in NOISY if "regression" in METHODS[name].tasks])
def test_numbers_are_learnt_from_parts(method):
    crowd = rated(n_items=400)
    model = CrowdRegressor(method=method, learning_rate=0.02, progress=False, device="cpu")
    for _ in range(10):
        for x, annotations in parts(crowd):
            model.partial_fit(x, annotations)
    assert np.corrcoef(model.predict(crowd.x), crowd.truth)[0, 1] > 0.9


@pytest.mark.parametrize("method", FOR_CLASSES)
def test_a_new_annotator_leaves_the_others_as_they_are(method):
    crowd = featured()
    model = CrowdClassifier(method=method, progress=False, device="cpu")
    model.partial_fit(crowd.x, crowd.annotations)
    before = model.noise_
    names = [*map(str, crowd.annotations.annotators), "new"]
    one = mh.Annotations.from_arrays(range(60), ["new"] * 60, crowd.truth, classes=[0, 1, 2])
    model.set_params(learning_rate=1e-12, noise_learning_rate=1e-12).partial_fit(crowd.x, one)
    assert model.crowd_.annotators.tolist() == names
    for (name, old), new in zip(before.named_parameters(), model.noise_.parameters(), strict=True):
        np.testing.assert_allclose(
            new.detach()[: len(old)] if old.ndim else new.detach(), old.detach(), atol=1e-6,
            err_msg=name,
        )  # fmt: skip
    counts = [each for name, each in model.noise_.named_buffers() if name.endswith("labels_a")]
    for labels_a in counts:
        assert labels_a.tolist() == [*crowd.annotations.labels_per_annotator, 60]


def test_the_first_part_is_one_epoch():
    crowd = featured()
    first = CrowdClassifier(method="speelfc", seed=3, progress=False, device="cpu")
    first.partial_fit(crowd.x, crowd.annotations)
    one = CrowdClassifier(
        method="speelfc", seed=seed_for(3, "batch 0"), epochs=1, warm_up=0,
        validation_fraction=0.0, progress=False, device="cpu",
    ).fit(crowd.x, crowd.annotations)  # fmt: skip
    assert_same_bits(first, one)


def test_a_saved_model_learns_more(tmp_path):
    crowd = featured()
    model = CrowdClassifier(progress=False, device="cpu").fit(crowd.x, crowd.annotations)
    model.save(tmp_path / "model")
    loaded = mh.load(tmp_path / "model").set_params(progress=False)
    assert_same_bits(
        model.partial_fit(crowd.x, crowd.annotations),
        loaded.partial_fit(crowd.x, crowd.annotations),
    )


def test_what_partial_fit_refuses(tmp_path):
    crowd = featured()
    model = CrowdClassifier(method="speelfc", progress=False, device="cpu")
    with pytest.raises(DataError, match=r"no class 2"):
        model.partial_fit(crowd.x, crowd.annotations, classes=[0, 1])
    model.partial_fit(crowd.x, crowd.annotations)
    network = model.network_
    with pytest.raises(DataError, match="call fit to start anew"):
        model.partial_fit(crowd.x, crowd.annotations, classes=[0, 1])
    with pytest.raises(DataError, match="features"):
        model.partial_fit(crowd.x[:, :2], crowd.annotations)
    assert model.network_ is network
    for method in ("two-stage-majority", "em", "max-mig"):
        with pytest.raises(SettingError, match=f"end-to-end methods; {method} fits all labels"):
            CrowdClassifier(method=method).partial_fit(crowd.x, crowd.annotations)
    with pytest.raises(SettingError, match="checkpoint is for fit"):
        CrowdClassifier(checkpoint=tmp_path).partial_fit(crowd.x, crowd.annotations)
