"""Many seeds as one program: each model is the one that its seed gives alone."""

import numpy as np
import pytest
import torch
from torch import nn

import manyhands as mh
from featured_crowds import featured, weights
from manyhands.core.errors import SettingError
from manyhands.engine.stacked_batches import StackedCrowd
from manyhands.estimators import (
    CrowdClassifier,
    CrowdRegressor,
    CrowdTagger,
    fit_many,
    why_separate,
)
from manyhands.noise import SpeeLFC

TOLERANCE = 1e-4  # of predicted probabilities and confusions; the documentation promises it
SEEDS = (3, 0, 11)
QUICK = {"epochs": 4, "batch_size": 32, "progress": False, "device": "cpu"}
# Enough labels for the default search of an epoch, annotators with different numbers of labels.
CROWD = featured(n_items=90, n_annotators=7, n_classes=3, labels_per_item=5, spread=1.0)
STACKED = (
    "crowd-layer-vw", "crowd-layer-vb", "crowd-layer-vwb", "crowd-layer-mw", "crowd-layer-over",
    "softmax-crowd-layer", "speelfc", "speelfc-d", "trace-reg", "geocrowdnet", "conal",
    "conal-groups", "mixture-e2e", "two-stage-majority", "two-stage-soft-majority",
    "two-stage-dawid-skene", "two-stage-glad", "two-stage-worker-clustering", "truth", "cross-fit",
    "cumulative-link", "two-stage-majority-smoothed", "crowd-layer-mw-smoothed",
    "crowdlab", "madl",
)  # fmt: skip


def pairs(method="speelfc", crowd=CROWD, seeds=SEEDS, **settings):
    """Models of the same seeds, trained as one program and by themselves."""
    truth = crowd.truth if method == "truth" else None
    clf = CrowdClassifier(method=method, **(QUICK | settings))
    given = {"seeds": seeds, "truth": truth}
    together = fit_many(clf, crowd.x, crowd.annotations, together=True, **given)
    separate = fit_many(clf, crowd.x, crowd.annotations, together=False, **given)
    return list(zip(together, separate, strict=True))


def assert_same(made, crowd=CROWD, tolerance=TOLERANCE):
    for one, other in made:
        assert one.seed == other.seed
        assert one.epoch_ == other.epoch_
        assert np.abs(one.predict_proba(crowd.x) - other.predict_proba(crowd.x)).max() < tolerance
        assert np.abs(one.confusion_ - other.confusion_).max() < tolerance
        for history, alone in (
            (one.history_, other.history_),
            (one.search_history_, other.search_history_),
        ):
            assert len(history) == len(alone)
            for entry, expected in zip(history, alone, strict=True):
                assert entry.keys() == expected.keys()
                numbers = {name: value for name, value in entry.items() if name != "seconds"}
                assert numbers == pytest.approx(
                    {name: expected[name] for name in numbers}, abs=1e-4
                )
    # Seeds that made the same model would compare nothing.
    first, second = made[0][0], made[1][0]
    assert np.abs(first.predict_proba(crowd.x) - second.predict_proba(crowd.x)).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("method", STACKED)
def test_every_seed_gives_the_model_that_it_gives_alone(method):
    """With dropout, a warm-up, a search on validation labels and a refit, by default."""
    made = pairs(method)
    assert_same(made)
    searched = [bool(one.search_history_) for one, _ in made]
    assert searched == [mh.METHODS[method].defaults.get("refit", False)] * len(made)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("method", STACKED)
def test_every_seed_gives_the_model_that_it_gives_alone_on_a_gpu(method):
    assert_same(pairs(method, device="cuda"))


def test_all_end_to_end_and_two_stage_methods_of_classes_are_covered():
    clf = CrowdClassifier(**QUICK)
    for name in [*mh.experiments.runs.classification_methods(), "cumulative-link"]:
        reason = why_separate(
            clf.set_params(method=name), CROWD.x, CROWD.annotations, truth=CROWD.truth
        )
        assert (reason is None) == (name in STACKED), (name, reason)


@pytest.mark.slow
def test_a_seed_may_stop_earlier_than_the_others():
    settings = {"epochs": 40, "patience": 2, "validation_fraction": 0.2, "learning_rate": 0.03}
    made = pairs("speelfc", refit=True, seeds=range(5), **settings)
    assert_same(made)
    searched = [len(one.search_history_) for one, _ in made]
    assert len(set(searched)) > 1
    assert max(searched) < 40
    assert len({one.epoch_ for one, _ in made}) > 1
    assert [len(one.history_) for one, _ in made] == [one.epoch_ for one, _ in made]


def test_without_a_refit_the_weights_of_the_best_epoch_are_kept():
    settings = {"epochs": 25, "patience": 3, "validation_fraction": 0.2, "learning_rate": 0.03}
    made = pairs("crowd-layer-mw", refit=False, seeds=range(4), **settings)
    assert_same(made)
    assert any(one.epoch_ < len(one.history_) for one, _ in made)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"max_grad_norm": 0.05},
        {"sam_rho": 0.1},
        {"sam_rho": 0.1, "max_grad_norm": 0.05},
        {"ema_decay": 0.9},
        {"optimizer": "sgd", "learning_rate": 0.05, "nesterov": True},
        {"optimizer": "radam", "noise_optimizer": "sgd", "weight_decay": 0.01},
        {"optimizer": "adam", "schedule": "cosine", "noise_weight_decay": 0.01},
        {"learning_rate_warm_up": 1.5},
        {"monitor": "majority"},
        {"monitor": "ranks", "refit": True},
        {"validation_unit": "items", "validation_fraction": 0.2},
        {"validation_fraction": 0.0, "patience": None, "refit": False, "warm_up": 2},
        {"init": "own"},
    ],
    ids=",".join,
)
def test_settings_act_on_every_seed_by_itself(settings):
    assert_same(pairs("conal", **settings))


@pytest.mark.slow
@pytest.mark.parametrize(
    "network",
    [
        {"network": "logistic", "learning_rate": 0.05},
        {"network_settings": {"hidden": [16, 8], "dropout": 0.3}},
        {"network_settings": {"hidden": [16], "dropout": 0.0}},
        {"network_settings": {"hidden": [16], "batch_norm": True}},
        {"network": nn.Sequential(nn.Dropout(0.2), nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 3))},
    ],
    ids=["logistic", "two layers", "no dropout", "batch norm", "own"],
)
def test_networks_of_any_layers_that_are_known(network):
    made = pairs("speelfc", **network)
    if network.get("network") == "logistic":  # it starts at zero: orders of items differ alone
        for one, other in made:
            wanted = other.predict_proba(CROWD.x)
            assert np.abs(one.predict_proba(CROWD.x) - wanted).max() < TOLERANCE
    else:
        assert_same(made)
    if (network.get("network_settings") or {}).get("batch_norm"):
        for one, other in made:
            seen = one.network_.layers[1], other.network_.layers[1]
            assert seen[0].num_batches_tracked == seen[1].num_batches_tracked > 0
            assert torch.allclose(seen[0].running_var, seen[1].running_var, atol=1e-4)


def test_batch_norm_and_sharpness_aware_steps_together():
    settings = {"hidden": [16], "batch_norm": True}
    assert_same(pairs("crowd-layer-vw", network_settings=settings, sam_rho=0.05))


def test_weights_of_items():
    weight = np.linspace(0.1, 2.0, len(CROWD.x))
    clf = CrowdClassifier(method="crowd-layer-mw", **QUICK)
    given = (clf, CROWD.x, CROWD.annotations, weight)
    together = fit_many(*given, seeds=SEEDS, together=True)
    separate = fit_many(*given, seeds=SEEDS, together=False)
    assert_same(list(zip(together, separate, strict=True)))


def test_models_are_those_of_fit(tmp_path):
    one, alone = pairs("conal")[0]
    assert vars(one).keys() == vars(alone).keys()
    assert {name: each.shape for name, each in weights(one).items()} == {
        name: each.shape for name, each in weights(alone).items()
    }
    one.save(tmp_path / "model")
    loaded = mh.load(tmp_path / "model")
    assert (loaded.predict_proba(CROWD.x) == one.predict_proba(CROWD.x)).all()
    frame, expected = one.annotators_frame(), alone.annotators_frame()
    assert list(frame) == list(expected)
    assert frame["quality"].to_numpy() == pytest.approx(expected["quality"].to_numpy(), abs=1e-4)
    posterior = one.infer(CROWD.x, CROWD.annotations).probabilities
    wanted = alone.infer(CROWD.x, CROWD.annotations).probabilities
    assert np.abs(posterior - wanted).max() < TOLERANCE
    assert loaded.seed == one.settings_.seed == one.seed
    # Its weights are not a view of those of all seeds.
    for each in weights(one).values():
        assert each.untyped_storage().nbytes() == each.nbytes


def test_the_random_numbers_of_the_caller_go_on():
    before = torch.get_rng_state()
    fit_many(CrowdClassifier(**QUICK), CROWD.x, CROWD.annotations, seeds=[0, 1])
    assert (torch.get_rng_state() == before).all()


class Halved(nn.Module):
    """A layer that does not say whether it can be stacked."""

    def forward(self, inputs):
        return inputs / 2


TWICE = nn.Linear(5, 5)


class Louder(SpeeLFC):
    """A noise model whose class says nothing about itself."""


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"method": "em"}, "EMModule does more in an epoch"),
        ({"method": "raykar"}, "does not train a network"),
        ({"accumulate": 2}, "accumulate is 2"),
        ({"precision": "bf16"}, "precision is 'bf16'"),
        ({"sparse": True}, "gradients of annotators are sparse"),
        ({"network": nn.Sequential(Halved(), nn.Linear(5, 3))}, "network has a Halved"),
        ({"network": nn.Sequential(TWICE, nn.Tanh(), TWICE, nn.Linear(5, 3))}, "share weights"),
        (
            {"network": nn.Sequential(nn.BatchNorm1d(5, momentum=None), nn.Linear(5, 3))},
            "network has a BatchNorm1d",
        ),
    ],
    ids=["em", "raykar", "accumulate", "bf16", "sparse", "network", "shared", "momentum"],
)
def test_what_cannot_be_one_program_is_fitted_one_by_one(settings, reason):
    clf = CrowdClassifier(**(QUICK | {"method": "speelfc", "epochs": 2} | settings))
    assert reason in why_separate(clf, CROWD.x, CROWD.annotations)
    with pytest.raises(SettingError, match=reason.split()[0]):
        fit_many(clf, CROWD.x, CROWD.annotations, seeds=[0, 1], together=True)
    made = fit_many(clf, CROWD.x, CROWD.annotations, seeds=[0, 1])
    alone = clf.set_params(seed=1).fit(CROWD.x, CROWD.annotations)
    assert (made[1].predict_proba(CROWD.x) == alone.predict_proba(CROWD.x)).all()


def test_checkpoints_other_tasks_and_other_noise_models_are_separate(tmp_path):
    clf = CrowdClassifier(**QUICK, checkpoint=tmp_path / "here")
    assert "checkpoint" in why_separate(clf, CROWD.x, CROWD.annotations)
    tagger = CrowdTagger(**QUICK)
    assert "sentences" in why_separate(tagger, [["a"]], None)
    ann = mh.Annotations.from_dense(np.arange(30.0).reshape(10, 3) % 7 / 2, kind="numbers")
    regressor = CrowdRegressor(method="crowd-layer-s", **QUICK)
    assert "RegressionModule" in why_separate(regressor, CROWD.x[:10], ann)
    assert SpeeLFC.stacks
    assert "stacks" not in vars(Louder)


def test_a_failing_seed_is_named():
    clf = CrowdClassifier(**(QUICK | {"method": "speelfc", "learning_rate": 1e30, "scale": "none"}))
    with pytest.raises(SettingError, match="with seed"):
        fit_many(clf, 1e6 * CROWD.x, CROWD.annotations, seeds=[0, 1], together=True)


def test_few_seeds():
    clf = CrowdClassifier(**QUICK)
    assert fit_many(clf, CROWD.x, CROWD.annotations, seeds=[]) == []
    one = fit_many(clf, CROWD.x, CROWD.annotations, seeds=[4])[0]
    alone = clf.set_params(seed=4).fit(CROWD.x, CROWD.annotations)
    assert (one.predict_proba(CROWD.x) == alone.predict_proba(CROWD.x)).all()


@pytest.mark.slow
def test_many_seeds_are_trained_in_parts(monkeypatch):
    monkeypatch.setattr("manyhands.estimators.many.MAX_TOGETHER", 2)
    assert_same(pairs("speelfc", seeds=range(5)))


def test_padded_batches_hold_the_annotations_of_every_run():
    from manyhands.engine.batches import CrowdData, split_labels
    from manyhands.engine.inputs import TensorInputs

    inputs, cpu = TensorInputs(torch.from_numpy(CROWD.x)), torch.device("cpu")
    crowds = [CrowdData(inputs, split_labels(CROWD.annotations, 0.3, s)[0], cpu) for s in (1, 2)]
    rngs = [np.random.default_rng(n) for n in (7, 8)]
    order = StackedCrowd(crowds).shuffled(rngs, 16)
    stacked = list(StackedCrowd(crowds).batches(order, 16))
    ragged = False
    for r, crowd in enumerate(crowds):
        for batch, alone in zip(stacked, crowd.batches(order[r], 16), strict=True):
            given = batch.annotations
            real = given.mask[r] == 1
            assert real.sum() == len(alone.annotations)
            ragged |= not bool(real.all())
            for name in ("row", "annotator", "label"):
                assert (getattr(given, name)[r][real] == getattr(alone.annotations, name)).all()
            assert (batch.items[r] == alone.items).all()
            assert (batch.inputs[r] == alone.inputs).all()
    assert ragged
