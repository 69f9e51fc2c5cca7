"""How often flags find planted annotators, and how often they are wrong, on simulated crowds.

    python -m benchmarks.flags [--runs N]

Records the numbers and writes docs/flags.md.
"""

from collections import defaultdict
from collections.abc import Iterator

import manyhands as mh
from benchmarks.benchmark import FLAGS, Row, command_given, commands_of, parser
from manyhands.checks import flag_annotators
from manyhands.experiments import code_block, markdown_table, write_page
from manyhands.simulation import PlantedSettings, SimulatedCrowd

PAGE = "flags.md"
FIRST_SEED = 1000  # seeds below were used while the flags were written
MIN_LABELS = 30
KINDS = {
    "random": "random",
    "constant": "constant",
    "adversary": "adversarial",
    "copycat": "copies",
}
CROWDS: dict[str, dict[str, float]] = {
    "4 classes": {},
    "imbalanced: 62, 25, 10, 4 %": {"imbalance": 0.4},
    "a fifth of the items is hard for all": {"hard_share": 0.2},
    "imbalanced, and a fifth is hard": {"imbalance": 0.4, "hard_share": 0.2},
    "10 classes": {"n_classes": 10},
    "2 classes": {"n_classes": 2},
    "2 classes, 300 labels each": {"n_classes": 2, "n_items": 12_000},
    "50 labels each": {"n_items": 2000},
    "3 labels per item, 50 each": {"n_items": 3300, "labels_per_item": 3},
}


def measure_all(runs: int, command: str) -> Iterator[Row]:
    """The rows of all crowds."""
    yield {"kind": "run", "command": command, "n_runs": runs}
    for name, settings in CROWDS.items():
        yield {"kind": "crowd", "crowd": name} | rates(settings, runs)


def rates(settings: dict[str, float], runs: int) -> Row:
    """Shares of planted annotators that were found, and of honest ones that were flagged."""
    found: dict[str, list[bool]] = defaultdict(list)
    named: dict[str, list[bool]] = defaultdict(list)
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        chosen = PlantedSettings(seed=seed, **settings)  # type: ignore[arg-type]
        count_flags(mh.SCENARIOS["planted"](chosen), found, named)
    planted = [each for behaviour in KINDS for each in found[behaviour]]
    return {
        "found": _mean(planted),
        "false_alarms": _mean(found["honest"]),
        "honest": len(found["honest"]),
        "found_by_behaviour": {name: _mean(found[name]) for name in KINDS},
        "named_by_behaviour": {name: _mean(named[name]) for name in KINDS},
        "sources": _mean(found["source"]),
    }


def count_flags(
    crowd: SimulatedCrowd, found: dict[str, list[bool]], named: dict[str, list[bool]]
) -> None:
    """Add the annotators of one crowd, by behaviour.

    The source of a copycat is flagged with it, because labels do not tell who copies; it is counted
    apart, and among the honest if it has another flag.
    """
    by_annotator = defaultdict(set)
    for flag in flag_annotators(crowd.annotations):
        if flag.kind != "few-labels":
            by_annotator[flag.annotator].add(flag.kind)
    sources = set(crowd.annotator_notes["copies"].tolist())
    n_labels = crowd.annotations.labels_per_annotator
    for a, behaviour in enumerate(crowd.behaviour):
        kinds = by_annotator[a]
        if behaviour != "honest":
            found[behaviour].append(bool(kinds))
            named[behaviour].append(KINDS[behaviour] in kinds)
            continue
        if a in sources:
            found["source"].append("copies" in kinds)
            kinds -= {"copies"}
        if n_labels[a] >= MIN_LABELS:
            found["honest"].append(bool(kinds))


def _mean(values: list[bool]) -> float:
    return sum(values) / max(len(values), 1)


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    run = next(row for row in rows if row["kind"] == "run")
    crowds = [row for row in rows if row["kind"] == "crowd"]
    head = ["crowd", "found", *KINDS.values(), "false alarms"]
    body = [
        [
            row["crowd"],
            _percent(row["found"]),
            *(_percent(row["found_by_behaviour"][name]) for name in KINDS),
            f"{_percent(row['false_alarms'])} of {row['honest']:,}",
        ]
        for row in crowds
    ]
    names = [
        [row["crowd"], *(_percent(row["named_by_behaviour"][name]) for name in KINDS)]
        for row in crowds
    ]
    parts = [
        _INTRODUCTION.format(runs=run["n_runs"], command=code_block(commands_of(rows))),
        markdown_table(head, body, left=1),
        _NAMES,
        markdown_table(["crowd", *KINDS.values()], names, left=1),
    ]
    return "\n\n".join(parts) + "\n"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


_INTRODUCTION = """# How well flags find bad annotators

`mh.checks.flag_annotators` and [the report](how-to/report.md) flag annotators who label at random,
always the same, against the truth, or like another annotator. This page measures it on the scenario
`planted`: 200 annotators, of whom 10 label at random, 10 always give the same label, 10 know the
class and give another, and 10 give in nine of ten cases the label of an honest annotator, with all
mistakes. The 160 honest ones are right in 60 to 95 % of the cases. If nothing else is said, there
are 4 classes, 5 labels per item, and 75 labels per annotator. An item that is hard for all looks
like another class, which half of the labels are given for.

"Found" is the share of planted annotators with a flag other than "too few labels to say". False
alarms are honest annotators with at least 30 labels who have such a flag. Of a pair that copies,
both are flagged, because labels alone do not tell who copies; the honest half is not counted as a
false alarm. With two classes and 75 labels, an annotator who is right in 60 % of the cases can
hardly be told from one who guesses; with 300 labels it can. A copy is not looked for where an item
has fewer than two labels beside those of the pair, so with three labels per item none is found.

Every row is of {runs} crowds. The numbers come from the command

{command}

and are recorded in `docs/results/records`."""

_NAMES = """## Found by the right name

An annotator who gives one of three wrong classes looks like one who guesses, unless there are many
labels. The advice is the same: leave the labels out."""


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the records and the page."""
    made = parser("flags", __doc__)
    made.add_argument("--runs", type=int, default=20, help="crowds per row")
    options = made.parse_args(arguments)
    rows = FLAGS.keep(measure_all(options.runs, command_given("flags", arguments)), options.docs)
    write_page(options.docs / PAGE, make_page(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
