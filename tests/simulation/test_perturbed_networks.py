"""Groups of annotators of different ability: networks with more or less noise in them."""

import tracemalloc

import numpy as np
import pytest
from planted import assert_follow, assert_share, label_counts

from manyhands.annotations import Items
from manyhands.simulation import SCENARIOS, PerturbedImageSettings, PerturbedNetworkSettings
from manyhands.simulation.crowds import assign_varied
from manyhands.simulation.perturbed_networks import _gradients, centres, train_network


def crowd_of(items=None, **settings):
    small = {"n_items": 600, "n_test": 0}
    return SCENARIOS["perturbed-networks"](PerturbedNetworkSettings(**(small | settings)), items)


def test_the_paper_s_setups_are_the_presets():
    first, second = PerturbedNetworkSettings(), PerturbedImageSettings()
    assert (first.n_items + first.n_test, first.n_classes, first.labels_per_item) == (3000, 3, 5)
    assert first.shares == (0.25, 0.55, 0.20)
    assert (second.n_items + second.n_test, second.n_classes) == (60_000, 10)
    assert second.labels_per_item == 3
    assert second.shares == (0.20, 0.45, 0.15, 0.20)
    assert SCENARIOS["perturbed-networks"].settings is PerturbedNetworkSettings
    assert SCENARIOS["perturbed-networks-images"].settings is PerturbedImageSettings


def test_the_truth_can_be_learnt_as_well_as_in_the_paper():
    crowd = SCENARIOS["perturbed-networks"](PerturbedNetworkSettings(n_annotators=10))
    network = train_network(crowd.features, crowd.truth, 3, 16, seed=0)
    right = network.predict(crowd.test.features) == crowd.test.truth
    assert right.mean() == pytest.approx(0.9475, abs=0.025)  # "Ideal" of table 2


def test_groups_are_as_large_as_set():
    crowd = crowd_of(n_annotators=3000)
    for group, share in enumerate((0.25, 0.55, 0.20)):
        assert_share(crowd.group_a == group, share)
    names = np.array(["expert", "inexpert", "spammer"], dtype=object)
    np.testing.assert_array_equal(crowd.behaviour, names[crowd.group_a])
    np.testing.assert_array_equal(crowd.annotator_notes["group"], crowd.group_a)


def test_labels_follow_the_group_s_confusion():
    crowd = crowd_of(n_items=3000, n_annotators=400)
    ann = crowd.annotations
    np.testing.assert_array_equal(crowd.confusion, crowd.group_mkl[crowd.group_a])
    group_n = crowd.group_a[ann.annotator]
    counts = label_counts(crowd.group_mkl, group_n, crowd.truth[ann.item], ann.label)
    assert_follow(counts, crowd.group_mkl)


@pytest.mark.parametrize("seed", range(4))
def test_more_noise_is_less_ability(seed):
    crowd = crowd_of(seed=seed)
    expert, inexpert, spammer = np.einsum("mkk->m", crowd.group_mkl) / 3
    assert expert > 0.9
    assert expert > inexpert > spammer
    assert spammer < 0.6


@pytest.mark.parametrize("labels_vary", [True, False])
def test_items_get_as_many_labels_as_set(labels_vary):
    n_labels = crowd_of(n_items=2000, labels_vary=labels_vary).annotations.labels_per_item
    assert n_labels.min() >= 1
    assert abs(n_labels.mean() - 5) < 5 * np.sqrt(5 / 2000) + 0.01  # one label at least
    assert (n_labels.std() > 1) == labels_vary


def test_a_whole_crowd_labels_everything():
    item, annotator = assign_varied(20, 4, 4, np.random.default_rng(0))
    assert item.tolist() == np.repeat(np.arange(20), 4).tolist()
    assert annotator.tolist() == [0, 1, 2, 3] * 20


def test_copies_without_noise_agree():
    crowd = crowd_of(labels_from="network", noises=(0.0, 0.0, 0.0))
    ann = crowd.annotations
    first = ann.label[ann.item_offsets[:-1]]
    np.testing.assert_array_equal(ann.label, first[ann.item])
    np.testing.assert_array_equal(crowd.confusion, np.tile(crowd.confusion[:1], (100, 1, 1)))
    np.testing.assert_array_equal(crowd.confusion[0], crowd.group_mkl[0])


def test_a_copy_says_the_same_of_the_same_features():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    features = centres(3, 1.0)[truth] + 0.4 * rng.normal(size=(200, 2))
    twice = Items(np.tile(truth, 2), np.tile(features, (2, 1)))
    crowd = crowd_of(
        twice, labels_from="network", n_annotators=6, labels_per_item=6, labels_vary=False
    )
    label_ia = crowd.annotations.label.reshape(400, 6)
    np.testing.assert_array_equal(label_ia[:200], label_ia[200:])
    counts = label_counts(
        crowd.confusion, crowd.annotations.annotator,
        crowd.truth[crowd.annotations.item], crowd.annotations.label,
    )  # fmt: skip
    np.testing.assert_allclose(counts / counts.sum(axis=2, keepdims=True), crowd.confusion)


def test_copies_are_made_one_at_a_time():
    crowd_of(labels_from="network", n_items=20)  # modules and kernels are loaded before
    tracemalloc.start()
    crowd_of(labels_from="network", n_items=2000, n_annotators=2000, labels_per_item=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000 * 2000 / 2  # half a byte for each pair


def test_copies_of_a_group_differ_and_groups_differ_in_ability():
    crowd = crowd_of(labels_from="network", n_annotators=200)
    right_a = np.einsum("akk->a", crowd.confusion) / 3
    means = [right_a[crowd.group_a == group].mean() for group in range(3)]
    assert means[0] > means[1] > means[2]
    assert right_a[crowd.group_a == 1].std() > 0.05


def test_centres_of_many_classes_are_as_far_apart_as_of_four():
    for n_classes in (4, 5, 10):
        centre_kd = centres(n_classes, 2.0)
        gap = np.linalg.norm(centre_kd[:, None] - centre_kd[None], axis=2)
        assert gap[~np.eye(n_classes, dtype=bool)].min() == pytest.approx(2 * np.sqrt(2))


def test_a_class_without_items_is_labelled_anyhow():
    crowd = crowd_of(Items([0, 0, 1], np.eye(3)), n_annotators=20)
    np.testing.assert_allclose(crowd.group_mkl[:, 2], 1 / 3)


def test_gradients_are_those_of_the_cross_entropy():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in ((2, 4), (4,), (4, 3), (3,))]
    features, truth = rng.normal(size=(7, 2)), rng.integers(0, 3, 7)

    def loss():
        hidden = np.maximum(features @ weights[0] + weights[1], 0)
        logits = hidden @ weights[2] + weights[3]
        log_share = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return -log_share[np.arange(7), truth].mean()

    for weight, slope in zip(weights, _gradients(weights, features, truth), strict=True):
        for place in np.ndindex(weight.shape):
            at = weight[place]
            weight[place] = at + 1e-6
            above = loss()
            weight[place] = at - 1e-6
            assert slope[place] == pytest.approx((above - loss()) / 2e-6, abs=1e-6)
            weight[place] = at


def test_noise_is_in_units_of_the_weights():
    network = train_network(np.eye(2).repeat(30, axis=0), np.repeat([0, 1], 30), 2, 400, seed=0)
    copy = network.perturbed(0.5, np.random.default_rng(0))
    noise = (copy.into_dh - network.into_dh).std() / np.sqrt(np.mean(network.into_dh**2))
    assert noise == pytest.approx(0.5, rel=0.1)
    same = network.perturbed(0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(same.out_hk, network.out_hk)
