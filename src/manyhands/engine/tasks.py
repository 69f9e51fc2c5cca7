"""The table of tasks."""

from manyhands.annotations import Annotations
from manyhands.core.settings import Registry
from manyhands.engine.classification import Classification
from manyhands.engine.regression import Regression
from manyhands.engine.tagging import Tagging
from manyhands.engine.task import Task

TASKS: Registry[Task] = Registry(
    "task",
    {
        "classification": Classification(),
        "regression": Regression(),
        "tagging": Tagging(),
    },
)


def task_for(annotations: Annotations) -> Task:
    """The task of labels of items: classification for classes, regression for numbers."""
    return TASKS["regression" if annotations.kind == "numbers" else "classification"]
