"""Many classes: what is known of labels given a class costs K numbers per class, not K x K."""

import pytest
import torch

from manyhands.core.errors import TooLargeError
from manyhands.noise import CoNAL, CoNALGroups, Mixture, SpeeLFC
from manyhands.noise.base import NoiseModel
from manyhands.noise.speelfc import log_complement

ROW, ANNOTATOR = torch.tensor([0, 0, 1]), torch.tensor([3, 1, 3])
MODELS = {
    "conal": lambda: CoNAL(n_annotators=4, n_classes=5, n_features=2),
    "conal-logits": lambda: CoNAL(n_annotators=4, n_classes=5, n_features=2, mix="logits"),
    "conal-omega": lambda: CoNAL(n_annotators=4, n_classes=5, n_features=2, omega=0.3),
    "conal-groups": lambda: CoNALGroups(n_annotators=4, n_classes=5, n_features=2),
    "mixture": lambda: Mixture(4, 5),
    "mixture-experts": lambda: Mixture(4, 5, experts=True, n_features=2),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("with_features", [False, True])
def test_labels_given_a_class_are_those_of_certain_classes(name, with_features):
    rng = torch.Generator().manual_seed(0)
    layer = MODELS[name]()
    with torch.no_grad():
        for each in layer.parameters():
            each.copy_(torch.randn(each.shape, generator=rng))
    features = torch.randn(2, 2, generator=rng) if with_features else None
    found = layer.log_given_class(ANNOTATOR, ROW, features)
    # The general way: every class in turn is certain.
    expected = NoiseModel.log_given_class(layer, ANNOTATOR, ROW, features)
    assert torch.allclose(found, expected, atol=1e-5)
    assert layer.cells_per_label < layer.n_classes**3


def test_complements_of_many_classes_are_exact():
    rng = torch.Generator().manual_seed(0)
    log_class = (8 * torch.randn(6, 80, generator=rng)).double().log_softmax(dim=-1)
    found = log_complement(log_class.requires_grad_())
    assert torch.allclose(found, torch.log1p(-log_class.exp()), atol=1e-9)
    (gradient,) = torch.autograd.grad(found.sum(), log_class)
    assert gradient.isfinite().all()


def test_too_many_parameters_are_refused_before_they_are_made():
    with pytest.raises(TooLargeError, match=r"about 17 GiB for 50,000 x 150 x 150 .*speelfc-d"):
        SpeeLFC(n_annotators=50_000, n_classes=150)
