"""Several batches per step, and what is said when a device has no memory left."""

import numpy as np
import pytest
import torch

import manyhands as mh
from manyhands.core.errors import SettingError
from manyhands.networks import MLP


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 4))
    truth = (features[:, 0] > 0).astype(int)
    kept = rng.random((50, 3)) < 0.7  # items have different numbers of labels
    kept[:, 0] = True
    return features, mh.Annotations.from_dense(np.where(kept, truth[:, None], -1))


def fitted(crowd, **settings):
    common = {"method": "speelfc", "epochs": 3, "warm_up": 1, "validation_fraction": 0.0}
    common |= {"threads": 1, "progress": False, "init": "own", "learning_rate": 0.01}
    torch.manual_seed(0)
    network = MLP(4, 2, hidden=[5], dropout=0)
    return mh.CrowdClassifier(network, **(common | settings)).fit(*crowd)


@pytest.mark.parametrize("more", [{}, {"sam_rho": 0.05, "optimizer": "sgd"}])
@pytest.mark.parametrize("parts", [3, 16])
def test_batches_of_a_step_count_like_one(crowd, parts, more):
    whole = fitted(crowd, batch_size=48 // parts * parts, **more)
    split = fitted(crowd, batch_size=48 // parts, accumulate=parts, **more)
    features = crowd[0]
    assert np.allclose(split.predict_proba(features), whole.predict_proba(features), atol=1e-5)
    assert split.history_[-1]["loss"] == pytest.approx(whole.history_[-1]["loss"], abs=1e-5)
    other = fitted(crowd, batch_size=48 // parts, **more)
    assert not np.allclose(other.predict_proba(features), whole.predict_proba(features), atol=1e-3)


class Greedy(MLP):
    """A network that finds no memory for more than four items in training."""

    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    def forward(self, inputs):
        if self.training and len(inputs) > 4:
            raise self.error
        return super().forward(inputs)


@pytest.mark.parametrize(
    "error",
    [
        Greedy.error, MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried ..."),
    ],
)  # fmt: skip
def test_without_memory_a_smaller_batch_is_named(crowd, error, monkeypatch):
    monkeypatch.setattr(Greedy, "error", error)
    settings = {"method": "speelfc", "epochs": 1, "threads": 1, "progress": False}
    model = mh.CrowdClassifier(Greedy(4, 2), batch_size=10, **settings)
    with pytest.raises(SettingError) as refused:
        model.fit(*crowd)
    text = "there is not enough memory for a batch of 10; try batch_size=5 and accumulate=2"
    assert str(refused.value) == text
    model.set_params(batch_size=4, accumulate=4).fit(*crowd)


def test_other_errors_of_a_network_stay_as_they_are(crowd, monkeypatch):
    monkeypatch.setattr(Greedy, "error", RuntimeError("a fault"))
    with pytest.raises(RuntimeError, match="a fault"):
        mh.CrowdClassifier(Greedy(4, 2), epochs=1, progress=False).fit(*crowd)
