"""A compiled network learns what the same network learns otherwise."""

import numpy as np
import pytest

import manyhands as mh


@pytest.mark.slow  # compiling takes half a minute
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_compiled_network_ends_with_the_same_weights():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 5)).astype(np.float32)
    truth = (features[:, 0] > 0).astype(int)
    labels = np.stack([truth, truth, rng.integers(0, 2, 60)], axis=1)
    settings = {
        "network_settings": {"dropout": 0.0}, "epochs": 3, "validation_fraction": 0.0,
        "progress": False, "threads": 1,
    }  # fmt: skip
    plain, compiled = (
        mh.CrowdClassifier("mlp", "speelfc", compile=flag, **settings).fit(features, labels)
        for flag in (False, True)
    )
    assert np.abs(plain.predict_proba(features) - compiled.predict_proba(features)).max() < 1e-5
    assert compiled.network_._compiled_call_impl is None  # predictions compile nothing
