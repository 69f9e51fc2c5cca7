"""The table of tasks."""

from manyhands.annotations import Kind
from manyhands.core.errors import DataError
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
# The task of labels of items, by their kind; see `task_of`.
TASK_OF: dict[Kind, Task] = {"classes": TASKS["classification"], "numbers": TASKS["regression"]}


def task_of(kind: Kind) -> Task:
    """The task of labels of items of a kind; a `DataError` where nothing is trained from them.

    >>> task_of("numbers").name
    'regression'
    """
    if kind not in TASK_OF:
        raise DataError(
            "estimators and methods learn from labels that are single classes or numbers, and "
            "these are sets of classes; give the labels about one class (Annotations.of_class), "
            "or train a network of your own with manyhands.noise.MultilabelLayer"
        )
    return TASK_OF[kind]
