"""The crowd layer for numbers: its likelihood, its priors, its gradients."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal, norm

from manyhands.core.errors import DataError, SettingError
from manyhands.noise import AnnotationBatch, RegressionLayer, annotation_loss

KINDS = ["none", "S", "B", "SB"]


def drawn(kind="SB", precision="own", n_annotators=4, seed=0, **settings):
    """A layer of annotators of every sort, in double precision."""
    rng = np.random.default_rng(seed)
    layer = RegressionLayer(n_annotators, kind=kind, precision=precision, **settings).double()
    layer.set_prior(0.4, np.array([2, 3, 2, 1, *[1] * (n_annotators - 4)]))
    return layer.init_from_profile(
        precision_a=np.exp(rng.normal(size=n_annotators)),
        error_variance=0.7,
        bias_a=rng.normal(size=n_annotators) if "B" in kind else 0.0,
        scale_a=1 + rng.normal(size=n_annotators) / 3 if "S" in kind else 1.0,
    )


def some_labels():
    """Three items, one of them without labels, and eight labels."""
    rng = np.random.default_rng(3)
    row = torch.tensor([0, 0, 0, 2, 2, 2, 2, 2])
    annotator = torch.tensor([0, 1, 2, 0, 1, 1, 2, 3])
    value_b = torch.from_numpy(rng.normal(size=3))
    return value_b, AnnotationBatch(row, annotator, torch.from_numpy(rng.normal(size=8)))


def whole_loss(layer, value_b, batch):
    return annotation_loss(layer, value_b.unsqueeze(1), batch)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_an_item_are_normal_together(kind):
    layer, (value_b, batch) = drawn(kind), some_labels()
    found_b = layer.joint_log_prob(value_b, batch).detach().numpy()
    profile = layer.profile
    for row in range(3):
        own = (batch.row == row).numpy()
        who = batch.annotator.numpy()[own]
        scale, noise = profile["scale"][who], 1 / profile["precision"][who]
        if not own.any():
            assert found_b[row] == 0.0
            continue
        expected = multivariate_normal.logpdf(
            batch.label.numpy()[own],
            scale * value_b[row].item() + profile["bias"][who],
            np.diag(noise) + 0.7 * np.outer(scale, scale),
        )
        assert found_b[row] == pytest.approx(expected, abs=1e-9)


def test_a_label_by_itself_has_the_marginal_density():
    layer, (value_b, batch) = drawn(), some_labels()
    profile, who = layer.profile, batch.annotator.numpy()
    mean = profile["scale"][who] * value_b.numpy()[batch.row] + profile["bias"][who]
    deviation = np.sqrt(1 / profile["precision"][who] + 0.7 * profile["scale"][who] ** 2)
    found = layer.label_log_prob(value_b, batch).detach().numpy()
    np.testing.assert_allclose(found, norm.logpdf(batch.label.numpy(), mean, deviation), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences(kind):
    layer, (value_b, batch) = drawn(kind), some_labels()
    value_b.requires_grad_()
    learnt = [each for each in (*layer.parameters(), value_b) if each.requires_grad]
    assert len(learnt) == 3 + len(kind.replace("none", ""))
    whole_loss(layer, value_b, batch).backward()
    for each in learnt:
        flat = each.data.reshape(-1)
        for place in range(len(flat)):
            ends = []
            for step in (1e-6, -2e-6, 1e-6):
                ends.append(whole_loss(layer, value_b, batch).item())
                flat[place] += step
            slope = (ends[1] - ends[2]) / 2e-6
            assert each.grad.reshape(-1)[place].item() == pytest.approx(slope, abs=1e-6)


def test_the_penalty_is_minus_the_log_prior():
    def log_prior(layer):
        profile, v, w = layer.profile, layer.error_variance, 0.4
        bias = norm.logpdf(profile["bias"], 0, np.sqrt(w / 5))
        scale = norm.logpdf(profile["scale"], 1, np.sqrt(w / 5))
        precision = 25 * (np.log(profile["precision"]) - w * profile["precision"])
        return (bias + scale + precision).sum() + np.log(1 / v) - w / 100 / v  # worth two items

    one, other = drawn(), drawn(seed=1)
    other.init_from_profile(
        error_variance=0.1, **{f"{k}_a": each for k, each in other.profile.items()}
    )
    found = one.penalty().item() - other.penalty().item()
    assert found == pytest.approx(-(log_prior(one) - log_prior(other)) / 8)


def test_the_penalty_of_batches_averages_to_that_of_all():
    layer, (_, batch) = drawn(), some_labels()
    parts = [layer.penalty(batch.annotator[part]).item() for part in (slice(0, 4), slice(4, 8))]
    assert np.mean(parts) == pytest.approx(layer.penalty().item())


def test_equal_precisions_are_squared_error():
    free = {"bias_strength": 0.0, "scale_strength": 0.0, "prior_strength": 0.0}
    layer, (value_b, batch) = drawn("B", "equal", **free), some_labels()
    layer.init_from_profile(precision_a=2.0, error_variance=0.7, bias_a=layer.profile["bias"])
    value_b.requires_grad_()
    found = torch.autograd.grad(whole_loss(layer, value_b, batch), [value_b, layer.bias.weight])
    off_n = batch.label - value_b[batch.row] - layer.bias(batch.annotator)
    expected = torch.autograd.grad(off_n.square().mean(), [value_b, layer.bias.weight])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert not layer.log_precision.weight.requires_grad
    assert not layer.log_error.requires_grad


def test_a_batch_touches_its_own_annotators_only():
    layer = RegressionLayer(1000, kind="SB", sparse=True)
    batch = AnnotationBatch(torch.tensor([0, 0]), torch.tensor([7, 900]), torch.ones(2))
    annotation_loss(layer, torch.zeros(1, 1), batch).backward()
    for table in (layer.scale, layer.bias, layer.log_precision):
        assert set(table.weight.grad.coalesce().indices()[0].tolist()) == {7, 900}


def test_no_labels_cost_nothing_and_leave_no_gradient():
    value = torch.ones(2, 1, requires_grad=True)
    none = torch.zeros(0, dtype=torch.long)
    loss = annotation_loss(RegressionLayer(3), value, AnnotationBatch(none, none, torch.zeros(0)))
    loss.backward()
    assert loss.item() == 0.0
    assert not value.grad.any()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"kind": "W"}, "kind must be one of none, S, B, SB"),
        ({"precision": "some"}, "precision must be one of own, equal, none"),
        ({"bias_strength": -1.0}, "bias_strength must be >= 0"),
    ],
)
def test_wrong_settings_are_refused(setting, message):
    with pytest.raises(SettingError, match=message):
        RegressionLayer(3, **setting)


def test_outputs_of_another_shape_raise():
    _, batch = some_labels()
    for outputs in (torch.zeros(3), torch.zeros(3, 2)):
        with pytest.raises(DataError, match=r"one number each is expected, in shape \(3, 1\)"):
            annotation_loss(drawn(), outputs, batch)


def test_outputs_may_be_a_column_or_a_vector():
    layer, (value_b, batch) = drawn(), some_labels()
    for method in (layer.joint_log_prob, layer.label_log_prob):
        assert torch.equal(method(value_b, batch), method(value_b.unsqueeze(1), batch))
