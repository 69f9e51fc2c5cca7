"""The scenario of preferences has the scores, features and annotators that it says."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.core.errors import SettingError
from manyhands.simulation import SCENARIOS, PreferenceSettings


def test_the_crowd_is_that_of_its_settings():
    settings = PreferenceSettings(n_items=30, n_pairs=200, n_annotators=10, n_test=5, share=0.3)
    crowd = SCENARIOS["preferences"](settings)
    assert len(crowd.comparisons) == 600
    assert (crowd.comparisons.left != crowd.comparisons.right).all()
    assert crowd.behaviour.tolist().count("spammer") == 3
    assert (crowd.follows[crowd.behaviour == "spammer"] == 0.5).all()
    assert crowd.scores.shape == (30,)
    assert crowd.test_features.shape == (5, 8)
    again = SCENARIOS["preferences"](settings)
    assert np.array_equal(again.comparisons.outcome, crowd.comparisons.outcome)
    assert list(crowd.truth_by_item) == list(range(30))


def test_who_follows_the_scores_is_found():
    crowd = SCENARIOS["preferences"](PreferenceSettings(n_items=20, n_pairs=1500, seed=2))
    fit = mh.aggregate(crowd.comparisons)
    assert np.corrcoef(fit.follows, crowd.follows)[0, 1] > 0.8
    assert fit.score(crowd.truth_by_item).spearman > 0.95


def test_wrong_settings_are_refused():
    with pytest.raises(SettingError, match="n_classes must be 2"):
        PreferenceSettings(n_classes=3)
    with pytest.raises(SettingError, match="n_items must be >= 2"):
        PreferenceSettings(n_items=1)
