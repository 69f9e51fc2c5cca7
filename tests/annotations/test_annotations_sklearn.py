"""scikit-learn takes annotations as `y`."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)

from manyhands.annotations import Annotations


class Nearest(ClassifierMixin, BaseEstimator):
    """Says of an item what the crowd said most often of the nearest item it has seen."""

    def __init__(self, power=2.0):
        self.power = power

    def fit(self, x, y):
        assert isinstance(y, Annotations)
        assert len(x) == len(y)
        self.seen_, self.codes_ = np.asarray(x), np.asarray(y)
        return self

    def predict(self, x):
        far = (np.abs(np.asarray(x)[:, None] - self.seen_[None]) ** self.power).sum(axis=2)
        return self.codes_[far.argmin(axis=1)]

    def score(self, x, y):
        return float(np.mean(self.predict(x) == np.asarray(y)))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [30, 20, 10])
    X = truth[:, None] + rng.normal(0, 0.05, (60, 2))
    ann = Annotations.from_dense(np.repeat(truth[:, None], 3, axis=1), items=np.arange(100, 160))
    return X, ann, truth


def test_folds_hold_the_items_they_name(data):
    X, ann, truth = data
    for splitter in (KFold(5, shuffle=True, random_state=0), StratifiedKFold(5)):
        seen = []
        for train, test in splitter.split(X, ann):
            assert ann[test].items.tolist() == (test + 100).tolist()
            assert np.asarray(ann[train]).tolist() == truth[train].tolist()
            seen.extend(test)
        assert sorted(seen) == list(range(60))


def test_strata_are_the_labels_said_most_often(data):
    X, ann, truth = data
    for _, test in StratifiedKFold(5).split(X, ann):
        assert np.bincount(truth[test]).tolist() == [6, 4, 2]


def test_a_split_keeps_features_and_labels_together(data):
    X, ann, truth = data
    X_train, X_test, y_train, y_test = train_test_split(
        X, ann, test_size=0.25, stratify=ann, random_state=0
    )
    assert isinstance(y_train, Annotations)
    assert (len(y_train), len(y_test)) == (45, 15)
    assert set(y_train.items) | set(y_test.items) == set(range(100, 160))
    np.testing.assert_array_equal(X[y_test.items - 100], X_test)
    np.testing.assert_array_equal(X[y_train.items - 100], X_train)
    assert np.asarray(y_test).tolist() == truth[y_test.items - 100].tolist()


def test_cross_validation_and_grid_search_run_on_annotations(data):
    X, ann, _ = data
    assert cross_val_score(Nearest(), X, ann, cv=4).tolist() == [1.0] * 4
    search = GridSearchCV(Nearest(), {"power": [1.0, 2.0]}, cv=3).fit(X, ann)
    assert search.best_score_ == 1.0
    assert len(search.best_estimator_.seen_) == 60
