"""Estimators take labels as users have them: frames, matrices, one label per row."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from featured_crowds import QUICK, assert_same_bits, featured
from manyhands.core.errors import DataError
from manyhands.estimators import (
    CrowdClassifier,
    CrowdRegressor,
    CrowdTagger,
    SingleAnnotatorWarning,
)

LEARNT = {**QUICK, "epochs": 8, "learning_rate": 0.05, "network": "logistic", "method": "speelfc"}


@pytest.fixture(scope="module")
def crowd():
    return featured(spread=0.3)


def classifier(**settings):
    return CrowdClassifier(**(LEARNT | settings))


@pytest.fixture(scope="module")
def matrix(crowd):
    return crowd.annotations.to_dense(missing=np.nan)


def test_frames_and_matrices_train_the_same_model(crowd, matrix):
    expected = classifier().fit(crowd.x, crowd.annotations)
    frame = crowd.annotations.to_frame()
    for labels in (matrix, matrix.tolist(), crowd.annotations.to_dense(), frame):
        model = classifier().fit(crowd.x, labels)
        assert_same_bits(model, expected)
        assert model.score(crowd.x, labels) == expected.score(crowd.x, crowd.annotations)
        assert model.log_likelihood(crowd.x, labels) == pytest.approx(
            expected.log_likelihood(crowd.x, crowd.annotations)
        )
        np.testing.assert_array_equal(
            model.infer(crowd.x, labels).probabilities,
            expected.infer(crowd.x, crowd.annotations).probabilities,
        )
        assert model.predict_labels(crowd.x, labels) is not None


def test_items_of_a_frame_must_be_in_the_order_of_rows(crowd):
    frame = crowd.annotations.to_frame()
    frame["item"] = [f"item {i}" for i in frame["item"]]  # "item 10" sorts before "item 2"
    with pytest.raises(DataError, match=r"not clear which row of features .* give X_items"):
        classifier().fit(crowd.x, frame)
    names = [f"item {i}" for i in range(60)]
    model = classifier().fit(crowd.x, frame, X_items=names)
    assert_same_bits(model, classifier().fit(crowd.x, crowd.annotations))
    padded = frame.assign(item=[f"{int(name.split()[1]):03}" for name in frame["item"]])
    assert_same_bits(classifier().fit(crowd.x, padded), model)


def test_items_of_a_frame_are_found_in_the_index_of_features(crowd):
    order = np.random.default_rng(0).permutation(60)
    x = pd.DataFrame(crowd.x[order], index=order)
    expected = classifier().fit(x, crowd.annotations, X_items=order)
    assert_same_bits(classifier().fit(x, crowd.annotations.to_frame()), expected)
    part = crowd.annotations.to_frame().query("item < 30")  # rows without labels stay
    assert classifier().fit(x, part).infer(x, part).annotations.n_items == 60


def test_other_numbers_of_rows_are_refused(crowd, matrix):
    with pytest.raises(DataError, match=r"59 rows of features for 60 items.*give X_items"):
        classifier().fit(crowd.x[:59], matrix)
    with pytest.raises(DataError, match=r"59 rows of features for 60 items.*give X_items"):
        classifier().fit(crowd.x[:59], crowd.annotations.to_frame())
    with pytest.raises(DataError, match="y: 60 labels for 59 rows of features; give one per row"):
        classifier().fit(crowd.x[:59], crowd.truth)


def test_one_label_per_row_is_one_annotator(crowd):
    with pytest.warns(SingleAnnotatorWarning, match="as those of one annotator"):
        model = classifier().fit(crowd.x, crowd.truth)
    assert model.annotators_frame()["annotator"].tolist() == [0]
    assert model.score(crowd.x, crowd.truth) > 0.9
    column = classifier().fit(crowd.x, crowd.truth[:, None])
    assert_same_bits(model, column)


def test_types_of_labels_are_those_of_predictions(crowd, tmp_path):
    is_first = crowd.annotations.to_dense(missing=-1)
    labels = np.where(is_first < 0, None, is_first == 0)
    model = classifier().fit(crowd.x, labels)
    assert model.predict(crowd.x).dtype == bool
    assert model.classes_.tolist() == [False, True]
    assert model.score(crowd.x, crowd.truth == 0) > 0.8
    frame = crowd.annotations.to_frame()
    names = pd.Categorical.from_codes(frame["label"], ["low", "middle", "high"])
    named = classifier().fit(crowd.x, frame.assign(label=names))
    assert named.classes_.tolist() == ["low", "middle", "high"]
    assert_same_bits(named, classifier().fit(crowd.x, crowd.annotations))


def test_a_matrix_is_a_y_for_cross_validation(crowd):
    matrix = crowd.annotations.to_dense(missing=-1)  # scikit-learn refuses NaN in y
    scores = cross_val_score(classifier(), crowd.x, matrix, cv=3)
    assert scores.min() > 0.6
    found = cross_val_predict(classifier(), crowd.x, matrix, cv=3)
    assert (found == crowd.truth).mean() > 0.8
    search = GridSearchCV(classifier(), {"epochs": [1, 8]}, cv=2).fit(crowd.x, matrix)
    assert search.best_score_ > 0.6


@pytest.mark.parametrize("form", ["matrix", "annotations"])
def test_probabilities_are_cross_validated(form, crowd, matrix):
    """`y` itself would be encoded by scikit-learn, every column of a matrix by itself."""
    labels = matrix if form == "matrix" else crowd.annotations
    found = cross_val_predict(
        classifier(), crowd.x, cv=3, params={"y": labels}, method="predict_proba"
    )
    assert found.shape == (60, 3)
    first = classifier().fit(crowd.x[20:], labels[20:])
    np.testing.assert_allclose(found[:20], first.predict_proba(crowd.x[:20]), atol=1e-6)
    assert (found.argmax(axis=1) == crowd.truth).mean() > 0.8


def test_majority_labels_in_place_of_labels_are_warned_of(crowd):
    with pytest.warns(SingleAnnotatorWarning, match="give the labels themselves"):
        cross_val_predict(classifier(), crowd.x, crowd.annotations, cv=2, method="predict_proba")


def test_a_regressor_takes_matrices_and_one_label_per_row():
    x = np.linspace(0, 3, 12)[:, None]
    matrix = x + np.array([[0.0, 1.0]])
    settings = {"network": "logistic", "epochs": 100, "learning_rate": 0.1, "progress": False}
    model = CrowdRegressor(**settings).fit(x, matrix)
    assert model.score(x, matrix) > 0.9
    assert len(model.infer(x, matrix).values) == 12
    with pytest.warns(SingleAnnotatorWarning):
        assert CrowdRegressor(**settings).fit(x, x[:, 0]).score(x, x[:, 0]) > 0.9


def test_a_tagger_takes_a_frame():
    sentences = [["Anna", "sang"], ["he", "ran"]]
    frame = pd.DataFrame(
        {"item": [0, 1, 2, 3] * 2, "annotator": [0] * 4 + [1] * 4, "label": ["B-PER", *"OOO"] * 2}
    )
    tagger = CrowdTagger(epochs=30, learning_rate=0.01, progress=False).fit(sentences, frame)
    assert tagger.predict(sentences) == [["B-PER", "O"], ["O", "O"]]
    assert tagger.score(sentences, frame) == 1.0
    assert tagger.infer(sentences, frame).tags.tolist() == ["B-PER", "O", "O", "O"]
