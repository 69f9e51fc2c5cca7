"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyhands.estimators import CrowdClassifier, CrowdRegressor

QUICK = {"network": "logistic", "learning_rate": 0.05, "progress": False, "device": "cpu"}

EXCEPTIONS = {
    "check_supervised_y_2d": "a matrix of one column is a crowd of one annotator: no warning",
    "check_dtype_object": "features that are no numbers raise a DataError, which is a ValueError "
    "and not a TypeError",
    "check_sample_weight_equivalence_on_dense_data": "rows come in batches in a random order, so "
    "that a row that is left out or repeated changes the order of the others; where one batch has "
    "all rows, weights are equal to repeated rows (test_weights_and_streams.py)",
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
}


def test_exceptions_are_few():
    assert len(EXCEPTIONS) < 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::manyhands.estimators.labels.SingleAnnotatorWarning")
@parametrize_with_checks(
    [
        CrowdClassifier(method="speelfc", epochs=60, **QUICK),
        CrowdRegressor(epochs=60, **QUICK),
    ],
    expected_failed_checks=lambda _: EXCEPTIONS,
)
def test_what_scikit_learn_checks(estimator, check):
    check(estimator)
