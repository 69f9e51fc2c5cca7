"""What `CrowdRanker` must do with every method that can train it, and which methods cannot."""

import numpy as np
import pytest

import manyhands as mh
from manyhands.annotations import Comparisons
from manyhands.core.errors import SettingError
from manyhands.methods import METHODS
from manyhands.simulation import SCENARIOS, PreferenceSettings

CANNOT = {
    "truth", "raykar", "raykar-prior", "ma-lr", "pc", "pc-gp", "doctor-net", "weighted-doctor-net",
    "ma-slda-c", "cumulative-link", "crf-ma", "bsc-crf", "two-stage-mean", "two-stage-gaussian",
    "em-regression", "crowd-layer-s", "crowd-layer-b", "crowd-layer-sb", "ma-slda-r",
    "multilabel-layer", "two-stage-multilabel-mixture", "two-stage-multilabel-majority",
}  # fmt: skip
SLOW = {"mixture", "cross-fit", "crowdlab"}
CAN = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW))
    for name in METHODS
    if name not in CANNOT
]


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["preferences"](
        PreferenceSettings(n_items=30, n_pairs=150, share=0.2, n_features=4, seed=3)
    )


def fit(name, crowd, pairs=None):
    ranker = mh.CrowdRanker(method=name, epochs=2, progress=False, network="logistic")
    return ranker.fit(crowd.features, crowd.comparisons if pairs is None else pairs)


def rebuilt(pairs, order=slice(None), people=None):
    """The same comparisons in another order, by annotators with other names in the same order."""
    who = pairs.annotator if people is None else people[pairs.annotator]
    columns = pairs.left, pairs.right, who, np.array(pairs.to_columns()["winner"])
    return Comparisons.from_arrays(*(each[order] for each in columns), winner_is="side")


@pytest.mark.parametrize("name", CAN)
def test_shuffled_rows_and_new_names_change_nothing_and_files_keep_the_scores(
    name, crowd, tmp_path
):
    expected = fit(name, crowd)
    scores = expected.predict(crowd.test_features)
    order = np.random.default_rng(1).permutation(len(crowd.comparisons))
    people = np.array([f"person {a:02}" for a in range(crowd.comparisons.n_annotators)])
    again = fit(name, crowd, rebuilt(crowd.comparisons, order, people))
    assert np.array_equal(again.predict(crowd.test_features), scores)
    assert again.annotators_frame()["annotator"].tolist() == people.tolist()
    assert expected.score(crowd.features, crowd.comparisons) > 0.55
    expected.save(tmp_path / "model")
    assert np.array_equal(mh.load(tmp_path / "model").predict(crowd.test_features), scores)


@pytest.mark.parametrize("name", sorted(CANNOT))
def test_other_methods_are_refused_with_a_reason(name, crowd):
    with pytest.raises(SettingError, match=rf"{name} cannot rank items: it .*; use crowd-layer-mw"):
        fit(name, crowd)
