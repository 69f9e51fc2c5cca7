"""What decides the best epoch, and looking at a model while it learns."""

import json

import numpy as np
import pytest

from featured_crowds import assert_same_bits, featured, fit
from manyhands.core.errors import SettingError
from manyhands.engine.batches import split_labels
from manyhands.engine.loop import best_epoch
from manyhands.engine.settings import TrainingSettings
from manyhands.estimators import CrowdClassifier, load
from manyhands.evaluation import CRITERIA, CROWD_METRICS, crowd_metrics

SETTINGS = {
    "validation_fraction": 0.3,
    "learning_rate": 0.02,
    "epochs": 8,
    "batch_size": 8,
    "warm_up": 2,
}
CRITERION_KEYS = set(CROWD_METRICS) - {"likelihood"}


@pytest.fixture(scope="module")
def crowd():
    return featured(spread=2.0, labels_per_item=4)


def untimed(history):
    return [{key: each for key, each in entry.items() if key != "seconds"} for entry in history]


def test_the_default_judge_is_the_likelihood(crowd):
    plain = fit("speelfc", crowd, refit=True, **SETTINGS)
    named = fit("speelfc", crowd, refit=True, monitor="likelihood", **SETTINGS)
    assert_same_bits(plain, named)
    assert untimed(plain.search_history_) == untimed(named.search_history_)
    assert not CRITERION_KEYS & plain.search_history_[0].keys()
    found = [entry["validation"] for entry in plain.search_history_[2:]]
    assert plain.epoch_ == 3 + int(np.argmax(found))


@pytest.mark.parametrize("monitor", sorted(CRITERIA))
def test_every_judge_keeps_the_epoch_it_says(monitor, crowd):
    model = fit("speelfc", crowd, refit=True, monitor=monitor, **SETTINGS)
    history = model.search_history_
    assert all(entry["epoch"] > 2 for entry in history if not entry["warm_up_epoch"])
    assert model.epoch_ == best_epoch(history, monitor) > 2
    if monitor == "likelihood":
        return
    assert history[0].keys() >= CRITERION_KEYS | {"validation"}
    told = {name: [entry[name] for entry in history[2:]] for name in CRITERION_KEYS}
    told["likelihood"] = [entry["validation"] for entry in history[2:]]
    scores = {name: np.array(values) for name, values in told.items()}
    assert model.epoch_ == 3 + int(np.argmax(CRITERIA[monitor](scores)))
    again = fit(
        "speelfc", crowd, **(SETTINGS | {"validation_fraction": 0.0, "epochs": model.epoch_})
    )
    assert_same_bits(model, again)


@pytest.mark.parametrize("monitor", sorted(CROWD_METRICS))
def test_the_history_says_what_the_kept_model_says(monitor, crowd):
    model = fit("speelfc", crowd, refit=False, monitor=monitor, **SETTINGS)
    _, held = split_labels(crowd.annotations, SETTINGS["validation_fraction"], 0)
    scores = crowd_metrics(model.predict_labels(crowd.x, held))
    key = "validation" if monitor == "likelihood" else monitor
    assert model.history_[model.epoch_ - 1][key] == pytest.approx(scores[monitor], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("monitor", sorted(CRITERIA))
def test_a_stopped_search_goes_on_to_the_same_bits(monitor, crowd, tmp_path):
    settings = {**SETTINGS, "refit": True, "monitor": monitor}
    whole = fit("speelfc", crowd, **settings)
    for after in (1, 4, 8 + 2):  # in the warm-up, in the search, in the refit

        def stop(predict_proba, left=[after]):  # noqa: B006 - one list per function
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return {}

        folder = tmp_path / str(after)
        model = CrowdClassifier(
            method="speelfc", checkpoint=folder, device="cpu", progress=False, **settings
        )
        with pytest.raises(KeyboardInterrupt):
            model.fit(crowd.x, crowd.annotations, callback=stop)
        model.fit(crowd.x, crowd.annotations, resume=True)
        assert_same_bits(model, whole)
        assert untimed(model.search_history_) == untimed(whole.search_history_)
        assert model.epoch_ == whole.epoch_


def test_a_run_under_another_judge_is_not_gone_on_with(crowd, tmp_path):
    settings = {**SETTINGS, "refit": True, "checkpoint": tmp_path}
    fit("speelfc", crowd, monitor="ranks", **settings)
    with pytest.raises(ValueError, match="another monitor"):
        fit("speelfc", crowd, monitor="majority", resume=True, **settings)


def test_a_judge_is_saved_with_the_model(crowd, tmp_path):
    fit("speelfc", crowd, refit=True, monitor="ranks", **SETTINGS).save(tmp_path)
    assert load(tmp_path).settings_.monitor == "ranks"


def test_wrong_judges_are_refused(crowd):
    with pytest.raises(SettingError, match="got 'majorty'; did you mean majority"):
        fit("speelfc", crowd, monitor="majorty", **SETTINGS)
    with pytest.raises(
        SettingError, match="validation_fraction must be above 0 for monitor='annotator'"
    ):
        TrainingSettings(monitor="annotator")
    with pytest.raises(SettingError, match="refit must be True with monitor='ranks'"):
        TrainingSettings(monitor="ranks", validation_fraction=0.2)


# --- watching ---


def test_what_is_watched_stands_in_the_history_and_changes_nothing(crowd):
    seen = []

    def callback(predict_proba):
        seen.append(predict_proba(crowd.x))
        return {"accuracy": np.float32((seen[-1].argmax(axis=1) == crowd.truth).mean())}

    model = CrowdClassifier(
        method="conal", refit=True, progress=False, device="cpu", scale="rms", **SETTINGS
    )
    model.fit(crowd.x, crowd.annotations, callback=callback)
    plain = fit("conal", crowd, refit=True, scale="rms", **SETTINGS)
    assert_same_bits(model, plain)
    entries = [*model.search_history_, *model.history_]
    assert len(seen) == len(entries) == 8 + model.epoch_
    shares = [(each.argmax(axis=1) == crowd.truth).mean() for each in seen]
    np.testing.assert_allclose([entry["accuracy"] for entry in entries], shares, rtol=1e-6)
    assert np.array_equal(seen[-1], model.predict_proba(crowd.x))
    json.dumps(entries)


def test_every_epoch_is_watched_as_a_shorter_run_ends(crowd):
    settings = {**SETTINGS, "validation_fraction": 0.0, "warm_up": 1}
    seen = []
    model = CrowdClassifier(method="speelfc", progress=False, device="cpu", **settings)
    model.fit(
        crowd.x, crowd.annotations, callback=lambda predict: seen.append(predict(crowd.x)) or {}
    )
    for epochs in (1, 3):
        short = fit("speelfc", crowd, **(settings | {"epochs": epochs}))
        assert np.array_equal(short.predict_proba(crowd.x), seen[epochs - 1])


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ({"loss": 0.5}, "callback must be without names the history has already; got 'loss'"),
        ({"accuracy": "high"}, "callback must be a function that returns finite numbers by name"),
        ({"accuracy": float("nan")}, "finite numbers"),
    ],
)
def test_what_a_history_cannot_keep_is_refused(found, text, crowd):
    model = CrowdClassifier(progress=False, device="cpu", epochs=1)
    with pytest.raises(SettingError, match=text):
        model.fit(crowd.x, crowd.annotations, callback=lambda predict: found)


def test_several_devices_are_not_watched(crowd):
    model = CrowdClassifier(progress=False, device="cpu", devices=2, epochs=1)
    with pytest.raises(
        SettingError, match="devices must be 1 for a callback to see the model; got 2"
    ):
        model.fit(crowd.x, crowd.annotations, callback=lambda predict: {})


def test_features_of_another_shape_are_refused_while_watching(crowd):
    model = CrowdClassifier(progress=False, device="cpu", epochs=1)
    with pytest.raises(ValueError, match="model is expecting 5 features"):
        model.fit(
            crowd.x, crowd.annotations, callback=lambda predict: predict(crowd.x[:, :2]) and {}
        )
