"""What every entry of the table of methods must do."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from featured_crowds import assert_same_bits, columns, featured, fit, suited, weights
from manyhands.annotations import Annotations
from manyhands.engine.batches import split_labels
from manyhands.estimators import load
from manyhands.methods import METHODS, EndToEnd, FullBatchMethod
from manyhands.noise import NOISE

END_TO_END_ROWS = [name for name, method in METHODS.items() if isinstance(method, EndToEnd)]
# What starts at random for each annotator or group is switched off where names must not matter.
NAMELESS = {"omega": 0.4, "n_groups": 1}
# Their optimum, or the way from label shares to it, knows neither seeds nor precision of training.
SOLVED = [name for name, method in METHODS.items() if isinstance(method, FullBatchMethod)]
ITERATED = {"two-stage-dawid-skene", "two-stage-glad", "two-stage-worker-clustering"}
SEMI = {"semi-lfc", "ma-slda-c"}  # made to learn from items without labels
UNDRAWN = {"alpha", "gamma"}  # of topics and kernels: a setting, and a width measured
SEEDED = {"pc-gp", "ma-slda-c"}  # solved, from landmarks or topics that are drawn


@pytest.fixture(
    params=[name for name, method in METHODS.items() if "classification" in method.tasks]
)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def real_crowd():
    return featured()


@pytest.fixture
def crowd(name, real_crowd):
    return suited(name, real_crowd)


@pytest.fixture(scope="module")
def fitted(real_crowd):
    """One model per method, fitted when it is first asked for."""
    models = {}

    def model_of(name):
        if name not in models:
            models[name] = fit(name, suited(name, real_crowd))
        return models[name]

    return model_of


def nameless(name):
    """Settings under which a method starts alike for everybody."""
    method = METHODS[name]
    if not isinstance(method, EndToEnd) or name == "mixture-e2e":
        return {}
    known = NOISE[method.noise].settings
    return {
        "noise": {key: value for key, value in NAMELESS.items() if key in known},
        "init": "own",
    }


def test_every_entry_explains_itself(name):
    about = METHODS[name].about
    assert all([about.source, about.equation, about.cost, about.when])


def test_probabilities_stand_in_the_order_of_the_classes(name, crowd, fitted):
    model = fitted(name)
    found = model.predict_proba(crowd.x)
    assert found.shape == (60, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert model.classes_.tolist() == crowd.annotations.classes.tolist()
    assert (model.predict(crowd.x) == model.classes_[found.argmax(axis=1)]).all()


def test_the_same_seed_gives_the_same_bits_and_another_others(name, crowd, fitted):
    assert_same_bits(fitted(name), fit(name, crowd))
    if name in SOLVED and name not in SEEDED:
        assert_same_bits(fitted(name), fit(name, crowd, seed=1))
        return
    other = fit(name, crowd, seed=1).network_.state_dict()
    for path, value in fitted(name).network_.state_dict().items():
        assert path in UNDRAWN or not torch.equal(value, other[path]), path


def test_the_callers_random_numbers_are_untouched(name, crowd):
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    fit(name, crowd, epochs=1)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002


def test_shuffling_annotations_changes_not_a_bit(name, crowd, fitted):
    order = np.random.default_rng(1).permutation(crowd.annotations.n_annotations)
    shuffled = Annotations.from_arrays(*(each[order] for each in columns(crowd.annotations)))
    assert_same_bits(fit(name, crowd, annotations=shuffled), fitted(name))


def test_new_names_in_the_same_order_change_not_a_bit(name, crowd, fitted):
    item, annotator, label = columns(crowd.annotations)
    people = np.array([f"person {code}" for code in range(6)], dtype=object)
    renamed = Annotations.from_arrays(item, people[annotator], label)
    model = fit(name, crowd, annotations=renamed)
    assert_same_bits(model, fitted(name))
    assert model.annotators_frame()["annotator"].tolist() == people.tolist()


def test_renaming_people_renames_their_portraits_only(name, crowd):
    item, annotator, label = columns(crowd.annotations)
    renamed = Annotations.from_arrays(item, 5 - annotator, label)
    settings = {"epochs": 4, "network": "logistic", **nameless(name)}
    before = fit(name, crowd, **settings)
    after = fit(name, crowd, annotations=renamed, **settings)
    close = {"atol": 2e-4, "rtol": 0.0}
    np.testing.assert_allclose(after.predict_proba(crowd.x), before.predict_proba(crowd.x), **close)
    np.testing.assert_allclose(after.confusion_[::-1], before.confusion_, **close)


def test_permuting_classes_permutes_the_outcome(name, crowd):
    item, annotator, label = columns(crowd.annotations)
    # the order of levels means something: reversing it reverses the outcome
    swap = np.array([2, 1, 0] if METHODS[name].needs_order else [2, 0, 1])
    swapped = Annotations.from_arrays(item, annotator, swap[label])
    settings = {"epochs": 4, "network": "logistic", **nameless(name)}
    before = fit(name, crowd, **settings)
    after = fit(name, crowd, annotations=swapped, truth=swap[crowd.truth], **settings)
    close = {"atol": 2e-4, "rtol": 0.0}
    found = after.predict_proba(crowd.x)[:, swap]
    np.testing.assert_allclose(found, before.predict_proba(crowd.x), **close)
    moved = after.confusion_[:, swap][:, :, swap]
    np.testing.assert_allclose(moved, before.confusion_, **close)


def test_unanimity_wins(name):
    crowd = suited(name, featured("symmetric", spread=0.2, lowest=1.0, highest=1.0))
    model = fit(name, crowd, network="logistic", epochs=25, learning_rate=0.05)
    assert (model.predict(crowd.x) == crowd.truth).all()
    assert (model.infer(crowd.x, crowd.annotations).labels == crowd.truth).all()


def test_one_annotator_is_a_crowd(name):
    crowd = suited(name, featured(n_annotators=1, labels_per_item=1))
    model = fit(name, crowd)
    assert np.isfinite(model.predict_proba(crowd.x)).all()
    assert model.confusion_.shape == (1, 3, 3)


@pytest.mark.parametrize("n_items", [1, 3])
def test_the_smallest_tables_work(name, n_items):
    crowd = suited(name, featured(n_items=n_items))
    model = fit(name, crowd, batch_size=1)
    assert np.isfinite(model.predict_proba(crowd.x)).all()
    assert np.isfinite(model.confusion_).all()


def test_items_without_labels_teach_nothing(name, crowd):
    place = 30
    settings = {"scale": "none", "epochs": 4}  # their features would count for the scale
    if name in END_TO_END_ROWS:
        settings["init"] = "own"
    names = np.insert(np.arange(60), place, 1000)
    ann = Annotations.from_arrays(*columns(crowd.annotations), items=names)
    x = np.insert(crowd.x, place, 1.0, axis=0)
    truth = np.insert(crowd.truth, place, 0)
    before = fit(name, crowd, **settings)
    model = fit(name, crowd, x=x, annotations=ann, truth=truth, **settings)
    if name in ITERATED:  # they stop where the prior, of all items, has settled
        found, expected = model.predict_proba(crowd.x), before.predict_proba(crowd.x)
        np.testing.assert_allclose(found, expected, atol=1e-3)
    elif name in SEMI:
        assert not np.array_equal(model.predict_proba(crowd.x), before.predict_proba(crowd.x))
    else:
        assert_same_bits(model, before)
    assert model.infer(x, ann).probabilities.shape == (61, 3)


def test_inputs_are_not_touched(name, crowd):
    ann, x = crowd.annotations, crowd.x.copy()
    before = [each.copy() for each in (ann.item, ann.annotator, ann.label, x)]
    fit(name, crowd, x=x, epochs=1)
    for each, copy in zip((ann.item, ann.annotator, ann.label, x), before, strict=True):
        np.testing.assert_array_equal(each, copy)


def test_portraits_are_confusions(name, fitted):
    model = fitted(name)
    assert model.confusion_.shape == (6, 3, 3)
    np.testing.assert_allclose(model.confusion_.sum(axis=2), 1.0, atol=1e-9)
    assert (model.confusion_ >= 0).all()
    np.testing.assert_allclose(model.profile(4), model.confusion_[4], atol=1e-6)


def test_annotators_are_told_in_a_table(name, crowd, fitted):
    table = fitted(name).annotators_frame()
    assert list(table.columns) == [
        "annotator", "quality", "quality_low", "quality_high", "n_annotations",
        "right_0", "right_1", "right_2",
    ]  # fmt: skip
    assert table["n_annotations"].tolist() == crowd.annotations.labels_per_annotator.tolist()
    assert ((table["quality_low"] <= table["quality"]) & (table["quality"] <= 1)).all()
    right = np.einsum("akk->ak", fitted(name).confusion_)
    np.testing.assert_allclose(table[["right_0", "right_1", "right_2"]].to_numpy(), right)


def test_network_and_labels_together_make_a_consensus(name, crowd, fitted):
    together = fitted(name).infer(crowd.x, crowd.annotations)
    np.testing.assert_allclose(together.probabilities.sum(axis=1), 1.0, atol=1e-9)
    assert together.to_frame()["item"].tolist() == crowd.annotations.items.tolist()
    alone = fitted(name).infer(crowd.x, crowd.annotations.only(np.zeros(0, dtype=int)))
    expected = fitted(name).predict_proba(crowd.x)
    np.testing.assert_allclose(alone.probabilities, expected, atol=1e-6)


def test_saving_and_loading_gives_the_same_bits(name, crowd, fitted, tmp_path):
    model = fitted(name)
    model.save(tmp_path)
    found = load(tmp_path)
    assert_same_bits(found, model)
    x, ann = crowd.x, crowd.annotations
    assert (found.predict_proba(x) == model.predict_proba(x)).all()
    assert (found.confusion_ == model.confusion_).all()
    assert (found.infer(x, ann).probabilities == model.infer(x, ann).probabilities).all()
    assert found.log_likelihood(x, ann) == model.log_likelihood(x, ann)
    assert found.annotators_frame().equals(model.annotators_frame())
    assert found.settings_ == model.settings_


def test_a_loaded_model_can_be_fitted_again(name, crowd, fitted, tmp_path):
    fitted(name).save(tmp_path)
    model = load(tmp_path)
    truth = crowd.truth if METHODS[name].needs_truth else None
    assert_same_bits(model.fit(crowd.x, crowd.annotations, truth=truth), fitted(name))


def test_pickles_of_ones_own_give_the_same_bits(name, fitted):
    assert_same_bits(pickle.loads(pickle.dumps(fitted(name))), fitted(name))


def test_labels_kept_aside_are_seen_by_nobody(name, crowd):
    settings = {"epochs": 1, "validation_fraction": 0.2, "refit": False}
    before = fit(name, crowd, **settings)
    ann = crowd.annotations
    _, held = split_labels(ann, 0.2, 0)
    kept = {(i, a) for i, a in zip(held.item, held.annotator, strict=True)}
    swap = np.array([pair in kept for pair in zip(ann.item, ann.annotator, strict=True)])
    assert 0 < swap.sum() == held.n_annotations
    other = replace(ann, label=np.where(swap, (ann.label + 1) % 3, ann.label))
    after = fit(name, crowd, annotations=other, **settings)
    assert_same_bits(after, before)
    assert after.history_[0]["validation"] != before.history_[0]["validation"]


def test_half_precision_trains_nearly_the_same(name, crowd):
    found, expected = (fit(name, crowd, precision=each, epochs=4) for each in ("bf16", "32"))
    assert all(each.dtype != torch.bfloat16 for each in weights(found).values())
    first = [next(iter(weights(model).values())) for model in (found, expected)]
    assert torch.equal(*first) == (name in SOLVED)
    np.testing.assert_allclose(
        found.predict_proba(crowd.x), expected.predict_proba(crowd.x), atol=0.02
    )


@pytest.mark.parametrize("name", END_TO_END_ROWS)
def test_a_consensus_can_be_the_start(name, crowd):
    model = fit(name, crowd, init="consensus")
    assert np.isfinite(model.predict_proba(crowd.x)).all()


@pytest.mark.parametrize("name", END_TO_END_ROWS)
def test_sparse_gradients_train_as_well(name, crowd):
    model = fit(name, crowd, sparse=True, sam_rho=0.05, max_grad_norm=1.0, warm_up=1)
    assert all(each.isfinite().all() for each in weights(model).values())
