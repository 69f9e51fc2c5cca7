"""Choosing without clean labels: who wins, whether majority voting is enough, what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from featured_crowds import columns, featured
from manyhands import aggregation
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError, UnknownNameError
from manyhands.estimators import CrowdClassifier
from manyhands.evaluation import CRITERIA, CROWD_METRICS
from manyhands.methods import METHODS, TwoStage
from manyhands.networks import MLP
from manyhands.selection import Trial, all_candidates, select, select_on_trial
from manyhands.simulation import simulate_crowd
from manyhands.simulation.behaviours import confused, honest

QUICK = {"epochs": 2, "network": "logistic", "device": "cpu"}
K = 4
MISTAKEN = confused(np.full(8, 0.25), K, 0.1, np.random.default_rng(0))


def wide(shape, n_classes):
    return MLP(shape[0], n_classes, hidden=(64,), dropout=0)


def crowd_of(people, n_items=300, labels_per_item=4):
    """Features that tell something of the class, and labels of people with these confusions."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, K, n_items)
    x = 2 * np.eye(K)[truth] + 0.8 * rng.normal(size=(n_items, K))
    crowd = simulate_crowd(truth, people, labels_per_item=labels_per_item, seed=0)
    return x.astype(np.float32), crowd.annotations, truth


@pytest.fixture(scope="module")
def small():
    return featured(labels_per_item=4)


@pytest.fixture(scope="module")
def misled():
    """Four people who know, and eight with favourite mistakes of their own."""
    return crowd_of(np.concatenate([honest(np.full(4, 0.95), K), MISTAKEN]))


@pytest.fixture(scope="module")
def found(misled):
    x, ann, truth = misled
    settings = {"network": wide, "epochs": 20, "learning_rate": 0.01, "batch_size": 16}
    return select(
        x, ann, ["speelfc"], settings={**settings, "device": "cpu"},
        inform=lambda model: {"accuracy": model.score(x, truth)},
    )  # fmt: skip


def plain(selection):
    """What was chosen and why, without times and truth."""
    table = {
        name: column.tolist()
        for name, column in selection.table.columns.items()
        if name not in ("seconds", "accuracy")
    }
    return table, selection.winner, selection.majority_is_enough, selection.reason


def test_the_better_method_wins_where_people_mislead_the_majority(found):
    rows = {row["method"]: row for row in found.table.records()}
    better, baseline = (rows[name]["accuracy"] for name in ("speelfc", "two-stage-majority"))
    assert better > baseline + 0.05, "the test needs a crowd that misleads the majority"
    assert found.winner == "speelfc"
    assert not found.majority_is_enough
    assert found.reason.startswith("Majority voting is not enough: on 180 held-out labels speelfc")


def test_the_winner_is_given_unfitted_to_be_trained_on_all_labels(found):
    model = found.model()
    assert (model.method, model.epochs, model.progress) == ("speelfc", 20, True)
    assert not hasattr(model, "network_")
    assert model is not found.model()


def test_the_table_shows_every_criterion(found):
    assert list(found.table.columns) == [
        "method", "average_rank", *CROWD_METRICS, "seconds", "accuracy",
    ]  # fmt: skip
    assert found.table.ranked_by.startswith("average rank over all criteria")


def test_majority_voting_is_enough_for_people_who_never_err():
    x, ann, _ = crowd_of(honest(np.full(6, 1.0), K), n_items=150)
    settings = {**QUICK, "epochs": 8, "learning_rate": 0.05}
    found = select(x, ann, ["speelfc", "crowd-layer-vb"], settings=settings)
    assert found.majority_is_enough
    assert found.reason.startswith("Majority voting is enough: ")


def test_truth_changes_nothing(small):
    x, ann, truth = small.x, small.annotations, small.truth
    lost = np.isin(ann.item, np.arange(10))  # items with a truth and no labels
    trial = Trial(x, ann.only(~lost))
    how = {"settings": QUICK, "monitor": "ranks"}
    blind = select_on_trial(trial, ["speelfc"], **how)
    assert "accuracy" not in blind.table.columns
    seen = np.arange(10, 60)
    told = [
        replace(trial, truth=truth),
        Trial(x[seen], trial.annotations[seen], truth[seen], x[:10], truth[:10]),
        replace(trial, truth=(truth + 1) % 3),
    ]
    for each in told:
        selection = select_on_trial(each, ["speelfc"], **how)
        assert list(selection.table.columns)[-1] == "accuracy"
        assert plain(selection) == plain(blind)


def test_every_judge_puts_its_best_first(small):
    tables = [
        select(small.x, small.annotations, ["speelfc", "conal"], monitor=monitor, settings=QUICK)
        for monitor in CRITERIA
    ]
    for monitor, selection in zip(CRITERIA, tables, strict=True):
        found = selection.table.columns
        if monitor == "ranks":
            assert (np.diff(found["average_rank"]) >= 0).all()
        else:
            assert (np.diff(found[monitor]) <= 0).all()
        assert selection.winner == found["method"][0]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_same_seed_chooses_the_same_whatever_the_jobs(jobs, small):
    one, two = (
        select(small.x, small.annotations, ["speelfc"], runs=2, jobs=each, settings=QUICK)
        for each in (1, jobs)
    )
    assert plain(one) == plain(two)


def test_names_of_people_change_nothing(small):
    item, annotator, label = columns(small.annotations)
    renamed = Annotations.from_arrays(item, [f"p{a}" for a in annotator], label)
    one, other = (
        select(small.x, ann, ["speelfc"], settings=QUICK) for ann in (small.annotations, renamed)
    )
    assert plain(one) == plain(other)


def test_settings_of_ones_own_are_chosen_among(small):
    base = {**QUICK, "method": "speelfc", "epochs": 8}
    candidates = {
        "slow": CrowdClassifier(**base, learning_rate=1e-5),
        "fast": CrowdClassifier(**base, learning_rate=0.05),
    }
    selection = select(small.x, small.annotations, candidates, monitor="likelihood")
    names = selection.table.columns["method"].tolist()
    assert sorted(names) == ["fast", "slow", "two-stage-majority"]
    assert names.index("fast") < names.index("slow")
    baseline = all_candidates(candidates)["two-stage-majority"]
    assert (baseline.method, baseline.learning_rate) == ("two-stage-majority", 1e-5)
    assert candidates.keys() == {"slow", "fast"}
    assert not hasattr(candidates["fast"], "network_")


def test_all_methods_but_truth_are_candidates():
    counts = np.array([[2.0, 0.0], [0.0, 1.0]])
    methods = {name: each for name, each in METHODS.items() if not each.needs_order}
    known = {name for name, method in methods.items() if "classification" in method.tasks}
    assert all_candidates(None, None, counts).keys() == known - {"truth"}
    assert all_candidates(None, None, counts / 2).keys() == known - {"truth", "ma-slda-c"}


def test_several_runs_are_averaged(small):
    how = {"settings": QUICK, "monitor": "likelihood"}
    both = select(small.x, small.annotations, ["speelfc"], runs=2, **how)
    alone = [select(small.x, small.annotations, ["speelfc"], seed=seed, **how) for seed in (0, 1)]

    def likelihood(selection):
        return {row["method"]: row["likelihood"] for row in selection.table.records()}

    for name, value in likelihood(both).items():
        assert value == pytest.approx(np.mean([likelihood(each)[name] for each in alone]))


def test_a_repeated_label_is_not_taken_for_an_unseen_one(small):
    item, annotator, label = columns(small.annotations)
    twice = Annotations.from_arrays(*(np.repeat(each, 2) for each in (item, annotator, label)))
    reason = select(small.x, twice, ["speelfc"], settings=QUICK).reason
    if "held-out labels" in reason:
        assert int(reason.split(" held-out labels")[0].split()[-1]) < 0.15 * 480
    lone = Annotations.from_arrays([0, 0, 1, 1], [0, 0, 1, 1], ["a", "a", "b", "b"])
    with pytest.raises(DataError, match="every label that could be held out is a repeat"):
        select(small.x[:2], lone, ["speelfc"], settings=QUICK)


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"monitor": "majorty"}, UnknownNameError, "no criterion 'majorty'; did you mean majority"),
        (
            {"validation_fraction": 0},
            SettingError,
            "validation_fraction must be above 0 and below 1; got 0",
        ),
        ({"runs": 0}, SettingError, "runs must be >= 1"),
        ({"candidates": []}, SettingError, "candidates must be at least one"),
        ({"candidates": {}}, SettingError, "candidates must be at least one"),
        ({"candidates": ["conall"]}, UnknownNameError, "did you mean conal"),
        ({"candidates": ["truth"]}, SettingError, "'truth' trains on the truth, so it is no cand"),
        (
            {"candidates": {"me": CrowdClassifier(method="truth")}},
            SettingError,
            "trains on the truth",
        ),
        ({"candidates": {"me": TwoStage("majority")}}, SettingError, "must be classifiers"),
        ({"candidates": {"me": CrowdClassifier()}}, SettingError, "yours have their own"),
    ],
)
def test_wrong_requests_are_refused(changed, error, text, small):
    how = {"candidates": ["speelfc"], "settings": QUICK} | changed
    with pytest.raises(error, match=text):
        select(small.x, small.annotations, **how)


def test_without_a_label_to_spare_nothing_is_chosen(small):
    first = small.annotations.item_offsets[:-1]
    with pytest.raises(DataError, match="no item has a second label to spare, so no method can"):
        select(small.x, small.annotations.only(first), ["speelfc"], settings=QUICK)


# --- aggregators ---


@pytest.fixture(scope="module")
def labels(misled):
    return misled[1]


def test_an_aggregator_wins_where_people_mislead_the_majority(labels):
    choice = aggregation.select(labels)
    assert choice.winner in ("dawid-skene", "annotator-types", "ebcc")
    assert not choice.majority_is_enough
    assert list(choice.table.columns) == ["method", "average_rank", *CROWD_METRICS, "seconds"]


def test_the_majority_is_enough_among_aggregators_for_people_who_never_err():
    _, ann, _ = crowd_of(honest(np.full(6, 1.0), K))
    assert aggregation.select(ann).majority_is_enough


def test_truth_is_only_shown_beside_aggregators(labels, misled):
    truth = dict(enumerate(misled[2].tolist()))
    told = aggregation.select(labels, truth=truth)
    assert list(told.table.columns)[-1] == "accuracy"
    assert plain(told) == plain(aggregation.select(labels))
    lied_to = aggregation.select(labels, truth={i: (k + 1) % K for i, k in truth.items()})
    assert plain(told) == plain(lied_to)


def test_the_likelihood_of_an_aggregator_is_its_held_out_score(labels):
    choice = aggregation.select(labels, ["glad", "dawid-skene"], seed=3, monitor="likelihood")
    for row in choice.table.records():
        method = aggregation.AGGREGATORS[row["method"]]()
        score = aggregation.validation_score(method, labels, seed=3)
        assert row["likelihood"] == pytest.approx(score, rel=1e-12)
    assert "majority" in choice.table.columns["method"]


def test_wrong_requests_among_aggregators_are_refused(labels):
    with pytest.raises(UnknownNameError, match="did you mean glad"):
        aggregation.select(labels, ["gladd"])
    with pytest.raises(SettingError, match="all for classes or all for numbers"):
        aggregation.select(labels, ["gaussian"])
    with pytest.raises(SettingError, match="methods must be at least one name"):
        aggregation.select(labels, [])
    with pytest.raises(UnknownNameError, match="no criterion 'rank'"):
        aggregation.select(labels, monitor="rank")
    with pytest.raises(DataError, match="no item has three labels"):
        aggregation.select(labels.only(labels.item_offsets[:-1]))
