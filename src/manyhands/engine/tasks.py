"""The table of tasks."""

from manyhands.annotations import Kind
from manyhands.core.settings import Registry
from manyhands.engine.classification import Classification, Tagging
from manyhands.engine.regression import Regression
from manyhands.engine.task import Task

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
