"""Label smoothing: targets and labels are mixed with a uniform distribution."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from constant_network import Constant
from featured_crowds import featured, fit
from manyhands.core.errors import SettingError
from manyhands.engine.chains import Chains, TokenPlaces
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.estimators import CrowdClassifier, CrowdRegressor, fit_many
from manyhands.methods import METHODS
from manyhands.networks.tag_transitions import TagTransitions
from manyhands.noise import NOISE, AnnotationBatch, annotation_loss
from rated_crowds import rated

K, N = 3, 12
SMOOTHED = ["two-stage-majority-smoothed", "crowd-layer-mw-smoothed"]
TAKING = [name for name, method in METHODS.items() if method.takes_label_smoothing]
SHARES = [0.3, 0.0, -0.5]


def a_batch():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(N, K, generator=generator, dtype=torch.float64)
    label = torch.randint(0, K, (N,), generator=generator)
    return logits, AnnotationBatch(torch.arange(N), torch.arange(N) % 4, label)


def a_layer(name="speelfc", share=0.0):
    torch.manual_seed(1)
    layer = NOISE[name](4, K, n_features=1).double()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in layer.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.5 * noise)
    layer.label_smoothing = share
    return layer


@pytest.mark.parametrize("share", SHARES)
def test_the_loss_of_targets_is_that_of_torch(share):
    logits, batch = a_batch()
    module = ClassificationModule(nn.Identity(), a_layer(), torch.zeros(0))
    module.label_smoothing = share
    found = module.target_loss(logits, functional.one_hot(batch.label, K).double())
    plain = functional.cross_entropy(logits, batch.label, reduction="none")
    uniform = -logits.log_softmax(-1).mean(-1)
    torch.testing.assert_close(found, (1 - share) * plain + share * uniform)
    if share >= 0:
        peer = functional.cross_entropy(
            logits, batch.label, reduction="none", label_smoothing=share
        )
        torch.testing.assert_close(found, peer)


@pytest.mark.parametrize("name", ["speelfc", "crowd-layer-mw", "cumulative-link", "geocrowdnet"])
@pytest.mark.parametrize("share", SHARES)
def test_the_loss_of_labels_is_the_mean_over_labels_said_at_random_with_that_share(name, share):
    logits, batch = a_batch()

    def loss(label_n, layer):
        given = AnnotationBatch(batch.row, batch.annotator, label_n)
        return annotation_loss(layer, logits, given)

    plain = a_layer(name)
    others = [loss(torch.full_like(batch.label, each), plain) for each in range(K)]
    expected = (1 - share) * loss(batch.label, plain) + share / K * sum(others)
    torch.testing.assert_close(loss(batch.label, a_layer(name, share)), expected)


def test_gradients_match_finite_differences():
    logits, batch = a_batch()
    layer = a_layer(share=0.3)
    inputs = [logits.requires_grad_(), layer.table.weight]
    assert torch.autograd.gradcheck(lambda *_: annotation_loss(layer, logits, batch), inputs)


def test_a_network_learns_the_smoothed_shares_of_the_classes():
    crowd = featured(lowest=0.9)
    settings = {"network": lambda *_: Constant(K), "epochs": 400, "learning_rate": 0.05}
    plain, smooth = (
        fit("two-stage-soft-majority", crowd, label_smoothing=share, batch_size=60, **settings)
        for share in (0.0, 0.4)
    )
    expected = 0.6 * plain.predict_proba(crowd.x) + 0.4 / K
    np.testing.assert_allclose(smooth.predict_proba(crowd.x), expected, atol=2e-3)


@pytest.mark.parametrize(
    ("row", "plain"), [(each, each.removesuffix("-smoothed")) for each in SMOOTHED]
)
def test_a_smoothed_row_is_the_plain_one_with_the_setting(row, plain):
    crowd = featured()
    found = fit(row, crowd)
    assert found.settings_.label_smoothing == 0.1
    same = fit(plain, crowd, label_smoothing=0.1)
    np.testing.assert_array_equal(found.predict_proba(crowd.x), same.predict_proba(crowd.x))
    off = fit(row, crowd, label_smoothing=0.0)
    unlike = np.abs(off.predict_proba(crowd.x) - found.predict_proba(crowd.x))
    assert unlike.max() > 1e-4
    assert METHODS[row].published().defaults["label_smoothing"] == 0.1
    assert "label_smoothing" not in METHODS[plain].published().defaults


@pytest.mark.parametrize("name", [name for name in METHODS if name not in TAKING])
def test_other_methods_refuse_it(name):
    method, crowd = METHODS[name], featured()
    if "classification" in method.tasks:
        with pytest.raises(SettingError, match="label_smoothing must be 0: this method does not"):
            method.resolve_settings({"label_smoothing": 0.1}, crowd.annotations)
    assert method.resolve_settings({"label_smoothing": 0.0}, crowd.annotations).epochs >= 1


def test_numbers_refuse_it():
    crowd = rated()
    with pytest.raises(SettingError, match="label_smoothing must be 0"):
        CrowdRegressor(method="truth", label_smoothing=0.1, progress=False).fit(
            crowd.x, crowd.annotations, truth=crowd.truth
        )


def test_chains_of_one_tag_are_smoothed_as_items_are():
    logits, batch = a_batch()
    links = TagTransitions(["O", "X", "Y"], "learned").double()
    chains = Chains(logits, TokenPlaces.of(np.ones(N, dtype=bool), np.arange(N)), links)
    layer = a_layer(share=0.3)
    expected = annotation_loss(layer, logits, batch)
    torch.testing.assert_close(chains.annotation_loss(layer, batch).double(), expected)


@pytest.mark.parametrize("share", [1.0, float("nan"), float("-inf")])
def test_shares_of_one_or_more_are_refused(share):
    with pytest.raises(SettingError, match="label_smoothing must be below 1"):
        TrainingSettings(label_smoothing=share)


@pytest.mark.parametrize("name", SMOOTHED)
def test_seeds_as_one_program_are_smoothed_as_well(name):
    crowd = featured()
    clf = CrowdClassifier(method=name, epochs=3, progress=False, device="cpu")
    together, alone = (
        fit_many(clf, crowd.x, crowd.annotations, seeds=(0, 1), together=each)
        for each in (True, False)
    )
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(
            one.predict_proba(crowd.x), other.predict_proba(crowd.x), atol=1e-4
        )
