"""What a file of labels is for: classes or numbers of items, or tags of the tokens of sentences."""

import manyhands as mh
from manyhands.cli.options import Reading, TaskOptions
from manyhands.core.errors import DataError, SettingError
from manyhands.core.settings import require_choice

TASKS = ("classification", "regression", "sequence")
LEARNS = {"classification": "classes", "regression": "numbers", "sequence": "tags"}


def tokens_layout(path: str, task_options: TaskOptions, reading: Reading) -> str | None:
    """How a file of tagged tokens is laid out, "conll" or "spans"; None for labels of items.

    What the file is decides, and --task where it does not; that the two agree is required.
    """
    from manyhands.cli.sniff import layout_of  # it needs readers, which --help does not

    if task_options.task is not None:
        require_choice("--task", task_options.task, TASKS)
    found = _agreed(path, task_options, layout_of(path, reading))
    for option in ("orphan_tags", "alignment"):
        if found is None and getattr(task_options, option) != getattr(TaskOptions, option):
            raise SettingError(f"--{option} is for tagged tokens; {path} holds labels of items")
    return found


def _agreed(path: str, task_options: TaskOptions, found: str | None) -> str | None:
    """What the file looks like and --task says together."""
    from manyhands.cli.sniff import UNCLEAR  # it needs readers, which --help does not

    if task_options.task == "sequence":
        if found is None:
            raise DataError(
                f"{path}: --task sequence takes tokens with a column of tags per annotator "
                "(.conll .bio .txt), or a table of spans with columns start, end and text"
            )
        return "conll" if found == UNCLEAR else found
    if found == UNCLEAR and task_options.task is None:
        raise DataError(
            f"{path}: may be a matrix of labels, or tokens with their tags; give --task "
            "classification or --task sequence"
        )
    if found == "conll" and task_options.task is not None:
        raise DataError(
            f"{path}: holds tokens with their tags, which is --task sequence; --task "
            f"{task_options.task} is for labels of items"
        )
    return None if task_options.task is not None or found == UNCLEAR else found


def kind_asked(task_options: TaskOptions, reading: Reading) -> str | None:
    """The kind of labels that --task, --range and --kind ask for together."""
    numbers = task_options.task == "regression" or task_options.bounds is not None
    if numbers and task_options.task == "classification":
        raise SettingError("--range is for numbers, --task classification for classes; drop one")
    if reading.kind is not None:
        said = "numbers" if numbers else {"classification": "classes"}.get(str(task_options.task))
        if said is not None and said != reading.kind:
            raise SettingError(f"--kind {reading.kind} contradicts --task or --range; drop one")
        return reading.kind
    return "numbers" if numbers else None


def bounds_asked(task_options: TaskOptions) -> tuple[float, float] | None:
    """The two ends of --range."""
    if task_options.bounds is None:
        return None
    low, _, high = task_options.bounds.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = 1.0, 0.0
    if not ends[0] < ends[1]:
        raise SettingError(
            f"--range must be LOW:HIGH with LOW below HIGH; got {task_options.bounds!r}"
        )
    return ends


def require_method(method: str, task: str) -> None:
    """Refuse a method of training that is for something else, with what to do."""
    is_for = mh.METHODS[method].task
    if task in is_for:
        return
    fitting = [name for name, each in mh.METHODS.items() if task in each.task]
    do = f"there are {', '.join(fitting)}"
    if (task, is_for) == ("classes", ("numbers",)):
        do = "give --task regression where the labels are numbers"
    raise SettingError(
        f"--method must be for {task}; got {method}, which is for {' and '.join(is_for)}; {do}"
    )


def require_aggregator(method: str | None, kind: str | None) -> None:
    """Refuse an aggregator that is for another kind of labels, with those that fit."""
    if method is None or kind is None or mh.AGGREGATORS[method].kind == kind:
        return
    fitting = [name for name, each in mh.AGGREGATORS.items() if each.kind == kind]
    raise SettingError(f"--method must be for {kind}; got {method}; there are {', '.join(fitting)}")
