"""Making the runs of experiments: those not yet made, as many at a time as there are cores."""

from collections.abc import Callable, Iterable

from joblib import Parallel, delayed

from manyhands.experiments.records import RecordStore
from manyhands.experiments.tasks import Task, run_task


def missing_tasks(tasks: Iterable[Task], store: RecordStore | None) -> list[Task]:
    """The runs not yet made, each once; failed ones are tried again. None: nothing is made yet."""
    different = {task.key: task for task in tasks}
    return [task for key, task in different.items() if store is None or not store.finished(key)]


def run_missing(
    tasks: Iterable[Task],
    store: RecordStore,
    data: str | None,
    *,
    jobs: int = 1,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Make the missing runs and record each when it is finished.

    Killed anywhere, only the runs under way are lost.
    """
    todo = missing_tasks(tasks, store)
    made = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(run_task)(task, data) for task in todo
    )
    for record in made:
        store.append(record)
        done()
