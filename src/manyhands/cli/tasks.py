"""The three tasks, and which methods are for them."""

import manyhands as mh
from manyhands.core.errors import SettingError


def require_method(method: str, task: str) -> None:
    """Raise a `SettingError` for a training method of another task."""
    tasks = mh.METHODS[method].tasks
    if task in tasks:
        return
    do = f"there are {', '.join(name for name, each in mh.METHODS.items() if task in each.tasks)}"
    if (task, tasks) == ("classification", ("regression",)):
        do = "give --task regression if the labels are numbers"
    raise SettingError(
        f"--method must be for {task}; got {method}, which is for {' and '.join(tasks)}; {do}"
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
