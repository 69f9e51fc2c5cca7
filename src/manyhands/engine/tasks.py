"""The table of tasks; tagging, which is classification of the tokens of sentences."""

from typing import Any

from manyhands.annotations import Kind
from manyhands.core.arrays import AnyArray
from manyhands.core.registry import Registry
from manyhands.engine.classification import Classification
from manyhands.engine.features import EncoderOptions, FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.regression import Regression
from manyhands.engine.task import NOT_SCORED, Metrics, Task
from manyhands.engine.text import TextEncoder
from manyhands.evaluation import score_entities


class Tagging(Classification):
    """Labels are the tags of tokens; a network sees whole sentences."""

    name = "tagging"
    default_method = "speelfc"
    defaults = {"batch_size": 1024, "validation_unit": "items"}  # noqa: RUF012 - a constant
    item_noun = "tokens"
    metrics = Metrics("f1", ("precision", "recall"), "F1 of the entities against the truth")

    def fit_encoder(self, features: Any, options: EncoderOptions) -> tuple[FeatureEncoder, Inputs]:
        """See `Task.fit_encoder`."""
        return TextEncoder.fit_transform(features, options, tokens=True)

    def score(
        self, truth: AnyArray | None, predicted: Any, features: Any = None
    ) -> dict[str, float]:
        """See `Task.score`; truth and predictions are the tags of all tokens of the sentences."""
        names = (self.metrics.key, *self.metrics.others)
        if truth is None:
            return dict.fromkeys(names, NOT_SCORED)
        found = score_entities(truth, predicted, features.offsets).as_dict()
        return {name: found[name] for name in names}

    def scored_consensus(self, consensus: Any) -> Any:
        """See `Task.scored_consensus`: the tags of all tokens."""
        return consensus.tags


TASKS: Registry[Task] = Registry(
    "task",
    {
        "classification": Classification(),
        "regression": Regression(),
        "tagging": Tagging(),
    },
)
# The task of labels of items, by their kind.
TASK_OF: dict[Kind, Task] = {"classes": TASKS["classification"], "numbers": TASKS["regression"]}
