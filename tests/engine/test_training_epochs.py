"""The epoch loop: which epoch is kept, when it ends, what rests, and what is left as it was."""

import json
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from featured_crowds import assert_same_bits, featured, fit
from manyhands.annotations import Annotations
from manyhands.core.errors import DataError, SettingError
from manyhands.engine.batches import split_labels
from manyhands.engine.settings import TrainingSettings
from manyhands.methods import METHODS, TwoStage
from manyhands.networks import MLP

ONCE = {"refit": False, "init": "own", "warm_up": 0, "noise_learning_rate": 0.05}
OVERFIT = {"validation_fraction": 0.3, "learning_rate": 0.02, "epochs": 12, "batch_size": 8, **ONCE,
           "noise": {"prior_precision": 0.0}}  # fmt: skip


@pytest.fixture(scope="module")
def crowd():
    return featured(spread=2.0, labels_per_item=4)


def wide(shape, n_classes):
    return MLP(shape[0], n_classes, hidden=(64,), dropout=0)


def log_labels(model, x, held):
    """Mean log-probability of labels under a SpeeLFC model, by hand."""
    log_class = functional.log_softmax(model.network_(torch.from_numpy(x)), dim=1)
    log_confusion = functional.log_softmax(model.noise_.table.weight.reshape(-1, 3, 3), dim=2)
    said = [
        torch.logsumexp(log_class[i] + log_confusion[a, :, label], dim=0)
        for i, a, label in zip(held.item, held.annotator, held.label, strict=True)
    ]
    return float(torch.stack(said).double().mean())


def test_the_epoch_with_the_most_probable_held_out_labels_is_kept(crowd):
    settings = {**OVERFIT, "network": wide}
    model = fit("speelfc", crowd, **settings)
    kept, held = split_labels(crowd.annotations, settings["validation_fraction"], 0)
    runs = [
        fit(
            "speelfc",
            crowd,
            annotations=kept,
            **(settings | {"validation_fraction": 0.0, "epochs": epochs}),
        )
        for epochs in range(1, 13)
    ]
    with torch.no_grad():
        scores = [log_labels(run, crowd.x, held) for run in runs]
    assert 1 < model.epoch_ < 12, "the test needs a crowd that is overfitted"
    assert model.epoch_ == 1 + int(np.argmax(scores))
    found = [entry["validation"] for entry in model.history_]
    np.testing.assert_allclose(found, scores, rtol=1e-5)
    assert_same_bits(model, runs[model.epoch_ - 1])


def test_without_labels_kept_aside_the_last_epoch_is_kept(crowd):
    model = fit("speelfc", crowd, **(OVERFIT | {"validation_fraction": 0.0}))
    assert model.epoch_ == len(model.history_) == 12
    assert "validation" not in model.history_[0]


def test_patience_ends_training_early_and_keeps_the_same_epoch(crowd):
    whole = fit("speelfc", crowd, network=wide, **OVERFIT)
    found = [entry["validation"] for entry in whole.history_]
    for patience in (1, 3):
        model = fit("speelfc", crowd, network=wide, patience=patience, **OVERFIT)
        best, last = 0, 0
        for last, score in enumerate(found):
            best = last if score > found[best] else best
            if last - best >= patience:
                break
        assert (model.epoch_, len(model.history_)) == (best + 1, last + 1)
    assert len(model.history_) < 12


def test_a_refit_trains_on_all_labels_for_as_many_epochs(crowd):
    model = fit("speelfc", crowd, **(OVERFIT | {"refit": True}))
    searched = fit("speelfc", crowd, **OVERFIT)
    assert model.epoch_ == searched.epoch_
    plain = fit(
        "speelfc", crowd, **(OVERFIT | {"validation_fraction": 0.0, "epochs": model.epoch_})
    )
    assert_same_bits(model, plain)


TWO_STAGE = [
    n for n, m in METHODS.items() if isinstance(m, TwoStage) and "classification" in m.tasks
]


@pytest.mark.parametrize("name", TWO_STAGE)
def test_two_stage_methods_stop_early_too(name, crowd):
    model = fit(name, crowd, epochs=6, validation_fraction=0.2, patience=2)
    assert all(np.isfinite(entry["validation"]) for entry in model.history_)


@pytest.mark.parametrize("name", ["speelfc", "conal", "speelfc-d", "mixture-e2e"])
@pytest.mark.parametrize("sparse", [False, True])
def test_only_the_network_warms_up(name, sparse, crowd):
    short, long = (
        fit(name, crowd, epochs=epochs, warm_up=epochs, sparse=sparse, noise_weight_decay=0.1)
        for epochs in (1, 3)
    )
    for (path, one), other in zip(
        short.noise_.named_parameters(), long.noise_.parameters(), strict=True
    ):
        assert torch.equal(one, other), path
    for one, other in zip(short.network_.parameters(), long.network_.parameters(), strict=True):
        assert not torch.equal(one, other)
    assert [entry["warm_up_epoch"] for entry in long.history_] == [True] * 3
    after = fit(name, crowd, epochs=2, warm_up=1, sparse=sparse)
    assert [entry["warm_up_epoch"] for entry in after.history_] == [True, False]
    moved = zip(short.noise_.parameters(), after.noise_.parameters(), strict=True)
    assert any(not torch.equal(one, other) for one, other in moved)


def test_the_best_epoch_is_not_one_of_the_warm_up(crowd):
    model = fit("speelfc", crowd, **(OVERFIT | {"warm_up": 8}))
    assert model.epoch_ > 8
    assert fit("speelfc", crowd, **(OVERFIT | {"warm_up": 12})).epoch_ == 12


def test_clipping_and_schedules_reach_the_loop(crowd):
    plain = fit("speelfc", crowd, epochs=3)
    for changed in (
        {"max_grad_norm": 1e-3},
        {"schedule": "cosine"},
        {"sam_rho": 0.1},
        {"weight_decay": 0.1},
    ):
        other = fit("speelfc", crowd, epochs=3, **changed)
        assert not np.allclose(other.predict_proba(crowd.x), plain.predict_proba(crowd.x)), changed


def test_every_epoch_is_a_line_of_the_log(crowd, tmp_path):
    model = fit("speelfc", crowd, epochs=3, checkpoint=tmp_path / "new" / "folder")
    lines = (tmp_path / "new" / "folder" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == model.history_
    assert [entry["epoch"] for entry in model.history_] == [1, 2, 3]


# --- what is refused, and what is left as it was ---


def test_a_loss_that_is_not_finite_is_refused(crowd, tmp_path):
    with pytest.raises(SettingError, match="the loss is not finite after epoch 1; lower learning"):
        fit("speelfc", crowd, learning_rate=1e30, checkpoint=tmp_path)
    assert not (tmp_path / "checkpoint.json").exists()
    assert (tmp_path / "log.jsonl").read_text() == ""


def test_training_learns_wherever_it_is_called(crowd):
    expected = fit("speelfc", crowd)
    with torch.no_grad():
        assert_same_bits(fit("speelfc", crowd), expected)


def test_a_network_with_nothing_to_learn_is_named(crowd):
    frozen = nn.Linear(5, 3).requires_grad_(False)
    with pytest.raises(DataError, match="no parameters to train"):
        fit("two-stage-majority", crowd, network=frozen)
    model = fit("speelfc", crowd, network=frozen)  # the annotators can still be learnt
    assert torch.equal(model.network_.weight, frozen.weight)


@pytest.mark.parametrize("threads", [None, 2])
def test_threads_are_as_they_were(threads, crowd):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        model = fit("speelfc", crowd, threads=threads, epochs=1)
        model.predict_proba(crowd.x[:2])
        with pytest.raises(SettingError):
            fit("speelfc", crowd, learning_rate=1e30, threads=threads)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


class Watched(nn.Module):
    """A network that tells how many threads it is run with."""

    def __init__(self):
        super().__init__()
        self.linear, self.seen = nn.Linear(5, 3), set()

    def forward(self, inputs):
        self.seen.add(torch.get_num_threads())
        return self.linear(inputs)


def test_threads_are_as_many_as_asked_for(crowd):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert fit("speelfc", crowd, network=Watched(), threads=2).network_.seen == {2}
        assert fit("speelfc", crowd, network=Watched()).network_.seen == {1}
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"epochs": 0}, "epochs must be a whole number >= 1; got 0"),
        ({"epochs": 2.5}, "epochs must be a whole number; got 2.5"),
        ({"epochs": "ten"}, "epochs must be a whole number; got 'ten'"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": 0}, "learning_rate must be > 0; got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be > 0; got nan"),
        ({"learning_rate": "fast"}, "learning_rate must be a number; got 'fast'"),
        ({"noise_learning_rate": -1}, "noise_learning_rate"),
        ({"weight_decay": -1}, "weight_decay must be >= 0"),
        ({"noise_weight_decay": -1}, "noise_weight_decay"),
        ({"warm_up": 3}, "warm_up must be a whole number of epochs from 0 to epochs"),
        ({"max_grad_norm": 0}, "max_grad_norm must be > 0"),
        ({"sam_rho": -0.1}, "sam_rho"),
        (
            {"schedule": "line"},
            "schedule must be one of constant, cosine, linear, step; got 'line'",
        ),
        ({"validation_fraction": 1.0}, r"validation_fraction must be in 0\.\.1, below 1"),
        (
            {"validation_fraction": 0.0, "patience": 2},
            "validation_fraction must be above 0 .* try validation_fraction=0.1",
        ),
        ({"patience": 0, "validation_fraction": 0.1}, "patience"),
        ({"device": "gpu"}, "device must be one of auto, cpu, cuda, mps; got 'gpu'"),
        ({"device": "mps"}, "device must be one that this machine has; got 'mps'"),
        ({"devices": 0}, "devices"),
        ({"precision": "16"}, "precision must be one of 32, bf16"),
        ({"threads": 0}, "threads"),
        ({"seed": -1}, "seed must be a whole number, 0 or more; got -1"),
        ({"seed": 0.5}, "seed must be a whole number; got 0.5"),
    ],
)
def test_bad_settings_are_named(wrong, text, crowd):
    with pytest.raises(SettingError, match=text):
        fit("two-stage-majority", crowd, **wrong)


def test_numbers_of_numpy_are_numbers():
    settings = TrainingSettings(
        epochs=np.int64(3), learning_rate=np.float32(0.5), max_grad_norm=1, precision=32
    )
    assert (type(settings.epochs), type(settings.learning_rate)) == (int, float)
    assert (settings.max_grad_norm, settings.precision) == (1.0, "32")
    json.dumps(vars(settings))


# --- several processes ---


@pytest.mark.slow
def test_networks_larger_than_a_pipe_come_back_from_their_processes(crowd):
    """A pipe holds 64 KiB."""
    settings = {"network_settings": {"hidden": [150, 150], "batch_norm": True}, "devices": 2}
    more = {"ema_decay": 0.9, "optimizer": "sgd", "sam_rho": 0.05, "learning_rate_warm_up": 0.5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the launcher
        model = fit("speelfc", crowd, epochs=1, validation_fraction=0.0, **settings, **more)
    assert sum(each.nbytes for each in model.network_.parameters()) > 1 << 16
    assert np.isfinite(model.predict_proba(crowd.x)).all()


def test_labels_of_one_class_need_the_names_of_the_others(crowd):
    same = Annotations.from_arrays([0, 1], [0, 0], ["cat", "cat"], classes=["cat", "dog"])
    assert fit("speelfc", crowd, x=crowd.x[:2], annotations=same).classes_.tolist() == [
        "cat", "dog"
    ]  # fmt: skip
