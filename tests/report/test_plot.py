"""Figures for notebooks draw what their names say."""

import matplotlib as mpl
import numpy as np
import pytest

import manyhands as mh
from manyhands.simulation import SCENARIOS, CrowdSettings

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["spammers"](CrowdSettings(n_items=150, n_annotators=12, lowest=0.7, seed=2))


@pytest.fixture(scope="module")
def consensus(crowd):
    return mh.aggregate(crowd.annotations)


def test_confusions_are_shares_of_rows(consensus):
    axes = mh.plot.confusion(consensus, 5)
    image = np.asarray(axes.get_images()[0].get_array())
    ann = consensus.annotations
    own = ann.annotator == 5
    believed, said = consensus.labels[ann.item[own]], ann.label_names()[own]
    for k, name in enumerate(ann.classes):
        assert image[k] == pytest.approx(
            [np.mean(said[believed == name] == x) for x in ann.classes]
        )
    everybody = mh.plot.confusion(consensus)
    assert "all annotators" in everybody.get_title()
    with pytest.raises(mh.ManyhandsError, match="no annotator"):
        mh.plot.confusion(consensus, "nobody")


def test_annotators_are_in_order_and_flagged_ones_are_named(consensus):
    axes = mh.plot.annotators(consensus)
    drawn = axes.collections[-1].get_offsets()[:, 0]
    assert drawn.tolist() == sorted(consensus.annotator_quality.tolist())
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert any("random" in name for name in names)


def test_agreement_by_class_and_label_distribution(crowd, consensus):
    axes = mh.plot.agreement_by_class(crowd.annotations)
    assert len(axes.get_yticks()) == 3
    bars = mh.plot.label_distribution(crowd.annotations, consensus=consensus).patches
    said = np.bincount(crowd.annotations.label) / crowd.annotations.n_annotations
    assert sorted(bar.get_width() for bar in bars[:3]) == pytest.approx(sorted(said))
    assert sum(bar.get_width() for bar in bars[3:]) == pytest.approx(1.0)
    numbers = mh.plot.label_distribution(mh.Annotations.from_dense([[1.5, 2.5], [3.5, np.nan]]))
    assert sum(bar.get_height() for bar in numbers.patches) == 3


def test_reliability_is_the_calibration_curve(crowd, consensus):
    axes = mh.plot.reliability(consensus, crowd.truth_by_item)
    score = consensus.score(crowd.truth_by_item)
    assert f"{score.calibration_error:.3f}" in axes.get_title()
    with pytest.raises(mh.ManyhandsError, match="classes"):
        mh.plot.reliability(mh.aggregate(mh.Annotations.from_dense([[1.5, 2.5]])), {0: 1.0})


def test_learning_curves_of_a_history():
    history = [{"epoch": n, "loss": 1.0 / n, "seconds": 0.1} for n in range(1, 5)]
    axes = mh.plot.learning_curves(history)
    assert [line.get_label() for line in axes.get_lines()] == ["loss"]
    assert axes.get_lines()[0].get_ydata().tolist() == [1.0, 0.5, pytest.approx(1 / 3), 0.25]
    with pytest.raises(mh.ManyhandsError, match="no metric 'accuracy'"):
        mh.plot.learning_curves(history, metrics=("accuracy",))
    with pytest.raises(mh.ManyhandsError, match="fit the estimator"):
        mh.plot.learning_curves([])


def test_the_map_of_items_counts_all_items(consensus):
    axes = mh.plot.item_map(consensus)
    assert axes.collections[0].get_array().sum() == consensus.annotations.n_items


def test_axes_that_are_given_are_used(consensus):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots()
    assert mh.plot.item_map(consensus, ax=axes) is axes
