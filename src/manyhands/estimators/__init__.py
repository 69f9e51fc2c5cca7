"""Models that fit and predict by scikit-learn's conventions."""

from typing import Any

from manyhands.aggregation import TokenConsensus
from manyhands.core.arrays import AnyArray
from manyhands.estimators.classifier import CrowdClassifier
from manyhands.estimators.files import load
from manyhands.estimators.regressor import CrowdRegressor
from manyhands.estimators.tagger import CrowdTagger

__all__ = ["ESTIMATORS", "CrowdClassifier", "CrowdRegressor", "CrowdTagger", "load"]

ESTIMATORS: dict[str, type] = {
    "classification": CrowdClassifier,
    "regression": CrowdRegressor,
    "tagging": CrowdTagger,
}


# The command line asks models for these; they are here until the classes have them.
def _class_columns(self: Any, X: Any) -> dict[str, AnyArray]:  # noqa: N803
    proba_ik = self.predict_proba(X)
    return _columns(self, proba_ik, proba_ik.argmax(axis=1))


def _tag_columns(self: Any, X: Any) -> dict[str, AnyArray]:  # noqa: N803
    return _columns(self, self.predict_proba(X), self._codes(X))


def _columns(self: Any, proba_ik: AnyArray, code_i: AnyArray) -> dict[str, AnyArray]:
    columns = {"label": self.classes_[code_i], "confidence": proba_ik[range(len(code_i)), code_i]}
    return columns | {f"p_{name}": proba_ik[:, k] for k, name in enumerate(self.classes_)}


def _number_columns(self: Any, X: Any) -> dict[str, AnyArray]:  # noqa: N803
    return {"label": self.predict(X), "spread": self.predict_spread(X)}


for _owner, _name, _method in (
    (CrowdClassifier, "prediction_columns", _class_columns),
    (CrowdTagger, "prediction_columns", _tag_columns),
    (CrowdRegressor, "prediction_columns", _number_columns),
    (TokenConsensus, "item_columns", lambda self: self.tokens.item_columns()),
):
    if not hasattr(_owner, _name):
        setattr(_owner, _name, _method)
