"""Entities and numbers against the truth, and against independent implementations."""

import numpy as np
import pytest
from sklearn import metrics

from manyhands.annotations import spans_to_tags, tags_to_spans
from manyhands.core.errors import DataError
from manyhands.evaluation import regression_scores, score_entities, score_entity_lists

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-GEO-POL", "I-GEO-POL"]


def random_tags(rng, lengths, valid):
    tags = [rng.choice(TAGS, length).tolist() for length in lengths]
    return [spans_to_tags(tags_to_spans(each), len(each)) for each in tags] if valid else tags


@pytest.mark.parametrize("valid", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore")  # seqeval's remarks on scores that are not defined
def test_scores_are_those_of_seqeval(seed, valid):
    metrics = pytest.importorskip("seqeval.metrics")
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, rng.integers(1, 40))
    truth, said = (random_tags(rng, lengths, valid) for _ in range(2))
    said = [one if rng.random() < 0.5 else two for one, two in zip(truth, said, strict=True)]
    scores = score_entity_lists(truth, said)
    assert scores.precision == pytest.approx(metrics.precision_score(truth, said))
    assert scores.recall == pytest.approx(metrics.recall_score(truth, said))
    assert scores.f1 == pytest.approx(metrics.f1_score(truth, said))
    report = metrics.classification_report(truth, said, output_dict=True)
    for name, counts in scores.by_type.items():
        assert counts.f1 == pytest.approx(report[name]["f1-score"])
        assert counts.n_true == report[name]["support"]


def test_types_add_up():
    rng = np.random.default_rng(0)
    truth, said = (random_tags(rng, [5] * 30, False) for _ in range(2))
    scores = score_entity_lists(truth, said)
    for count in ("n_true", "n_predicted", "n_correct"):
        total = sum(getattr(each, count) for each in scores.by_type.values())
        assert total == getattr(scores, count)
    swapped = score_entity_lists(said, truth)
    assert (swapped.precision, swapped.recall) == (scores.recall, scores.precision)
    assert score_entity_lists(truth, truth).f1 == 1.0


def test_a_span_of_another_length_or_type_is_wrong():
    truth = ["B-PER", "I-PER", "O", "B-LOC"]
    offsets = np.array([0, 4])
    assert score_entities(truth, ["B-PER", "B-PER", "O", "B-LOC"], offsets).n_correct == 1
    assert score_entities(truth, ["B-LOC", "I-LOC", "O", "B-LOC"], offsets).n_correct == 1
    # the same tags cut into other sentences are other entities
    assert score_entities(truth, truth, np.array([0, 1, 4])).n_true == 3


def test_entities_do_not_run_over_the_end_of_a_sentence():
    scores = score_entity_lists([["B-PER"], ["I-PER"]], [["B-PER"], ["O"]])
    assert (scores.n_true, scores.n_correct) == (2, 1)


def test_nothing_said_and_nothing_true_score_zero():
    assert score_entity_lists([["B-PER"]], [["O"]]).precision == 0.0
    assert score_entity_lists([["O"]], [["O"]]).f1 == 0.0
    with pytest.raises(DataError, match="differ in number or length"):
        score_entity_lists([["O"]], [["O", "O"]])
    with pytest.raises(DataError, match="'X' is not O"):
        score_entity_lists([["O"]], [["X"]])


@pytest.mark.parametrize("seed", range(5))
def test_number_scores_are_those_of_others(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=20)
    said = truth + rng.normal(size=20)
    scores = regression_scores(truth, said)
    assert scores["r2"] == pytest.approx(metrics.r2_score(truth, said))
    assert scores["correlation"] == pytest.approx(np.corrcoef(truth, said)[0, 1])
    assert scores["rmse"] >= scores["mae"]
    assert scores["mae"] == pytest.approx(metrics.mean_absolute_error(truth, said))
    assert scores["rmse"] == pytest.approx(metrics.root_mean_squared_error(truth, said))
    scaled = regression_scores(truth, 3 * said - 7)
    assert scaled["correlation"] == pytest.approx(scores["correlation"])


def test_scores_that_are_not_defined_are_nan():
    same, other = np.ones(3), np.array([1.0, 2.0, 3.0])
    assert np.isnan(regression_scores(same, other)["r2"])
    assert np.isnan(regression_scores(other, same)["correlation"])
    with pytest.raises(DataError, match="equal length"):
        regression_scores(same, other[:2])
    with pytest.raises(DataError, match="not finite"):
        regression_scores(same, np.array([1.0, np.nan, 2.0]))
