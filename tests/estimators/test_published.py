"""`published` trains as a paper does, and what is given besides has precedence."""

import inspect

import numpy as np
import pytest

from featured_crowds import QUICK, assert_same_bits, featured, fit, suited
from manyhands.core.errors import SettingError, UnknownNameError
from manyhands.engine.settings import TrainingSettings
from manyhands.estimators import CrowdClassifier, CrowdRegressor, load
from manyhands.estimators.choices import network_choice
from manyhands.estimators.many import why_separate
from manyhands.methods import EM, METHODS, PUBLISHED
from manyhands.methods.base import Paper
from manyhands.networks import NETWORKS
from rated_crowds import FOR_NUMBERS, fit_numbers, rated

BY_ROW = [(name, task) for name, method in METHODS.items() for task in method.tasks]
FOR_CLASSES = [name for name, method in METHODS.items() if "classification" in method.tasks]

LONG = {"pc", "ma-slda-c", "ma-slda-r"}  # they have no epochs that could be fewer


def _with_marks(names):
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in names]


@pytest.fixture(scope="module")
def crowd():
    return featured()


@pytest.mark.parametrize(("name", "task"), BY_ROW)
def test_every_row_is_of_a_paper_for_each_of_its_tasks(name, task):
    method = METHODS[name]
    preset_name, preset = method.preset(True, task)
    assert preset is PUBLISHED[preset_name]
    assert preset.task == ("classification" if task == "multilabel" else task)
    found = method.published(True, task)
    TrainingSettings(**found.defaults)
    assert type(found) is type(method)
    assert found.about == method.about


@pytest.mark.parametrize("name", _with_marks(FOR_CLASSES))
def test_every_row_is_fitted_as_published(name, crowd):
    own = suited(name, crowd)
    model = fit(name, own, published=True, epochs=1)
    assert np.isfinite(model.predict_proba(own.x)).all()


@pytest.mark.parametrize("name", _with_marks(FOR_NUMBERS))
def test_every_row_of_numbers_is_fitted_as_published(name):
    own = suited(name, rated())
    model = fit_numbers(name, own, published=True, epochs=1)
    assert np.isfinite(model.predict(own.x)).all()


@pytest.mark.parametrize("name", list(PUBLISHED))
def test_a_preset_has_known_settings_and_a_reason_for_each_that_is_read(name):
    preset = PUBLISHED[name]
    TrainingSettings(**preset.training)
    known = {"scale", *preset.training}
    if preset.network is not None:
        network, settings = preset.network
        accepted = inspect.signature(NETWORKS[network].network).parameters
        assert set(settings) <= set(accepted)
        known |= {"network", *(f"network {each}" for each in accepted)}
    assert set(preset.left_open) <= known
    assert all(preset.left_open.values())


def test_the_settings_of_the_preset_are_used(crowd):
    model = fit("speelfc", crowd, published="p1/sentiment", epochs=1, batch_size=None)
    used = model.settings_
    assert (used.optimizer, used.learning_rate, used.batch_size) == ("adam", 1e-4, 64)
    assert (used.noise_learning_rate, used.warm_up, used.validation_fraction) == (None, 0, 0.0)
    assert model.network_.layers[0].out_features == 1200
    assert model.noise_spec_ == ("speelfc", {"diagonal": 0.4})
    np.testing.assert_array_equal(model.encoder_.transform(crowd.x).tensor, crowd.x)


def test_what_is_given_has_precedence(crowd):
    given = {
        "learning_rate": 0.02,
        "network_settings": {"dropout": 0.1},
        "noise": {"diagonal": 2.0},
        "scale": "standard",
    }
    model = fit("speelfc", crowd, published=True, **given)
    assert model.settings_.learning_rate == 0.02
    assert model.network_spec_ == ("mlp", {"hidden": (1200,), "dropout": 0.1})
    assert model.noise_spec_ == ("speelfc", {"diagonal": 2.0})
    inputs = model.encoder_.transform(crowd.x).tensor
    np.testing.assert_allclose(inputs.mean(dim=0), 0.0, atol=1e-5)
    other = fit("speelfc", crowd, published=True, network="logistic")
    assert other.network_spec_ == ("logistic", None)


def test_a_network_of_a_paper_is_for_inputs_of_its_kind():
    model = CrowdRegressor(method="crowd-layer-b", published=True)
    method = model._resolve_method()
    assert network_choice(model, method, "mlp") == ("mlp", None)
    assert network_choice(model, method, "text-cnn")[0] == "text-cnn"
    assert network_choice(model, method, "text-cnn")[1]["dropout"] == 0.0


def test_defaults_of_the_task_do_not_replace_those_of_the_paper():
    crowd = rated()
    model = fit_numbers("crowd-layer-b", crowd, published=True, batch_size=None, epochs=1)
    assert (model.settings_.batch_size, model.settings_.validation_unit) == (128, "items")


def test_a_published_model_is_saved_and_fitted_again_to_the_same_bits(crowd, tmp_path):
    model = fit("speelfc-d", crowd, published="p1/music")
    model.save(tmp_path)
    found = load(tmp_path)
    assert found.published == "p1/music"
    assert_same_bits(found, model)
    assert_same_bits(found.fit(crowd.x, crowd.annotations), model)


def test_seeds_are_one_program_where_nothing_else_is_drawn(crowd):
    reasons = {
        name: why_separate(
            CrowdClassifier(method=name, published=True, **QUICK), crowd.x, crowd.annotations
        )
        for name in ("conal", "speelfc-d", "mixture")
    }
    assert reasons["conal"] is None
    assert "dropout" in reasons["speelfc-d"]
    assert "restarts" in reasons["mixture"]


def test_without_a_preset_nothing_changes(crowd):
    assert_same_bits(fit("conal", crowd, published=False), fit("conal", crowd))


def test_a_method_of_ones_own_needs_the_name_of_a_preset(crowd):
    with pytest.raises(SettingError, match="the name of a preset for a method of your own"):
        fit(EM(every=2), crowd, published=True)
    model = fit(EM(every=2), crowd, published="p0/labelme")
    assert (model.settings_.optimizer, model.settings_.warm_up) == ("adam", 0)


@pytest.mark.parametrize(
    ("published", "error", "text"),
    [
        ("p1/musik", UnknownNameError, "did you mean p1/music"),
        ("p0/reviews", SettingError, "published must be a preset for classification"),
        (3, SettingError, "published must be True, False or the name of a preset; got 3"),
    ],
)
def test_presets_that_do_not_fit_are_refused(published, error, text, crowd):
    with pytest.raises(error, match=text):
        CrowdClassifier(method="speelfc", published=published, **QUICK).fit(
            crowd.x, crowd.annotations
        )


def test_a_paper_changes_fields_that_the_method_has():
    for name, method in METHODS.items():
        assert isinstance(method.paper, Paper)
        for preset in [True, *method.paper.by_preset]:
            method.published(preset)
        assert name != "crowd-layer-mw" or method.published().settings == {}
