"""End-to-end methods of ordinal labels: classes that have an order."""

from dataclasses import dataclass

from torch import nn

from manyhands.aggregation import Consensus, OrdinalThresholds, fit_guarded
from manyhands.annotations import Annotations
from manyhands.annotations.vocabulary import join_names
from manyhands.core.errors import DataError, SettingName
from manyhands.engine.classification import ClassificationModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.end_to_end import FAST, PRIOR, EndToEnd


@dataclass(frozen=True)
class OrdinalEndToEnd(EndToEnd):
    """Train the network through a noise model of levels: classes that have an order.

    The consensus that annotators are initialised from is that of `OrdinalThresholds`. Classes
    without an order raise a `DataError`, unless they are numbers.
    """

    tasks = ("classification",)
    needs_order = True

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> ClassificationModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        if ann.as_kind("ordinal").classes.tolist() != ann.classes.tolist():
            raise DataError(
                f"the classes {join_names(ann.classes)} are not in the order of their levels; "
                "read the labels with ", SettingName("kind", "ordinal"),
            )  # fmt: skip
        return super().make_module(network, problem, settings)

    def _consensus(self, problem: Problem) -> Consensus:
        return problem.once(f"ordinal {self.init}", _fit_levels)


def _fit_levels(annotations: Annotations) -> Consensus:
    return fit_guarded(OrdinalThresholds(), annotations)


ROWS: dict[str, Method] = {
    "cumulative-link": OrdinalEndToEnd(
        "cumulative-link",
        PRIOR,
        "auto",
        defaults=FAST,
        paper=Paper(
            preset="p0/labelme",
            model={"settings": {}, "init": "own"},
            note="In none of the papers; trained as the crowd layers.",
        ),
        about=About(
            source="cumulative logits of McCullagh 1980, as confusions of annotators",
            equation="P(y | a) = sum_k f_k C_a[k, y], P(y <= l | k) = F(t_al - b_a k)",
            cost="a plain epoch + K x K per label",
            when="ordinal labels: thresholds and a slope per annotator, K parameters each",
        ),
    )
}
