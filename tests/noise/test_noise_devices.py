"""Every annotator model takes `device` and `dtype` as the modules of torch do."""

import math

import pytest
import torch

from manyhands.noise import (
    NOISE,
    AnnotationBatch,
    AnnotatorTable,
    CoNAL,
    Mixture,
    RegressionLayer,
    annotation_loss,
)

A, K, D, B = 5, 3, 4, 7


def of_entry(name):
    return lambda **given: NOISE[name](A, K, n_features=D, **given)


def experts(**given):
    return Mixture(A, K, experts=True, n_features=D, **given)


def with_annotator_features(**given):
    return CoNAL(A, K, n_features=D, annotator_features=torch.ones(A, 2), **given)


MODELS = {name: of_entry(name) for name in NOISE}
MODELS |= {
    "experts": experts,
    "annotator-features": with_annotator_features,
    "prior": lambda **given: NOISE["speelfc"](A, K, prior_precision=1.0, **given),
    "regression": lambda **given: RegressionLayer(A, kind="SB", **given),
}


@pytest.fixture(params=list(MODELS))
def make(request):
    return MODELS[request.param]


def tensors(layer):
    return [*layer.parameters(), *layer.buffers()]


def outputs_and_batch(layer, dtype):
    generator = torch.Generator().manual_seed(1)
    row, _ = torch.randint(0, B, (20,), generator=generator).sort()
    annotator = torch.randint(0, A, (20,), generator=generator)
    features = torch.randn(B, D, generator=generator, dtype=dtype)
    if layer.task == "regression":
        label = torch.randn(20, generator=generator, dtype=dtype)
        outputs = torch.randn(B, 1, generator=generator, dtype=dtype)
    else:
        label = torch.randint(0, K, (20,), generator=generator)
        outputs = torch.randn(B, K, generator=generator, dtype=dtype)
    return outputs, AnnotationBatch(row, annotator, label, features)


def test_every_tensor_is_made_on_the_device(make):
    assert all(each.is_meta for each in tensors(make(device="meta")))
    assert all(each.device.type == "cpu" for each in tensors(make(device=torch.device("cpu"))))


def test_a_device_context_is_followed(make):
    with torch.device("meta"):
        made = make()
    assert all(each.is_meta for each in tensors(made))


def test_every_number_has_the_dtype(make):
    for dtype in (torch.float64, torch.bfloat16):
        numbers = [each for each in tensors(make(dtype=dtype)) if each.is_floating_point()]
        assert {each.dtype for each in numbers} == {dtype}


def test_the_defaults_are_those_of_torch(make):
    torch.manual_seed(0)
    plain = make()
    torch.manual_seed(0)
    stated = make(device="cpu", dtype=torch.float32)
    for one, other in zip(tensors(plain), tensors(stated), strict=True):
        assert torch.equal(one, other)
        assert one.dtype == other.dtype


def test_a_model_in_double_precision_computes_in_it(make):
    layer = make(dtype=torch.float64)
    outputs, batch = outputs_and_batch(layer, torch.float64)
    assert layer.label_log_prob(outputs, batch).dtype == torch.float64
    loss = annotation_loss(layer, outputs, batch)
    assert loss.dtype == layer.penalty().dtype == torch.float64
    loss.backward()


def test_a_model_on_the_meta_device_can_be_filled(make):
    torch.manual_seed(0)
    source, layer = make(), make(device="meta").to_empty(device="cpu")
    layer.load_state_dict(source.state_dict())
    outputs, batch = outputs_and_batch(layer, torch.float32)
    expected = source.label_log_prob(outputs, batch)
    assert torch.equal(layer.label_log_prob(outputs, batch), expected)


def test_no_random_numbers_are_drawn_on_the_meta_device(make):
    before = torch.get_rng_state()
    make(device="meta")
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_table_of_annotators_draws_no_random_numbers(sparse):
    before = torch.get_rng_state()
    table = AnnotatorTable(A, torch.arange(6.0).reshape(2, 3), sparse=sparse)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(table(torch.tensor([4])), torch.arange(6.0).reshape(1, 2, 3))
    assert table.weight.requires_grad


def test_a_fixed_gate_has_the_precision_of_the_model():
    layer = CoNAL(A, K, n_features=D, omega=0.3, dtype=torch.float64)
    log_omega, log_rest = layer._log_omega(torch.zeros(1), torch.zeros(1), None)
    assert log_omega.item() == math.log(0.3)
    assert log_rest.item() == math.log1p(-0.3)
