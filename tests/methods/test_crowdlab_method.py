"""Training on CROWDLAB's consensus: out-of-fold predictions, and the scores of cleanlab."""

from dataclasses import replace

import numpy as np
import pytest
from cleanlab import multiannotator

from featured_crowds import assert_same_bits, featured, fit, weights
from manyhands.core.errors import SettingError
from manyhands.estimators import CrowdClassifier
from manyhands.methods import METHODS, TrainOnCrowdlab
from manyhands.methods.cross_fit.learners import make_folds

QUICK = {"epochs": 8, "batch_size": 16, "learning_rate": 0.02, "progress": False, "device": "cpu"}
N_FOLDS = 4


@pytest.fixture(scope="module")
def crowd():
    return featured(n_items=80, n_annotators=7, labels_per_item=3, lowest=0.4, spread=0.8)


def spied(monkeypatch, owner, name):
    """What a method of a class returns from now on."""
    found, real = [], getattr(owner, name)

    def called(*given):
        found.append(real(*given))
        return found[-1]

    monkeypatch.setattr(owner, name, called)
    return found


def targets(monkeypatch, method, crowd, settings):
    """The targets that a method trains the network on."""
    with monkeypatch.context() as patch:
        made = spied(
            patch, type(METHODS[method] if isinstance(method, str) else method), "make_module"
        )
        fit(method, crowd, **settings)
    return made[-1].targets.numpy()


def out_of_fold(crowd, fold_i, seed=0):
    """Predictions for every fold by networks that learn the majority of all others."""
    found = np.empty((len(crowd.x), 3))
    for number in range(N_FOLDS):
        rest = crowd.annotations.only(fold_i[crowd.annotations.item] != number)
        model = CrowdClassifier(method="two-stage-majority", seed=seed, **QUICK)
        model.fit(crowd.x, rest, X_items=crowd.annotations.items)
        own = fold_i == number
        found[own] = model.predict_proba(crowd.x)[own]
    return found


def test_the_network_learns_what_cleanlab_finds_from_out_of_fold_predictions(crowd):
    ann, fold_i = crowd.annotations, make_folds(80, N_FOLDS, seed=0)
    dense = ann.to_dense(missing=-1).astype(float)
    dense[dense < 0] = np.nan
    wanted = multiannotator.get_label_quality_multiannotator(
        dense, out_of_fold(crowd, fold_i), verbose=False
    )["label_quality"]["consensus_label"].to_numpy()
    assert (wanted != ann.label_counts().argmax(axis=1)).any()
    found = CrowdClassifier(method=TrainOnCrowdlab(n_folds=N_FOLDS), **QUICK)
    found.fit(crowd.x, ann)
    expected = fit("truth", crowd, truth=wanted, **QUICK)  # it learns these classes by themselves
    np.testing.assert_array_equal(found.predict_proba(crowd.x), expected.predict_proba(crowd.x))


def test_the_labels_of_an_item_teach_no_network_that_judges_it(crowd, monkeypatch):
    seen = spied(monkeypatch, TrainOnCrowdlab, "_out_of_fold")
    ann = crowd.annotations
    item = int(np.flatnonzero(ann.label_counts().max(axis=1) == 3)[0])  # all say the same of it
    other = replace(ann, label=np.where(ann.item == item, (ann.label + 1) % 3, ann.label))
    for annotations in (ann, other):
        fit("crowdlab", crowd, annotations=annotations, **QUICK)
    first, second = seen
    fold_i = make_folds(80, METHODS["crowdlab"].n_folds, seed=0)
    own = fold_i == fold_i[item]
    np.testing.assert_array_equal(first[own], second[own])
    assert not np.array_equal(first[~own], second[~own])


def test_a_consensus_of_labels_and_networks_is_better_than_the_majority(monkeypatch):
    crowd = featured("spammers", n_items=300, n_annotators=12, spread=0.7, share=0.5, seed=4)
    settings = {**QUICK, "epochs": 15, "validation_fraction": 0.0}
    right = {
        name: np.mean(targets(monkeypatch, name, crowd, settings).argmax(axis=1) == crowd.truth)
        for name in ("two-stage-majority", "crowdlab")
    }
    assert right["crowdlab"] > right["two-stage-majority"] + 0.1


def test_the_whole_distribution_can_be_learnt(crowd, monkeypatch):
    soft, hard = (
        targets(monkeypatch, TrainOnCrowdlab(hard=each), crowd, QUICK) for each in (False, True)
    )
    assert set(np.unique(hard)) == {0.0, 1.0}
    assert ((soft > 0) & (soft < 1)).all()
    assert (soft.argmax(axis=1) == hard.argmax(axis=1)).mean() > 0.95


def test_without_two_labels_on_an_item_the_labels_are_the_consensus():
    crowd = featured(labels_per_item=1)
    assert_same_bits(fit("crowdlab", crowd), fit("two-stage-majority", crowd))


def test_it_resumes_to_the_same_bits(crowd, tmp_path):
    whole = fit("crowdlab", crowd, **QUICK)
    again = fit("crowdlab", crowd, **QUICK, checkpoint=tmp_path)
    assert_same_bits(whole, again)
    assert len(list((tmp_path / "folds").iterdir())) == METHODS["crowdlab"].n_folds
    resumed = fit("crowdlab", crowd, **QUICK, checkpoint=tmp_path, resume=True)
    assert weights(resumed).keys() == weights(whole).keys()
    assert_same_bits(resumed, whole)


def test_one_fold_is_refused():
    with pytest.raises(SettingError, match="n_folds must be >= 2; got 1"):
        TrainOnCrowdlab(n_folds=1)
