"""The three tasks, and which methods are for them."""

import manyhands as mh
from manyhands.core.errors import SettingError

# The names that methods, models and trials have until they use those of --task.
_NAMES = {"classes": "classification", "numbers": "regression", "tags": "tagging"}


def task_name(task: str) -> str:
    """The name of a task as --task has it."""
    return _NAMES.get(task, task)


def require_method(method: str, task: str) -> None:
    """Raise a `SettingError` for a training method of another task."""
    fitting = {name: [task_name(each) for each in way.task] for name, way in mh.METHODS.items()}
    mh.METHODS[method]  # an unknown name is an error that lists the known ones
    if task in fitting[method]:
        return
    do = f"there are {', '.join(name for name, tasks in fitting.items() if task in tasks)}"
    if (task, fitting[method]) == ("classification", ["regression"]):
        do = "give --task regression if the labels are numbers"
    raise SettingError(
        f"--method must be for {task}; got {method}, which is for "
        f"{' and '.join(fitting[method])}; {do}"
    )


def require_aggregator(method: str | None, task: str | None) -> None:
    """Raise an error for an unknown aggregator, or one for another kind of labels."""
    if method is None:
        return
    kind = mh.AGGREGATORS[method].kind
    wanted = {None: kind, "regression": "numbers"}.get(task, "classes")
    if kind != wanted:
        fitting = [name for name, each in mh.AGGREGATORS.items() if each.kind == wanted]
        raise SettingError(
            f"--method must be for {wanted}; got {method}; there are {', '.join(fitting)}"
        )
