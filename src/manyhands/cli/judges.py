"""manyhands judges: how good a panel of judges is, who errs together, and what is enough."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

import manyhands as mh
from manyhands.cli import options, output
from manyhands.cli.options import in_labels, in_output, option
from manyhands.core.arrays import AnyArray
from manyhands.core.errors import DataError, SettingError

Table = Literal["judges", "confusions", "bias", "pairs", "subsets", "items"]
_MOST_ROWS = 10


@dataclass(frozen=True, kw_only=True)
class Request(options.OptionGroup):
    """The labels of the judges, the gold, and what to say about them."""

    labels: options.LabelsFiles
    gold: Annotated[
        str | None,
        in_labels("Table with columns item and truth: true classes of some items, best of items "
                  "drawn at random.", metavar="FILE"),
    ] = None  # fmt: skip
    samples: Annotated[
        str | None,
        in_labels("What separates a judge from the number of a sample in the names of annotators, "
                  'such as "#" in model#1 and model#2: they count as one judge.', metavar="TEXT"),
    ] = None  # fmt: skip
    abstain: Annotated[
        list[str] | None,
        in_labels("A label that means that the judge gave no verdict, such as unsure. Repeatable.",
                  metavar="LABEL"),
    ] = None  # fmt: skip
    abstentions: Annotated[
        Literal["missing", "label"],
        in_labels("Whether such labels are left out, or say something about the item."),
    ] = "missing"
    costs: Annotated[
        str | None,
        in_labels("Table with columns annotator and cost: what a label of a judge costs; 1 for "
                  "judges that it leaves out.", metavar="FILE"),
    ] = None  # fmt: skip
    same: Annotated[
        float, option("Share of items on which fewer judges must give the consensus of all.")
    ] = 0.98
    target: Annotated[float, option("The accuracy to certify by labels of people.")] = 0.9
    max_accuracy: Annotated[
        float | None,
        option("The highest accuracy that you hold possible for a judge: judges who agree too much "
               "for it are warned of."),
    ] = None  # fmt: skip
    by: Annotated[
        Table,
        in_output("Which table --out gets: judges, their confusions, bias by class, pairs of "
                  "judges, subsets of judges, or items with the consensus.", metavar="NAME"),
    ] = "items"  # fmt: skip
    out: Annotated[
        str | None,
        in_output("Table to write (.csv .tsv .parquet .jsonl); - is standard output.",
                  metavar="FILE"),
    ] = None  # fmt: skip
    json: options.Json = False
    reading: options.LabelOptions


@options.takes_groups
def judges(request: Request) -> None:
    """Examine a panel of judges: models, LLMs or people.

    With --gold: the accuracy and kappa of every judge, how many independent judges they count as,
    who shares errors, a consensus whose confidence is calibrated on the gold, which fewer judges
    give the same consensus, and how many labels of people certify the panel. Every gold item is
    judged without its own gold.

    Without gold it warns of judges who agree more than independent ones would. Labels do not show
    mistakes that all judges share, so that confidence is then never certainty.

    Example: manyhands judges labels.csv --gold gold.csv --out consensus.csv

    Example: manyhands judges labels.csv --gold gold.csv --samples "#" --abstain unsure

    Example: manyhands judges labels.csv --gold gold.csv --costs costs.csv --by subsets --out -

    Example: manyhands judges labels.csv --max-accuracy 0.9
    """
    file, reading = request.reading.file(request.labels), request.reading
    output.require_targets(request.out, read=[*file.names, request.gold, request.costs])
    if file.tokens is not None:
        raise DataError(f"{file.shown}: has tags of tokens; panels of judges are for items")
    if request.out == "-" and request.json:
        raise SettingError("--json and --out - are both standard output; name a file for --out")
    with output.working(f"comparing judges of {file.shown}"):
        ann: Any = file.read_items()
        panel = mh.selection.judge_panel(
            ann,
            reading.truth(request.gold),
            samples=request.samples,
            abstain=request.abstain,
            abstentions=request.abstentions,
            costs=_costs(request),
            same=request.same,
            target=request.target,
            max_accuracy=request.max_accuracy,
        )
    table = getattr(panel, request.by)
    if not table:
        raise SettingError(f"--by {request.by} needs --gold")
    if request.out is not None:
        output.put_table(table, request.out)
    if request.json:
        output.say_json(_content(panel, ann, request.by))
        return
    _print(panel, output.reading_lines(ann), to_stderr=request.out == "-")


def _costs(request: Request) -> dict[Any, float] | None:
    if request.costs is None:
        return None
    sheet = mh.io.sheet_of(request.costs, request.reading.sheet)
    return mh.io.read_costs(request.costs, encoding=request.reading.encoding, sheet=sheet)


def _content(panel: "mh.selection.JudgePanel", ann: Any, by: Table) -> dict[str, Any]:
    """Everything for JSON; items are many, and listed only if they are asked for."""
    names = ("judges", "confusions", "bias", "pairs", "subsets")
    tables = {name: getattr(panel, name) for name in names}
    if by == "items":
        tables["items"] = panel.items
    listed = {name: output.records(table) for name, table in tables.items() if table}
    return {"source": output.source_of(ann)} | panel.to_json() | listed


def _print(panel: "mh.selection.JudgePanel", lines: list[str], *, to_stderr: bool) -> None:
    texts = [*lines, *(f"warning: {text}" for text in panel.warnings), *panel.words]
    if to_stderr:
        for text in texts:
            output.remark(text)
        return
    for text in texts:
        output.say(text)
    names = ["judge", "n_labels", "accuracy", "accuracy_low", "accuracy_high", "kappa"]
    _show("Judges", panel.judges, [*names, "implied_accuracy", "cost"])
    if panel.pairs:
        order = np.argsort(-np.nan_to_num(panel.pairs["correlation"], nan=-2.0), kind="stable")
        names = [
            "judge",
            "other",
            "correlation",
            "low",
            "high",
            "both_wrong",
            "expected_both_wrong",
        ]
        _show("Pairs, by the correlation of their errors", panel.pairs, names, order)
        used = np.flatnonzero(panel.bias["use"] != "")
        names = ["judge", "class", "said", "true", "use"]
        _show("Classes that judges use too often or too rarely", panel.bias, names, used)
        names = ["judges", "n_judges", "cost", "same", "accuracy"]
        _show("Fewer judges: how often the consensus is the same", panel.subsets, names)


def _show(
    title: str, table: dict[str, AnyArray], names: list[str], rows: AnyArray | None = None
) -> None:
    """Print some columns of a table, and of a long one the first rows."""
    known = [name for name in names if name in table]
    rows = np.arange(len(table[known[0]])) if rows is None else rows
    if len(rows) == 0:
        return
    more = len(rows) - _MOST_ROWS
    output.say()
    output.say(title + (f" (the first {_MOST_ROWS} of {len(rows)})" if more > 0 else ""))
    cells = {name: table[name][rows[:_MOST_ROWS]] for name in known}
    plain = [
        {name: None if isinstance(v, float) and np.isnan(v) else v for name, v in row.items()}
        for row in output.records(cells)
    ]
    output.show_table("", plain)
