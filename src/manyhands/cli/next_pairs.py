"""What the command next does with comparisons of two items."""

from typing import Any

import manyhands as mh
from manyhands.cli import output
from manyhands.cli.pair_options import pair_lines, pair_source, refuse_options
from manyhands.core.errors import SettingError

_WHAT = "comparisons of two items"


def next_pairs(request: Any, file: "mh.io.PairFile", costs: "dict[Any, float] | None") -> None:
    """Choose the comparisons to ask for; `request` is that of the command next."""
    refuse_options(_WHAT, features=request.features, model=request.model)
    known = mh.selection.PAIR_METHODS
    if request.method not in known:
        raise SettingError(
            f"--method must be one of {', '.join(known)} for {_WHAT}; got {request.method}"
        )
    settings = {
        "method": request.method, "budget": request.budget, "costs": costs,
        "per_annotator": request.per_annotator, "seed": request.seed,
    }  # fmt: skip
    with output.working(f"weighing comparisons of {file.shown}"):
        pairs = file.read()
        ranking = mh.aggregate(pairs)
        found = mh.selection.next_comparisons(pairs, ranking=ranking, **settings)
        curve = mh.selection.comparison_curve(pairs, ranking=ranking, **settings)
    verdict = curve.verdict(min_gain=request.min_gain, target=request.target)
    if request.curve is not None:
        output.put_table(curve.columns, request.curve)
    if request.out != "-" or not request.json:
        output.put_table(found.columns, request.out)
    if request.json:
        rows = {"comparisons": output.records(found.columns)} if request.out == "-" else {}
        output.say_json(
            {
                "source": pair_source(pairs), "method": found.method, "n_labels": len(found),
                "cost": float(found.cost.sum()), "expected_accuracy": found.expected_accuracy,
                "expected_after": float(curve.accuracy[-1]), "stop": verdict.stop,
                "reason": verdict.reason,
            }
            | rows
        )  # fmt: skip
        return
    for line in pair_lines(pairs):
        output.remark(line)
    output.remark(
        f"{output.counted(len(found), 'comparison')} to ask for at a cost of "
        f"{float(found.cost.sum()):g}, by {found.method}"
    )
    output.remark(
        f"expected share of pairs of items in the right order: {found.expected_accuracy:.3f} now "
        f"and {curve.accuracy[-1]:.3f} after these"
    )
    output.remark(f"{'stop' if verdict.stop else 'go on'}: {verdict.reason}")
