"""What CrowdRegressor does with every method for numbers."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from torch import nn

import manyhands as mh
from featured_crowds import assert_same_bits, columns, suited, weights
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.engine.regression import Regression
from manyhands.estimators import CrowdRegressor, load
from manyhands.io import WordVectors
from manyhands.methods import METHODS, FullBatchMethod
from rated_crowds import FOR_NUMBERS, QUICK, fit_numbers, rated

SOLVED = [name for name in FOR_NUMBERS if isinstance(METHODS[name], FullBatchMethod)]
SEMI = {"ma-slda-r"}  # made to learn from items without labels
TRAITS = [f"{name}{end}" for name in ("bias", "scale", "noise") for end in ("", "_low", "_high")]
FIRST = ["annotator", "quality", "quality_low", "quality_high", "n_annotations"]


@pytest.fixture(params=FOR_NUMBERS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def real_crowd():
    return rated()


@pytest.fixture
def crowd(request, real_crowd):
    """Ratings with features that the method takes, where a test is about one."""
    named = "name" in request.fixturenames
    return suited(request.getfixturevalue("name"), real_crowd) if named else real_crowd


@pytest.fixture(scope="module")
def fitted(real_crowd):
    """One model per method, fitted when it is first asked for."""
    models = {}

    def model_of(name):
        if name not in models:
            models[name] = fit_numbers(name, suited(name, real_crowd))
        return models[name]

    return model_of


def test_all_methods_of_the_table_are_here():
    expected = {"truth", "doctor-net", "weighted-doctor-net", "em-regression", "two-stage-mean"}
    expected |= {"two-stage-gaussian", "crowd-layer-s", "crowd-layer-b", "crowd-layer-sb"}
    expected |= {"ma-slda-r"}
    assert expected <= set(FOR_NUMBERS)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_and_another_others(name, crowd, fitted):
    assert_same_bits(fitted(name), fit_numbers(name, crowd))
    other = fit_numbers(name, crowd, seed=1)
    assert not np.array_equal(other.predict(crowd.x), fitted(name).predict(crowd.x))


def test_shuffled_labels_change_not_a_bit(name, crowd, fitted):
    order = np.random.default_rng(1).permutation(crowd.annotations.n_annotations)
    shuffled = Annotations.from_arrays(*(each[order] for each in columns(crowd.annotations)))
    assert_same_bits(fit_numbers(name, crowd, annotations=shuffled), fitted(name))


def test_renaming_people_renames_their_portraits_only(name, crowd):
    item, annotator, label = columns(crowd.annotations)
    renamed = Annotations.from_arrays(item, 5 - annotator, label)
    before = fit_numbers(name, crowd, network="logistic")
    after = fit_numbers(name, crowd, annotations=renamed, network="logistic")
    np.testing.assert_allclose(after.predict(crowd.x), before.predict(crowd.x), atol=1e-4)
    for trait in TRAITS:
        one, other = after.annotators_frame()[trait][::-1], before.annotators_frame()[trait]
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_another_unit_of_the_labels_is_another_unit_of_all_that_is_told(name, crowd, fitted):
    item, annotator, label = columns(crowd.annotations)
    other = Annotations.from_arrays(item, annotator, -40.0 * label + 700.0)
    model = fit_numbers(name, crowd, annotations=other, truth=-40.0 * crowd.truth + 700.0)
    # The labels' signs are swapped as well: the network starts where it did, so only sizes hold.
    turned = fit_numbers(
        name,
        crowd,
        annotations=Annotations.from_arrays(item, annotator, -label),
        truth=-crowd.truth,
    )
    close = {"rtol": 1e-3, "atol": 1e-2}
    np.testing.assert_allclose(
        model.predict(crowd.x), 40.0 * turned.predict(crowd.x) + 700.0, **close
    )
    found, expected = model.annotators_frame(), turned.annotators_frame()
    np.testing.assert_allclose(found["bias"], 40.0 * expected["bias"], **close)
    np.testing.assert_allclose(found["noise"], 40.0 * expected["noise"], **close)
    np.testing.assert_allclose(found["scale"], expected["scale"], **close)
    np.testing.assert_allclose(found["quality"], expected["quality"], **close)
    spread = 40.0 * turned.predict_spread(crowd.x)
    np.testing.assert_allclose(model.predict_spread(crowd.x), spread, **close)
    density = turned.log_likelihood(crowd.x, turned_labels(crowd, -1.0, 0.0)) - np.log(40.0)
    assert model.log_likelihood(crowd.x, other) == pytest.approx(density, abs=1e-3)
    one, two = model.infer(crowd.x, other), turned.infer(crowd.x, turned_labels(crowd, -1.0, 0.0))
    np.testing.assert_allclose(one.values, 40.0 * two.values + 700.0, **close)
    np.testing.assert_allclose(one.confidence, two.confidence, **close)


def turned_labels(crowd, factor, shift):
    item, annotator, label = columns(crowd.annotations)
    return Annotations.from_arrays(item, annotator, factor * label + shift)


def test_saving_and_loading_gives_the_same_bits(name, crowd, fitted, tmp_path):
    model = fitted(name)
    model.save(tmp_path)
    found = load(tmp_path)
    assert isinstance(found, CrowdRegressor)
    assert_same_bits(found, model)
    x, ann = crowd.x, crowd.annotations
    assert (found.predict(x) == model.predict(x)).all()
    assert (found.predict_spread(x) == model.predict_spread(x)).all()
    assert (found.infer(x, ann).values == model.infer(x, ann).values).all()
    assert found.log_likelihood(x, ann) == model.log_likelihood(x, ann)
    assert found.annotators_frame().equals(model.annotators_frame())
    assert found.settings_ == model.settings_
    truth = crowd.truth if name == "truth" else None
    assert_same_bits(found.fit(x, ann, truth=truth), model)


def test_one_annotator_is_a_crowd(name):
    crowd = suited(name, rated(n_annotators=1, labels=1))
    model = fit_numbers(name, crowd)
    assert np.isfinite(model.predict(crowd.x)).all()
    assert np.isfinite(model.annotators_frame()[TRAITS].to_numpy()).all()


@pytest.mark.parametrize("n_items", [1, 3])
def test_the_smallest_tables_work(name, n_items):
    crowd = suited(name, rated(n_items=n_items))
    model = fit_numbers(name, crowd, batch_size=1)
    assert np.isfinite(model.predict(crowd.x)).all()


def test_labels_that_are_all_equal_are_learnt(name, crowd):
    same = Annotations.from_arrays(*columns(crowd.annotations)[:2], np.full(180, 2.5))
    model = fit_numbers(name, crowd, annotations=same, truth=np.full(60, 2.5), epochs=30)
    assert np.abs(model.predict(crowd.x) - 2.5).max() < 0.5
    assert np.isfinite(model.infer(crowd.x, same).spread).all()


def test_items_and_people_without_labels_teach_nothing(name, crowd):
    names, people = np.insert(np.arange(60), 30, 1000), [0, 1, 2, 3, 4, 5, 77]
    ann = Annotations.from_arrays(*columns(crowd.annotations), items=names, annotators=people)
    x, truth = np.insert(crowd.x, 30, 1.0, axis=0), np.insert(crowd.truth, 30, 0.0)
    settings = {"scale": "none"}  # their features would count for the scale
    before = fit_numbers(name, crowd, **settings)
    model = fit_numbers(name, crowd, x=x, annotations=ann, truth=truth, **settings)
    if name not in SEMI:
        np.testing.assert_allclose(model.predict(crowd.x), before.predict(crowd.x), atol=1e-5)
    table = model.annotators_frame()
    assert table["n_annotations"].tolist()[-1] == 0
    assert np.isfinite(table[TRAITS].to_numpy()).all()
    together = model.infer(x, ann)
    assert together.values[30] == pytest.approx(model.predict(x)[30])
    assert together.spread[30] == pytest.approx(model.predict_spread(x)[30])


def test_annotators_are_told_in_a_table(name, crowd, fitted):
    table = fitted(name).annotators_frame()
    assert list(table.columns) == FIRST + TRAITS
    assert table["n_annotations"].tolist() == crowd.annotations.labels_per_annotator.tolist()
    for trait in ("quality", "bias", "scale", "noise"):
        assert (table[f"{trait}_low"] <= table[trait]).all()
        assert (table[trait] <= table[f"{trait}_high"]).all()
    assert ((table["quality_low"] >= 0) & (table["quality_high"] <= 1)).all()


def test_network_and_labels_together_make_a_consensus(name, crowd, fitted):
    model, ann = fitted(name), crowd.annotations
    together = model.infer(crowd.x, ann)
    assert together.to_frame()["item"].tolist() == ann.items.tolist()
    assert (together.spread < model.predict_spread(crowd.x)).all()
    alone = model.infer(crowd.x, ann.only(np.zeros(0, dtype=int)))
    np.testing.assert_allclose(alone.values, model.predict(crowd.x))
    strangers = Annotations.from_arrays([0, 1], ["new", "newer"], [0.5, 1.5], items=range(60))
    assert np.isfinite(model.infer(crowd.x, strangers).values).all()
    with pytest.raises(DataError, match="rests on a network, which must see the items"):
        together.predict(ann)


def test_inputs_are_not_touched(name, crowd):
    ann, x = crowd.annotations, crowd.x.copy()
    before = [each.copy() for each in (ann.item, ann.annotator, ann.label, x)]
    fit_numbers(name, crowd, x=x, epochs=1)
    for each, copy in zip((ann.item, ann.annotator, ann.label, x), before, strict=True):
        np.testing.assert_array_equal(each, copy)


def test_labels_kept_aside_are_judged_by_their_density(name, crowd):
    model = fit_numbers(name, crowd, epochs=4, validation_fraction=0.2, refit=True)
    assert len(model.search_history_) == 4
    judged = model.search_history_[-1:] if name in SOLVED else model.search_history_
    assert all(np.isfinite(entry["validation"]) for entry in judged)
    assert len(model.history_) == model.epoch_


def test_a_stopped_run_goes_on_to_the_same_bits(name, crowd, fitted, tmp_path):
    if name in SOLVED:
        pytest.skip("solved at once")

    class StoppedError(Exception):
        pass

    def stop(predict):
        assert predict(crowd.x).shape == (60,)
        seen.append(predict(crowd.x).std())
        if len(seen) == 2:
            raise StoppedError
        return {}

    seen = []
    settings = {**QUICK, "checkpoint": tmp_path}
    model = CrowdRegressor(method=name, **settings)
    truth = crowd.truth if name == "truth" else None
    with pytest.raises(StoppedError):
        model.fit(crowd.x, crowd.annotations, truth=truth, callback=stop)
    again = CrowdRegressor(method=name, **settings)
    assert_same_bits(again.fit(crowd.x, crowd.annotations, truth=truth, resume=True), fitted(name))


def test_half_precision_and_sparse_gradients_train_as_well(crowd):
    model = fit_numbers(
        "crowd-layer-sb", crowd, precision="bf16", sparse=True, sam_rho=0.05, max_grad_norm=1.0
    )
    assert all(each.isfinite().all() for each in weights(model).values())


def test_it_scores_by_r2_against_truth_or_mean_labels(crowd):
    model = fit_numbers("two-stage-mean", crowd, epochs=60, network="logistic", learning_rate=0.05)
    assert model.score(crowd.x, crowd.truth) > 0.7
    missing = Annotations.from_arrays(*columns(crowd.annotations[:30]), items=range(60))
    mean = np.asarray(crowd.annotations)[:30]
    expected = model.score(crowd.x[:30], mean)
    assert model.score(crowd.x, missing) == pytest.approx(expected)


def test_it_is_an_estimator_of_scikit_learn(crowd):
    model = CrowdRegressor(**QUICK, learning_rate=0.05)
    assert clone(model).get_params() == model.get_params()
    found = GridSearchCV(model, {"epochs": [1, 15]}, cv=3).fit(crowd.x, crowd.annotations)
    assert found.best_params_ == {"epochs": 15}
    assert mh.CrowdRegressor is CrowdRegressor


@pytest.mark.parametrize("as_module", [True, False])
def test_any_network_that_gives_a_number_is_trained(crowd, tmp_path, as_module):
    def make(shape, n_outputs):
        assert (shape, n_outputs) == ((4,), 1)
        return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))

    network = make((4,), 1) if as_module else make
    model = fit_numbers("crowd-layer-b", crowd, network=network)
    model.save(tmp_path)
    assert (load(tmp_path, network=network).predict(crowd.x) == model.predict(crowd.x)).all()


def test_whole_numbers_may_be_ratings():
    stars = Annotations.from_dense([[1, 2, -1], [4, 5, 5], [3, -1, 3], [2, 2, 1]])
    assert stars.kind == "classes"
    model = CrowdRegressor(**QUICK).fit(np.eye(4), stars)
    assert model.crowd_.kind == "numbers"


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"annotations": 7}, DataError, "expected a long frame .*; got int"),
        ({"x": np.zeros((3, 4))}, DataError, "3 rows of features for 60 items"),
        ({"x": np.full((60, 4), np.nan)}, DataError, "NaN"),
        ({"network": nn.Linear(4, 2)}, DataError, "one number each is expected"),
        ({"method": "doctor-net", "network": nn.ReLU()}, (DataError, SettingError), "number"),
        ({"epochs": 0}, SettingError, "epochs must be a whole number >= 1"),
        ({"resume": True}, SettingError, "checkpoint must be a folder"),
        ({"method": "truth", "truth": np.zeros(3)}, DataError, "3 truths for 60 items"),
        ({"method": "truth", "truth": ["much"] * 60}, DataError, "truths must be numbers"),
        ({"method": "truth", "truth": {0: 1.0}}, DataError, "give all of it"),
    ],
)
def test_wrong_input_is_told_in_a_line(crowd, change, error, said):
    with pytest.raises(error, match=said):
        fit_numbers(**({"method": "crowd-layer-b", "crowd": crowd} | change))


def test_labels_that_are_words_are_refused(crowd):
    words = Annotations.from_arrays([0, 1], ["u", "v"], ["cat", "dog"], items=range(60))
    with pytest.raises(DataError):
        fit_numbers("crowd-layer-b", crowd, annotations=words)


def test_the_torch_generator_is_untouched(crowd):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    fit_numbers("crowd-layer-b", crowd, epochs=1)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("method", ["crowd-layer-b", "two-stage-mean", "em-regression"])
@pytest.mark.parametrize("refit", [False, True])
def test_a_network_that_knows_its_items_by_heart_is_found_out(method, refit):
    rng = np.random.default_rng(5)
    crowd = rated(700, 6, 4, biases=0.2)
    x = np.hstack([crowd.x, rng.normal(size=(700, 60)).astype(np.float32)])  # mostly of no use
    n = 250
    model = CrowdRegressor(
        method=method,
        network="mlp",
        epochs=40,
        validation_fraction=0.25,
        refit=refit,
        progress=False,
    )
    model.fit(x[:n], crowd.annotations[:n])
    off = np.std(model.predict(x[n:]) - crowd.truth[n:])
    told = model.predict_spread(x[n:])[0]
    assert 0.7 * off < told < 1.4 * off
    in_sample = model.scaler_.scale * np.sqrt(model.noise_.error_variance)
    assert in_sample < told
    assert model.infer(x[:n], crowd.annotations[:n]).spread.max() <= told


def test_texts_without_words_and_rows_without_texts():
    ann = Annotations.from_dense([[1.0, 2.0], [3.0, 2.5], [2.0, 2.0]])
    model = CrowdRegressor(epochs=1, progress=False, validation_fraction=0.0)
    model.fit(["good film", "", "bad film"], ann)
    assert np.isfinite(model.predict([""])).all()
    assert np.isfinite(model.predict(["", ""])).all()
    assert model.predict(pd.Series(["good", "bad"])).shape == (2,)
    for missing in (None, np.nan):
        with pytest.raises(DataError, match="row 1: a text must be a string"):
            model.predict(["good", missing])
        with pytest.raises(DataError, match="row 0: a text must be a string"):
            model.fit([missing, "good", "bad"], ann)


def test_vectors_of_no_word_are_said():
    ann = Annotations.from_dense([[1.0, 2.0], [3.0, 2.5]])
    vectors = WordVectors(np.array(["xyz"], dtype=object), np.ones((1, 4), dtype=np.float32))
    model = CrowdRegressor(epochs=1, progress=False, validation_fraction=0.0, word_vectors=vectors)
    with pytest.warns(UserWarning, match="not one of the 2 different words has a vector"):
        model.fit(["good", "bad"], ann)


def test_equal_labels_have_a_unit_of_one_and_huge_ones_are_refused():
    equal = Annotations.from_dense(np.full((7, 3), 0.1))
    assert Regression().fit_scaler(equal).scale == 1.0
    with pytest.raises(DataError, match="another unit"):
        Regression().fit_scaler(Annotations.from_dense([[1e300, 1.0]]))
