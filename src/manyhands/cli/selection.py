"""manyhands compare --select: the winner without truth, and whether majority voting is enough."""

import os
from collections.abc import Sequence

import manyhands as mh
from manyhands.cli.options import Reading, Training
from manyhands.cli.output import counting, put_table, remark, say, say_json, show_table, working
from manyhands.cli.reading import annotations_from, truth_from


def select_aggregator(
    labels: str,
    names: Sequence[str] | None,
    truth: str | None,
    duplicates: str,
    runs: int,
    seed: int,
    monitor: str | None,
    reading: Reading,
) -> "mh.aggregation.Choice":
    """Choose among aggregators, by labels taken away before fitting."""
    name = known_monitor(monitor)
    mh.aggregation.candidates(names)  # told before a long file is read
    truths = truth_from(truth, reading) if truth is not None else None
    with working(f"comparing methods on {labels}"):
        ann = annotations_from(labels, reading, duplicates)
        return mh.aggregation.select(ann, names, monitor=name, truth=truths, runs=runs, seed=seed)


def select_method(
    trial: "mh.selection.Trial",
    names: Sequence[str] | None,
    runs: int,
    seed: int,
    jobs: int | None,
    training: Training,
) -> "mh.selection.Selection":
    """Choose among training methods, by labels kept aside."""
    settings = training.settings()
    monitor = known_monitor(settings.pop("monitor"))
    n_models = len(mh.selection.all_candidates(names, settings, trial.features))
    with counting("training", n_models * runs) as done:
        return mh.selection.select_on_trial(
            trial, names, monitor=monitor, runs=runs, seed=seed, settings=settings,
            jobs=jobs or os.cpu_count() or 1, done=done,
        )  # fmt: skip


def known_monitor(monitor: str | None) -> str:
    """The judge asked for; without one all criteria judge together."""
    name = monitor or mh.evaluation.RANKS
    mh.evaluation.CRITERIA[name]  # says which names it knows
    return name


def tell_choice(choice: "mh.aggregation.Choice", out: str, json: bool) -> None:
    """The ranked table, the winner, and whether majority voting is enough."""
    table = choice.table
    if json:
        say_json(
            {
                "winner": choice.winner,
                "majority_is_enough": choice.majority_is_enough,
                "reason": choice.reason,
                "ranked_by": table.ranked_by,
                "methods": table.records(),
            }
        )
    elif out == "-":
        rows = [list(record.values()) for record in table.records()]
        show_table("", list(table.columns), rows)
    if not json:
        say(f"The winner is {choice.winner}, by {table.ranked_by}.")
        say(choice.reason)
        if "accuracy" in table.columns:
            remark("accuracy is against the truth and for information: nothing was chosen by it")
    if out != "-":
        put_table(table.columns, out)
