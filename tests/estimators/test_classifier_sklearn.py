"""The classifier among scikit-learn's tools."""

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from torch import nn

from featured_crowds import QUICK, assert_same_bits, columns, featured, fit
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError, UnknownNameError
from manyhands.estimators import CrowdClassifier
from manyhands.methods import EndToEnd, TwoStage
from manyhands.networks import MLP

LEARNT = {**QUICK, "epochs": 8, "learning_rate": 0.05, "network": "logistic"}


@pytest.fixture(scope="module")
def crowd():
    return featured(spread=0.3)


def classifier(**settings):
    return CrowdClassifier(**(LEARNT | settings))


def test_a_clone_has_the_same_settings_and_is_not_fitted(crowd):
    model = classifier(method="speelfc", noise={"accuracy": 0.8}, seed=3)
    model.fit(crowd.x, crowd.annotations)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    assert_same_bits(copy.fit(crowd.x, crowd.annotations), model)


def test_a_clone_has_a_network_of_its_own():
    model = classifier(network=nn.Linear(5, 3))
    assert torch.equal(clone(model).network.weight, model.network.weight)
    assert clone(model).network is not model.network


def test_parameters_are_got_and_set():
    model = classifier().set_params(method="speelfc", epochs=7)
    assert (model.method, model.get_params()["epochs"]) == ("speelfc", 7)
    with pytest.raises(ValueError, match="Invalid parameter 'epoch'"):
        model.set_params(epoch=3)
    with pytest.raises(TypeError, match="epoch"):
        CrowdClassifier(epoch=3)


def test_the_defaults_are_not_shown(crowd):
    assert repr(CrowdClassifier(epochs=3)) == "CrowdClassifier(epochs=3)"
    model = classifier(network=nn.Linear(5, 3))
    for each in (model, model.fit(crowd.x, crowd.annotations)):
        assert "CrowdClassifier" in each._repr_html_()
        assert "Linear" in repr(each)


def test_it_is_a_classifier():
    assert is_classifier(CrowdClassifier())
    assert CrowdClassifier().__sklearn_tags__().target_tags.required


def test_it_stands_at_the_end_of_a_pipeline(crowd):
    pipeline = make_pipeline(StandardScaler(), classifier())
    x = crowd.x * 1000 + 5
    assert pipeline.fit(x, crowd.annotations).score(x, crowd.truth) > 0.9
    assert pipeline.predict_proba(x).shape == (60, 3)


def test_annotations_are_a_y_for_cross_validation(crowd):
    scores = cross_val_score(classifier(), crowd.x, crowd.annotations, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.6  # against the labels most people said


def test_folds_are_trained_apart(crowd):
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    scores = cross_val_score(classifier(), crowd.x, crowd.annotations, cv=folds)
    first = classifier().fit(crowd.x[:30], crowd.annotations[:30])
    assert scores[0] == first.score(crowd.x[30:], crowd.annotations[30:])
    found = cross_val_predict(classifier(), crowd.x, crowd.annotations, cv=folds)
    assert (found[30:] == first.predict(crowd.x[30:])).all()


def log_likelihood(model, x, y):
    return model.log_likelihood(x, y)


def test_held_out_labels_rank_models_without_truth(crowd):
    good, bad = (
        cross_val_score(
            classifier(epochs=epochs), crowd.x, crowd.annotations, cv=2, scoring=log_likelihood
        ).mean()
        for epochs in (8, 1)
    )
    assert good > bad


@pytest.mark.parametrize("jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_methods_and_rates_are_searched_over(jobs, crowd):
    grid = {"method": ["speelfc", "two-stage-majority"], "learning_rate": np.array([1e-5, 0.05])}
    search = GridSearchCV(classifier(), grid, cv=2, n_jobs=jobs, scoring=log_likelihood)
    search.fit(crowd.x, crowd.annotations)
    assert search.best_params_["learning_rate"] == 0.05
    assert set(search.cv_results_["param_method"]) == set(grid["method"])
    assert search.best_estimator_.score(crowd.x, crowd.truth) > 0.9


def test_what_is_not_fitted_says_so(crowd):
    model = classifier()
    calls = [
        lambda: model.predict(crowd.x),
        lambda: model.predict_proba(crowd.x),
        lambda: model.score(crowd.x, crowd.truth),
        lambda: model.infer(crowd.x, crowd.annotations),
        lambda: model.log_likelihood(crowd.x, crowd.annotations),
        lambda: model.confusion_,
        lambda: model.profile(0),
        model.annotators_frame,
        lambda: model.save("nowhere"),
    ]
    for call in calls:
        with pytest.raises(NotFittedError):
            call()


# --- scores ---


def test_a_score_is_the_share_of_rows_that_are_right(crowd):
    model = fit("speelfc", crowd)
    right = model.predict(crowd.x) == crowd.truth
    for truth in (crowd.truth, crowd.truth.tolist(), crowd.truth.astype(float),
                  crowd.truth.astype(str)):  # fmt: skip
        assert model.score(crowd.x, truth) == right.mean()
    weight = np.arange(60)
    expected = np.average(right, weights=weight)
    assert model.score(crowd.x, crowd.truth, sample_weight=weight) == pytest.approx(expected)
    assert model.score(crowd.x, np.full(60, "never said")) == 0.0


def test_a_score_against_labels_leaves_unlabelled_items_out(crowd):
    model = fit("speelfc", crowd)
    part = crowd.annotations.only(crowd.annotations.item < 10)
    expected = (model.predict(crowd.x) == np.asarray(part))[:10].mean()
    assert model.score(crowd.x, part) == expected
    with pytest.raises(DataError, match="not one item has a label"):
        model.score(crowd.x, part.only(np.zeros(0, dtype=int)))


@pytest.mark.parametrize("truth", [[0, 1], {0: 1}, 0])
def test_truths_of_other_rows_are_refused(truth, crowd):
    with pytest.raises(DataError, match="truths for 60 rows of features"):
        fit("speelfc", crowd).score(crowd.x, truth)


# --- what it is made of ---


def test_a_network_of_ones_own_is_copied_and_trained(crowd):
    network = MLP(5, 3, hidden=(7,), dropout=0)
    before = {name: each.clone() for name, each in network.state_dict().items()}
    model = fit("speelfc", crowd, network=network)
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
        assert not torch.equal(value, model.network_.state_dict()[name])
    assert model.get_params()["network"] is network
    assert network.training


def test_a_network_starts_from_the_weights_it_has(crowd):
    network = nn.Linear(5, 3)
    with torch.no_grad():
        network.weight.copy_(20.0 * torch.eye(3, 5))
        network.bias.fill_(-20.0)
    model = fit("speelfc", crowd, network=network, epochs=1, learning_rate=1e-6)
    assert model.score(crowd.x, crowd.truth) > 0.95


def test_a_function_may_make_the_network(crowd):
    task_options = []

    def maker(shape, n_classes):
        task_options.append((shape, n_classes))
        return nn.Linear(shape[0], n_classes)

    first, again = (fit("speelfc", crowd, network=maker) for _ in range(2))
    assert set(task_options) == {((5,), 3)}
    assert_same_bits(first, again)


def test_a_network_may_find_its_size_by_itself(crowd):
    search = {"validation_fraction": 0.1, "refit": True, "network": nn.LazyLinear(3)}
    assert fit("speelfc", crowd, **search).network_.weight.shape == (3, 5)


def test_a_method_may_have_settings_of_its_own(crowd):
    model = fit(EndToEnd("speelfc", {"accuracy": 0.9}), crowd)
    assert np.isfinite(model.predict_proba(crowd.x)).all()
    assert_same_bits(fit(TwoStage("majority", hard=True), crowd), fit("two-stage-majority", crowd))


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"network": "mpl"}, UnknownNameError, "no network 'mpl'; did you mean mlp"),
        (
            {"network": 7},
            SettingError,
            "network must be a name, a torch module or a function; got 7",
        ),
        ({"network": lambda shape, k: None}, SettingError, "must make a torch module; it made No"),
        ({"network": nn.Linear(5, 4)}, DataError, r"gives \(8, 4\) for 8 items where 3 logits"),
        ({"network": nn.Linear(5, 1)}, DataError, "the labels have 3 classes"),
        ({"network": nn.LSTM(5, 3)}, DataError, "gives tuple for 8 items"),
        ({"network": nn.Flatten(0)}, DataError, r"gives \(40,\) for 8 items"),
        ({"network": nn.Linear(6, 3)}, DataError, r"cannot take inputs of shape \(8, 5\): mat1"),
        ({"network": nn.Embedding(3, 3)}, DataError, "cannot take inputs of shape"),
        ({"network": "cnn"}, DataError, "cnn takes images"),
        ({"method": "conall"}, UnknownNameError, "no method 'conall'; did you mean conal"),
        ({"method": 7}, SettingError, "method must be a name of METHODS or a Method; got 7"),
        (
            {"method": TwoStage("mean")},
            SettingError,
            "got TwoStage, which is for regression; known: ",
        ),
        (
            {"method": "crowd-layer-b"},
            SettingError,
            "method must be for classification; got crowd-layer-b",
        ),
        ({"noise": {"omga": 1}}, SettingError, "no setting 'omga'; known: .*omega"),
        ({"noise": "omega"}, SettingError, "noise must be settings by name"),
        ({"noise": {"omega": 2.0}}, SettingError, r"omega must be None or in 0\.\.1; got 2"),
        ({"init": "end"}, SettingError, "init must be one of auto, own, consensus; got 'end'"),
        ({"scale": "big"}, SettingError, "scale must be one of"),
        ({"method": "two-stage-majority", "noise": {"omega": 0}}, SettingError, "has none"),
        ({"method": "two-stage-majority", "init": "consensus"}, SettingError, "has none"),
    ],
)
def test_wrong_requests_are_told_in_a_line(settings, error, text, crowd):
    with pytest.raises(error, match=text) as told:
        CrowdClassifier(**(QUICK | settings)).fit(crowd.x, crowd.annotations)
    assert "\n" not in str(told.value)


class Softmax(nn.Module):
    """The slip of taking a softmax at the end."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 3)

    def forward(self, inputs):
        return self.linear(inputs).softmax(dim=1)


@pytest.mark.parametrize("method", ["speelfc", "conal", "two-stage-majority", "truth"])
def test_probabilities_for_logits_are_warned_of_once(method, crowd):
    settings = {
        "network": Softmax(),
        "epochs": 2,
        "validation_fraction": 0.1,
        "refit": True,
        "warm_up": 1,
    }
    with pytest.warns(UserWarning, match="probabilities where logits are expected") as told:
        fit(method, crowd, **settings)
    assert len(told) == 1


def test_a_fit_that_fails_leaves_the_old_one_whole(crowd):
    model = classifier(network="mlp").fit(crowd.x, crowd.annotations)
    before = model.predict_proba(crowd.x)
    model.set_params(learning_rate=1e30)
    with pytest.raises(SettingError, match="not finite"):
        model.fit(crowd.x * 1000, crowd.annotations)
    np.testing.assert_array_equal(model.predict_proba(crowd.x), before)


# --- the truth, for the method that is told it ---


def test_truth_comes_as_a_list_or_by_item(crowd):
    names = {item: crowd.truth[item] for item in reversed(range(60))} | {"no item": 0}
    assert_same_bits(fit("truth", crowd, truth=names), fit("truth", crowd))


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        (None, "the method 'truth' trains on the truth of every labelled item"),
        ({0: 1}, "the method 'truth' trains on the truth of every labelled item"),
        ([0, 1], "2 truths for 60 items"),
        ([7] * 60, "no class 7; known: 0, 1, 2"),
        ([float("nan")] * 60, "no class nan"),
    ],
)
def test_half_a_truth_is_refused(truth, text, crowd):
    with pytest.raises(DataError, match=text):
        CrowdClassifier(method="truth", **QUICK).fit(crowd.x, crowd.annotations, truth=truth)


def test_no_other_method_looks_at_the_truth(crowd):
    told = CrowdClassifier(method="speelfc", **QUICK)
    told.fit(crowd.x, crowd.annotations, truth=(crowd.truth + 1) % 3)
    assert_same_bits(told, fit("speelfc", crowd))


# --- annotations that are none ---


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ({"a": 1}, "y: expected a long frame .* a dictionary of another form"),
        (np.zeros((60, 2, 2)), r"expected a long frame .*; got ndarray of shape \(60, 2, 2\)"),
        (7, "expected a long frame .*; got int"),
    ],
)
def test_what_is_no_label_of_a_crowd_is_refused(y, text, crowd):
    with pytest.raises(DataError, match=text):
        classifier().fit(crowd.x, y)


def test_numbers_are_refused_and_whole_numbers_are_classes(crowd):
    item, annotator, label = columns(crowd.annotations)
    whole = Annotations.from_arrays(item, annotator, label, kind="numbers")
    assert classifier().fit(crowd.x, whole).classes_.tolist() == [0, 1, 2]
    broken = Annotations.from_arrays(item, annotator, label + 0.5, kind="numbers")
    with pytest.raises(DataError, match="numbers with decimals where classes are needed"):
        classifier().fit(crowd.x, broken)


def test_nothing_can_be_learnt_from_nothing(crowd):
    none = crowd.annotations.only(np.zeros(0, dtype=int))
    with pytest.raises(DataError, match="not a single label"):
        classifier().fit(crowd.x, none)
    same = Annotations.from_arrays([0, 1], ["a", "a"], ["cat", "cat"])
    with pytest.raises(DataError, match="every label says 'cat': with one class"):
        classifier().fit(crowd.x[:2], same)
