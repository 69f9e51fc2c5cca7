"""A ranker learns scores from comparisons, whichever side items were on."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import manyhands as mh
from manyhands.annotations import Comparisons
from manyhands.core.errors import DataError, SettingError
from manyhands.estimators.ranker import _pair_labels
from manyhands.networks import PairNetwork
from manyhands.simulation import SCENARIOS, PreferenceSettings

QUICK = {"epochs": 12, "progress": False, "network_settings": {"hidden": [16]}}


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["preferences"](
        PreferenceSettings(n_items=60, n_pairs=400, share=0.2, position=0.8, n_features=4, seed=3)
    )


@pytest.fixture(scope="module")
def fitted(crowd):
    return mh.CrowdRanker(**QUICK).fit(crowd.features, crowd.comparisons)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_swapping_the_items_swaps_the_probabilities(n_classes):
    torch.manual_seed(0)
    scorer = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    network = PairNetwork(scorer, n_classes)
    pairs = torch.randn(7, 2, 3, generator=torch.Generator().manual_seed(1))
    swap = [1, 0, 2][:n_classes]
    assert torch.equal(network(pairs)[:, swap], network(pairs.flip(1)))
    lead = network.scores(pairs[:, 0]) - network.scores(pairs[:, 1])
    assert torch.allclose(network(pairs)[:, 0] - network(pairs)[:, 1], lead)


def test_a_pair_needs_two_items():
    with pytest.raises(DataError, match=r"shape \(2, ...\); got \(3, 4\)"):
        PairNetwork(torch.nn.Linear(4, 1), 2)(torch.zeros(5, 3, 4))


@pytest.mark.parametrize("method", ["crowd-layer-mw", "two-stage-majority"])
def test_new_items_are_ranked(crowd, method):
    ranker = mh.CrowdRanker(method=method, **QUICK).fit(crowd.features, crowd.comparisons)
    assert ranker.score(crowd.test_features, crowd.test_scores) > 0.7
    truth = dict(enumerate(crowd.test_scores))
    card = ranker.scorecard(crowd.test_features, truth, X_items=range(len(truth)))
    assert card.spearman > 0.6
    assert card.pair_accuracy == pytest.approx(ranker.score(crowd.test_features, crowd.test_scores))
    assert ranker.score(crowd.features, crowd.comparisons) > 0.55


def test_annotators_and_their_sides_are_found(crowd, fitted):
    table = fitted.annotators_frame()
    assert np.corrcoef(table["p_left"], crowd.position)[0, 1] > 0.6
    spam = crowd.behaviour == "spammer"
    assert table["quality"][~spam].mean() > table["quality"][spam].mean()


def test_a_saved_ranker_gives_the_same_scores(crowd, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = mh.load(tmp_path / "model")
    assert isinstance(loaded, mh.CrowdRanker)
    assert np.array_equal(loaded.predict(crowd.test_features), fitted.predict(crowd.test_features))
    assert loaded.annotators_frame().equals(fitted.annotators_frame())
    assert loaded.get_params()["network"] == "mlp"


def test_the_chance_of_a_pair_follows_the_scores(crowd, fitted):
    left, right = crowd.features[:20], crowd.features[20:40]
    p = fitted.predict_proba(left, right)
    assert p.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-5)
    lead = fitted.predict(left) - fitted.predict(right)
    assert np.array_equal(p[:, 0] > p[:, 1], lead > 0)
    assert np.log(p[:, 0] / p[:, 1]) == pytest.approx(lead, abs=1e-3)


def test_rows_may_have_names_and_units_do_not_count(crowd, fitted):
    order = np.random.default_rng(0).permutation(60)
    again = mh.CrowdRanker(**QUICK).fit(
        crowd.features[order] * 1000 + 5, crowd.comparisons, X_items=order
    )
    found = again.predict(crowd.test_features * 1000 + 5)
    assert found == pytest.approx(fitted.predict(crowd.test_features), abs=1e-2)


def test_both_orders_are_one_item_without_sides():
    pairs = Comparisons.from_arrays(list("pqq"), list("qpr"), list("uvw"), ["left", "left", "tie"])
    one, first, second = _pair_labels(pairs, False)
    assert (one.n_items, first.tolist(), second.tolist()) == (2, [0, 1], [1, 2])
    assert one.label_names().tolist() == ["left", "right", "tie"]
    own, first, _ = _pair_labels(pairs, True)
    assert (own.n_items, first.tolist()) == (3, [0, 1, 1])
    assert set(own.label_names().tolist()) == {"left", "tie"}


def test_it_is_an_estimator():
    ranker = mh.CrowdRanker(method="conal", epochs=3)
    assert clone(ranker).get_params()["epochs"] == 3
    with pytest.raises(TypeError, match="unexpected keyword"):
        mh.CrowdRanker(epoch=3)


def test_wrong_features_are_refused(crowd, fitted):
    with pytest.raises(DataError, match="5 rows of features and 60 compared items"):
        mh.CrowdRanker(**QUICK).fit(crowd.features[:5], crowd.comparisons)
    with pytest.raises(DataError, match="no features of the compared items 5, 6, 7 and"):
        mh.CrowdRanker(**QUICK).fit(crowd.features[:5], crowd.comparisons, X_items=range(5))
    with pytest.raises(DataError, match="features of a ranker are numbers"):
        mh.CrowdRanker(**QUICK).fit([["a text"]], crowd.comparisons)
    with pytest.raises(DataError, match="features have 2 columns"):
        fitted.predict(crowd.features[:, :2])
    with pytest.raises(SettingError, match="network must be the name of a network"):
        mh.CrowdRanker(network=torch.nn.Linear(4, 1)).fit(crowd.features, crowd.comparisons)
