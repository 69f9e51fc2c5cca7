"""The table of tasks."""

from manyhands.annotations import Kind
from manyhands.core.settings import Registry
from manyhands.engine.classification import Classification, Tagging
from manyhands.engine.multilabel import Multilabel
from manyhands.engine.regression import Regression
from manyhands.engine.task import Task

TASKS: Registry[Task] = Registry(
    "task",
    {
        "classification": Classification(),
        "regression": Regression(),
        "tagging": Tagging(),
        "multilabel": Multilabel(),
    },
)
# The task of labels of items, by their kind; see `task_of`.
TASK_OF: dict[Kind, Task] = {
    "classes": TASKS["classification"],
    "numbers": TASKS["regression"],
    "multilabel": TASKS["multilabel"],
}


def task_of(kind: Kind) -> Task:
    """The task of labels of items of a kind.

    >>> task_of("numbers").name
    'regression'
    """
    return TASK_OF[kind]
