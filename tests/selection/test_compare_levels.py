"""Comparisons of methods on ordinal labels count how far off levels are."""

import numpy as np

from featured_crowds import featured
from manyhands.annotations import Annotations
from manyhands.evaluation import ranked_probability_score
from manyhands.selection import Trial, compare_training
from manyhands.selection.compare import scores_of, trained_on


def trial_of(*, ordered):
    crowd = featured()
    ann = crowd.annotations
    names = ann.items[ann.item], ann.annotators[ann.annotator], ann.label_names()
    kind = {"levels": ann.classes.tolist()} if ordered else {"classes": ann.classes.tolist()}
    labels = Annotations.from_arrays(*names, **kind, items=ann.items)
    return Trial(crowd.x, labels, np.asarray(crowd.truth))


def test_levels_have_the_ranked_probability_score():
    trial = trial_of(ordered=True)
    model = trained_on(trial, "cumulative-link", 0, {"epochs": 2})
    expected = ranked_probability_score(trial.truth, model.predict_proba(trial.features))
    assert scores_of(trial, model)["rps"] == expected
    partly = Trial(trial.features, trial.annotations, np.where(trial.truth > 0, trial.truth, -1))
    known = partly.truth >= 0
    expected = ranked_probability_score(
        trial.truth[known], model.predict_proba(trial.features)[known]
    )
    assert scores_of(partly, model)["rps"] == expected
    found = compare_training(trial, ["cumulative-link", "majority"], settings={"epochs": 2})
    rps = dict(zip(found.columns["method"], found.columns["rps"], strict=True))
    assert rps["cumulative-link"] > 0
    assert np.isnan(rps["majority"])  # of the network alone; labels have none


def test_classes_without_an_order_have_none():
    found = compare_training(
        trial_of(ordered=False), ["two-stage-majority"], settings={"epochs": 2}
    )
    assert "rps" not in found.columns
