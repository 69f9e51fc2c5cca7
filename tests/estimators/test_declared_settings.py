"""A setting is declared once: constructors, documentation and files follow from the declaration."""

import inspect
import json
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from featured_crowds import QUICK, assert_same_bits, featured
from manyhands.core.errors import SettingError
from manyhands.core.settings import AT_LEAST_ONE, describe, setting, settings_of
from manyhands.engine.settings import (
    FeatureOptions,
    TaggingOptions,
    TrainingOptions,
    TrainingSettings,
)
from manyhands.estimators import ESTIMATORS, CrowdClassifier, load
from manyhands.evaluation import CRITERIA
from manyhands.networks import MLP

OPTIONS = {
    "classification": FeatureOptions,
    "regression": FeatureOptions,
    "tagging": TaggingOptions,
    "multilabel": FeatureOptions,
}


@dataclass(kw_only=True, eq=False, repr=False)
class WithOneMore(CrowdClassifier):
    """A classifier with a setting that is declared here and nowhere else."""

    n_views: int = setting(3, "Number of views of every item.", rule=AT_LEAST_ONE)


def test_one_declaration_makes_the_constructor_the_documentation_and_the_file(tmp_path):
    parameter = inspect.signature(WithOneMore).parameters["n_views"]
    assert (parameter.default, parameter.kind) == (3, inspect.Parameter.KEYWORD_ONLY)
    model = WithOneMore(n_views=5, **QUICK)
    assert model.get_params()["n_views"] == clone(model).n_views == 5
    assert "n_views : int, default 3\n    Number of views of every item." in describe(WithOneMore)
    crowd = featured()
    model.fit(crowd.x, crowd.annotations).save(tmp_path)
    assert json.loads((tmp_path / "model.json").read_text())["options"]["n_views"] == 5
    with pytest.raises(SettingError, match="n_views must be a whole number >= 1; got 0"):
        WithOneMore(n_views=0, **QUICK).fit(crowd.x, crowd.annotations)


@pytest.mark.parametrize("task", sorted(ESTIMATORS))
def test_an_estimator_takes_the_declared_settings_and_no_others(task):
    declared = settings_of(OPTIONS[task])
    parameters = dict(inspect.signature(ESTIMATORS[task]).parameters)
    assert parameters.keys() == declared.keys()
    assert all(f"{name} : " in ESTIMATORS[task].__doc__ for name in declared)
    method = parameters.pop("method")
    assert method.default == clone(ESTIMATORS[task]()).method
    assert all(parameters[name].default == declared[name].default for name in parameters)


@pytest.mark.parametrize("task", sorted(ESTIMATORS))
def test_every_setting_has_a_line_of_help(task):
    for declared in settings_of(OPTIONS[task]).values():
        assert declared.help.endswith("."), declared.name
        assert declared.group in {"Training", "Optimiser", "Network", "Output"}


def test_training_settings_fill_in_and_check_what_was_given():
    filled = TrainingSettings(epochs=7)
    declared = settings_of(TrainingOptions)
    for name, each in declared.items():
        assert getattr(filled, name) == (7 if name == "epochs" else each.fallback)


def test_the_monitors_are_the_criteria():
    assert settings_of(TrainingOptions)["monitor"].choices == tuple(CRITERIA)


def test_settings_of_the_network_are_saved_and_read_back(tmp_path):
    crowd = featured()
    given = {"hidden": (np.int64(7), 4), "batch_norm": True}  # as a grid search may give them
    model = CrowdClassifier(method="speelfc", network_settings=given, **QUICK)
    model.fit(crowd.x, crowd.annotations).save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.network_settings == {"hidden": [7, 4], "batch_norm": True}
    np.testing.assert_array_equal(loaded.predict_proba(crowd.x), model.predict_proba(crowd.x))
    loaded.fit(crowd.x, crowd.annotations)
    assert_same_bits(loaded, model)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"network_settings": 3}, "network_settings must be settings by name, or None; got 3"),
        ({"network_settings": {"dept": 3}}, "the network mlp has no setting 'dept'; known: hidden"),
        ({"network": MLP(5, 3), "network_settings": {"hidden": [3]}}, "of your own"),
        ({"method": "raykar", "network_settings": {"hidden": [3]}}, "raykar has a network of its"),
    ],
)
def test_settings_of_the_network_that_do_not_fit_are_refused(settings, text):
    crowd = featured()
    with pytest.raises(SettingError, match=text):
        CrowdClassifier(**(QUICK | {"method": "speelfc"} | settings)).fit(
            crowd.x, crowd.annotations
        )


def test_a_loaded_model_has_the_settings_of_its_fit(tmp_path):
    crowd = featured()
    model = CrowdClassifier(method="speelfc", scale="standard", **QUICK)
    model.fit(crowd.x, crowd.annotations).save(tmp_path)
    loaded = load(tmp_path)
    assert loaded.settings_ == model.settings_
    assert (loaded.scale, loaded.epochs) == ("standard", QUICK["epochs"])
