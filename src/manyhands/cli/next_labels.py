"""manyhands next: what to label next, by whom, and what it would bring."""

from dataclasses import dataclass
from typing import Annotated, Any

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.feature_options import FeatureColumns, matched
from manyhands.cli.next_pairs import next_pairs
from manyhands.cli.options import in_labels, in_output, option
from manyhands.cli.pair_options import PairOptions
from manyhands.core.errors import DataError, SettingError

_MOST_SIMULATED = 500  # labels that the verdict looks ahead, unless --curve asks for all


@dataclass(frozen=True, kw_only=True)
class Request(options.OptionGroup):
    """What is known, and how many labels can be had."""

    labels: options.LabelsFiles
    features: Annotated[
        str | None,
        in_labels("Features of the items, also of items without labels: a classifier is "
                  "cross-validated on them.", metavar="FILE"),
    ] = None  # fmt: skip
    model: Annotated[
        str | None,
        in_labels("Folder that manyhands train wrote; its predictions of --features are taken. It "
                  "should have been trained on other labels.", metavar="DIR"),
    ] = None  # fmt: skip
    budget: Annotated[
        float, option("The most that all labels may cost; a label costs 1 without --costs.")
    ] = 100
    method: Annotated[
        str,
        option("How labels are ranked: information (bits about the item), accuracy (probability of "
               "the consensus), probing (bits about the annotator), random; with --features also "
               "active-lab and crowdlab.", metavar="NAME"),
    ] = "information"  # fmt: skip
    costs: Annotated[
        str | None,
        in_labels("Table with columns annotator and cost. Only the annotators in it are asked; "
                  "people who have not labelled yet count as average ones.", metavar="FILE"),
    ] = None  # fmt: skip
    per_annotator: Annotated[
        int | None,
        option("Largest number of labels by one annotator.", min=1, show_default="a tenth"),
    ] = None
    target: Annotated[
        float | None, option("Accuracy at which labelling may stop, such as 0.95.")
    ] = None
    min_gain: Annotated[
        float, option("Rise of the accuracy by the whole budget below which labelling may stop.")
    ] = 0.002
    curve: Annotated[
        str | None,
        in_output("Table to write of the expected accuracy against further labels.",
                  metavar="FILE"),
    ] = None  # fmt: skip
    out: options.OutFile = "-"
    seed: options.Seed = 0
    json: options.Json = False
    pairs: PairOptions
    reading: options.LabelOptions
    columns: FeatureColumns

    def settings(self, costs: "dict[Any, float] | None") -> dict[str, Any]:
        """The arguments that the labels and the curve share."""
        return {"costs": costs, "per_annotator": self.per_annotator, "seed": self.seed}


@options.takes_groups
def next(request: Request) -> None:
    """Choose the labels to ask for next, and whom to ask.

    The table has an item and an annotator per row, best first: the gain by --method per cost, the
    consensus of the item so far, and accuracy_gain, how much more probable its consensus is
    expected to be. An item gets one label per batch, and nobody is asked about an item that they
    have labelled: run the command again when the labels have arrived.

    Then it says what accuracy is expected now and after these labels, and whether to stop: further
    labels are simulated from the profiles of the annotators. The model does not know of mistakes
    that annotators share, so that the accuracy is an upper bound.

    A label that is a set tells about every class; gains are added over these, and the accuracy is
    that of decisions about a class. Of comparisons of two items the table has the pairs to compare
    next, and the accuracy is the share of pairs in the right order.

    Example: manyhands next labels.csv --budget 200 --out ask.csv

    Example: manyhands next labels.csv --features features.csv --method active-lab

    Example: manyhands next labels.csv --costs costs.csv --budget 50 --target 0.95

    Example: manyhands next labels.csv --budget 500 --curve curve.csv --out ask.csv
    """
    file = request.reading.file(request.labels)
    output.require_targets(
        request.out, request.curve, read=[*file.names, request.features, request.costs]
    )
    if file.tokens is not None:
        raise DataError(f"{file.shown}: has tags of tokens; next labels are chosen for items")
    if request.model is not None and request.features is None:
        raise SettingError("--model needs --features, which it predicts")
    compared, costs = request.pairs.file(file), None
    if request.costs is not None:
        sheet = mh.io.sheet_of(request.costs, request.reading.sheet)
        costs = mh.io.read_costs(request.costs, encoding=request.reading.encoding, sheet=sheet)
    if compared is not None:
        next_pairs(request, compared, costs)
        return
    with output.working(f"weighing labels of {file.shown}"):
        ann: Any = output.told(file.read_items())
        _note_new_people(request, ann, costs)
        ann, given = _given(request, ann)
        settings = request.settings(costs)
        found = mh.selection.next_labels(
            ann, *given, method=request.method, budget=request.budget, **settings
        )
        curve = _curve(request, ann, given, settings)
    verdict = curve.verdict(min_gain=request.min_gain, target=request.target)
    if request.curve is not None:
        output.put_table(curve.columns, request.curve)
    _tell(request, ann, found, verdict)


def _note_new_people(request: Request, ann: Any, costs: "dict[Any, float] | None") -> None:
    """Name the people of --costs who have not labelled: they may be misspelled."""
    codes = ann.annotator_vocabulary.codes(costs or {}).tolist()
    new = [str(name) for name, code in zip(costs or {}, codes, strict=True) if code < 0]
    if new:
        shown = ", ".join(new[:5]) + (" ..." if len(new) > 5 else "")
        people = "annotator has" if len(new) == 1 else "annotators have"
        output.remark(f"note: {request.costs}: {len(new)} {people} no label yet: {shown}")


def _given(request: Request, ann: Any) -> tuple[Any, list[Any]]:
    """The labels with the items of the features, and the probabilities of a classifier if any."""
    if request.features is None:
        return ann, []
    table = matched(request.columns.read(request.features, request.reading), ann, request.features)
    model = None
    if request.model is not None:
        model = mh.estimators.load(request.model)
        task = mh.estimators.estimator_for(ann.kind).task
        if model.task != task:
            raise DataError(f"{request.model}: the model is for {model.task}, not {task}")
    items = None if table.kind == "images" else table.items
    ann, p_ik = mh.selection.out_of_sample(
        table.X, ann, X_items=items, model=model, seed=request.seed
    )
    return ann, [p_ik]


def _curve(
    request: Request, ann: Any, given: list[Any], settings: dict[str, Any]
) -> "mh.selection.BudgetCurve":
    method = request.method
    if mh.selection.NEXT_METHODS[method].needs_classifier:
        method = "information"  # labels are ranked by it in the simulation
    cheapest = min((settings["costs"] or {None: 1.0}).values())
    budget = request.budget
    if request.curve is None:
        budget = min(budget, _MOST_SIMULATED * cheapest)
    return mh.selection.budget_curve(ann, *given, method=method, budget=budget, **settings)


def _tell(
    request: Request, ann: Any, found: "mh.selection.NextLabels", verdict: "mh.selection.Verdict"
) -> None:
    facts = {
        "method": found.method,
        "n_labels": len(found),
        "cost": float(found.cost.sum()),
        "expected_accuracy": found.expected_accuracy,
        "expected_after": found.expected_after,
        "stop": verdict.stop,
        "reason": verdict.reason,
    }
    if request.out != "-" or not request.json:
        output.put_table(found.columns, request.out)
    if request.json:
        rows = {"labels": output.records(found.columns)} if request.out == "-" else {}
        output.say_json({"source": output.source_of(ann)} | facts | rows)
        return
    output.remark(
        f"{output.counted(len(found), 'label')} to ask for at a cost of {facts['cost']:g}, by "
        f"{found.method}: {mh.selection.NEXT_METHODS[found.method].about}"
    )
    output.remark(
        f"expected accuracy {found.expected_accuracy:.3f} now and {found.expected_after:.3f} after "
        "these labels; lower if annotators share mistakes"
    )
    output.remark(f"{'stop' if verdict.stop else 'go on'}: {verdict.reason}")
