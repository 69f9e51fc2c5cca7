"""Linear methods that are solved rather than trained, as the classifier offers them."""

import numpy as np
import pytest

from manyhands.core.errors import SettingError
from manyhands.estimators import CrowdClassifier
from manyhands.training import METHODS, Solved
from manyhands.training.linear import fit_attentive, fit_personal, fit_raykar
from training.featured_crowds import featured

SOLVED = [name for name, method in METHODS.items() if isinstance(method, Solved)]
SOLVERS = {"raykar": fit_raykar, "ma-lr": fit_attentive, "pc": fit_personal}


@pytest.fixture(scope="module")
def crowd():
    return featured(n_items=200, labels_per_item=4, n_annotators=8)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_the_classifier_holds_the_solution(name, crowd):
    model = CrowdClassifier(method=name, scale="none", progress=False).fit(
        crowd.x, crowd.annotations
    )
    found = SOLVERS[name](crowd.x, crowd.annotations)
    np.testing.assert_allclose(
        np.log(model.predict_proba(crowd.x)), found.weights.log_class(crowd.x), atol=1e-4
    )


@pytest.mark.parametrize("name", SOLVED)
def test_the_objective_never_falls_and_the_crowd_is_learnt(name, crowd):
    model = CrowdClassifier(method=name, progress=False).fit(crowd.x, crowd.annotations)
    losses = [entry["loss"] for entry in model.history_]
    assert (np.diff(losses) <= 1e-9).all()
    assert model.score(crowd.x, crowd.annotations.classes[crowd.truth]) > 0.9


@pytest.mark.parametrize("name", SOLVED)
def test_another_network_is_refused(name, crowd):
    with pytest.raises(SettingError, match="is for the network 'logistic'; leave network out"):
        CrowdClassifier("mlp", name, progress=False).fit(crowd.x, crowd.annotations)


def test_random_annotators_are_found_by_attention():
    crowd = featured("spammers", n_items=300, n_annotators=10, labels_per_item=5, share=0.4)
    model = CrowdClassifier(method="ma-lr", progress=False).fit(crowd.x, crowd.annotations)
    right = np.einsum("akk->ak", model.confusion_).mean(axis=1)
    bad = np.einsum("akk->ak", crowd.confusion).mean(axis=1) < 0.4
    assert bad.any()
    assert right[bad].max() < right[~bad].min()
