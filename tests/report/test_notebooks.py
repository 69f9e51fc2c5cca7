"""What notebooks show: tables of escaped, short names."""

import numpy as np
from hostile_names import LONG, SCRIPT, hostile_labels

import manyhands as mh


def test_labels_and_consensus_show_names_as_text():
    ann = hostile_labels()
    for shown in (ann._repr_html_(), mh.aggregate(ann)._repr_html_()):
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown
        assert LONG[:200] not in shown


def test_a_fitted_estimator_shows_its_annotators():
    ann = hostile_labels()
    model = mh.CrowdClassifier(epochs=1, progress=False)
    unfitted = model._repr_mimebundle_()["text/html"]
    model.fit(np.random.default_rng(0).normal(size=(len(ann), 3)), ann)
    shown = model._repr_mimebundle_()["text/html"]
    assert "annotators, the lowest quality first" in shown
    assert "lowest quality" not in unfitted
    assert SCRIPT not in shown
    quality = np.sort(model.annotator_columns_["quality"])
    assert shown.index(f"<td>{quality[0]:.3g}</td>") < shown.index(f"<td>{quality[1]:.3g}</td>")
