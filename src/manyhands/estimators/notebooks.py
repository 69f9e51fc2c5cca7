"""What notebooks show of an estimator."""

import numpy as np
from sklearn.base import BaseEstimator

from manyhands.annotations.html import html_table
from manyhands.core.arrays import AnyArray


class NotebookEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator whose view in a notebook has the annotators too, once it is fitted."""

    method: object
    epoch_: int

    def _html_repr(self) -> str:
        """Scikit-learn's view, and below it annotators, the lowest quality first."""
        diagram: str = super()._html_repr()
        columns: dict[str, AnyArray] | None = getattr(self, "annotator_columns_", None)
        if columns is None:
            return diagram
        order = np.argsort(columns["quality"], kind="stable")
        title = (
            f"{self.method} after epoch {self.epoch_}: {int(columns['n_annotations'].sum())} "
            f"labels by {len(order)} annotators, the lowest quality first"
        )
        return diagram + html_table(title, {name: each[order] for name, each in columns.items()})
