"""The page on the speed of training, made from the recorded rows."""

from collections.abc import Callable, Iterable

from benchmarks.benchmark import Row, commands_of
from benchmarks.numbers import NOTHING, count, number
from benchmarks.processes import OK
from benchmarks.training_steps import (
    AS_DOCUMENTED,
    DENSE,
    LABELS_EACH,
    ONCE_PER_ITEM,
    OUR_CLASSIFIER,
    OUR_DEFAULTS,
    OURS,
)
from manyhands.experiments import code_block, markdown_table

PAGE = "training-speed.md"
MOST_GROWTH = 1.3
MOST_GIB = 1.0
LEAST_GAIN = 10.0
MOST_OVERHEAD = 0.15

_BOTH_OURS = (OURS, OUR_DEFAULTS)
_RATIOS = ["ratio of least", "median ratio", "processor ratio"]
_TIMES = ["ms, least", "ms, median", *_RATIOS]


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    sections: list[tuple[str, Callable[[list[Row]], str]]] = [
        ("growth", _growth),
        ("peers", _peers),
        ("memory", _memory),
        ("loop", _loop),
        ("threads", _threads),
    ]
    parts = [_introduction(by_kind["machine"][0], rows), _claims(by_kind)]
    parts += [table(by_kind[kind]) for kind, table in sections if kind in by_kind]
    return "\n\n".join(parts) + "\n"


def _introduction(machine: Row, rows: list[Row]) -> str:
    facts = [["processor", machine["processor"]], ["cores", str(machine["cores"])]]
    facts.append(["memory", f"{machine['memory_bytes'] / 2**30:.1f} GiB"])
    versions = machine["versions"] | {"torch": machine["torch"]}
    names = ("python", "torch", "manyhands", "crowd-kit", "numpy")
    facts += [[name, versions[name]] for name in names]
    others = [row["others"] for row in rows if row.get("others") is not None]
    if others:
        mean = sum(others) / len(others)
        facts.append(["cores that other programs used", f"{mean:.2f}, at most {max(others):.2f}"])
    return f"""# Speed of training

The cost of a training step as the crowd grows, compared with the designs of other programs, and the
overhead of the training loop. The numbers come from the command

{code_block(commands_of(rows))}

and are recorded in `docs/results/records`.

**A step** is the forward pass, the backward pass and the optimiser step on 64 items with
{LABELS_EACH} labels each. The network has 512 features, one hidden layer of 128 units and dropout
0.5, and runs on one thread. Features and labels are random. Batches are prepared beforehand and
follow each other, so that the rows of annotators are as rarely in the caches as in a real epoch.

**Noise.** Everything that is compared is timed in turn in one process, in blocks of up to 64 steps
(about a tenth of a second). "least" is the fastest block, "median" the median block; a median ratio
is the median of the ratios within the rounds. A processor ratio is that of the least processor
times, which depend less on other programs. Times of different tables should not be compared.

{markdown_table(["machine", ""], facts, left=2)}"""


def _claims(by_kind: dict[str, list[Row]]) -> str:
    claims = [
        *_growth_claims(_done(by_kind, "growth")),
        *_memory_claims(_done(by_kind, "memory")),
        *_peer_claims(_done(by_kind, "peers")),
        *_loop_claims(_done(by_kind, "loop")),
    ]
    body = [[claim, measured, "yes" if holds else "**no**"] for claim, measured, holds in claims]
    return f"""## Claims

The ratios are those of least times, medians and processor times; the first decides.

{markdown_table(["claim", "measured", "holds"], body, left=3)}"""


def _done(by_kind: dict[str, list[Row]], kind: str) -> list[Row]:
    return [row for row in by_kind.get(kind, []) if row["status"] == OK]


Claim = tuple[str, str, bool]


def _growth_claims(rows: list[Row]) -> Iterable[Claim]:
    for row in rows:
        if row["n_annotators"] == _largest(rows) and "sparse" not in row["settings"]:
            layer = f"{_named(row)}, K = {row['n_classes']}"
            yield (
                f"{layer}: a step with {count(row['n_annotators'])} annotators takes at most "
                f"{MOST_GROWTH} times as long as with {_smallest(rows)}",
                _ratios(row, "{:.2f}"),
                row["least_ratio"] <= MOST_GROWTH,
            )


def _memory_claims(rows: list[Row]) -> Iterable[Claim]:
    for row in rows:
        named = {OUR_CLASSIFIER: OUR_CLASSIFIER, OUR_DEFAULTS: "`train`", OURS: "as published"}
        if row["tool"] in named and row["n_annotators"] == _largest(rows):
            yield (
                f"{row['method']}, {named[row['tool']]}: {count(row['n_annotators'])} annotators "
                f"take less than {MOST_GIB:g} GiB",
                f"{number(row['peak_bytes'] / 2**30)} GiB",
                row["peak_bytes"] < MOST_GIB * 2**30,
            )


def _peer_claims(rows: list[Row]) -> Iterable[Claim]:
    sizes = sorted({row["n_annotators"] for row in rows})
    for row in rows:
        if row["tool"] in _BOTH_OURS or row["n_annotators"] == sizes[0]:
            continue
        huge = row["layer"] == "crowd-layer-mw" and row["n_annotators"] == sizes[-1]
        gain = LEAST_GAIN if huge else 1.0
        claim = f"at least {gain:g} times as fast as" if huge else "faster than"
        yield (
            f"{row['layer']}, {count(row['n_annotators'])} annotators: {claim} {row['tool']}",
            _ratios(row, "{:.2f}"),
            row["least_ratio"] >= gain,
        )


def _loop_claims(rows: list[Row]) -> Iterable[Claim]:
    for row in rows:
        if row["part"] == "epochs":
            yield (
                f"{row['method']}: the loop adds less than {MOST_OVERHEAD:.0%} to bare steps",
                _ratios(row, "{:.3f}"),
                row["least_ratio"] < 1 + MOST_OVERHEAD,
            )


def _growth(rows: list[Row]) -> str:
    head = ["method", "K", "annotators", "gradients", *_TIMES]
    body = []
    for row in rows:
        start = [_named(row), str(row["n_classes"])]
        if row["status"] != OK:
            body.append([*start, row["why"], *[NOTHING] * 6])
            continue
        kind = "sparse" if row["sparse"] else "dense"
        body.append([*start, f"{row['n_annotators']:,}", kind, *_times(row)])
    return f"""## Larger crowds

Steps of manyhands. Gradients of the annotators' tables are dense or sparse as `CrowdClassifier`
chooses, or as the settings say. By default noise models have a prior around their initial values
(`prior_precision`); "as published" they have none. Ratios are to the smallest crowd. In a large
crowd a batch has as many different annotators as labels, in a small crowd fewer: whatever is
computed once per annotator of the batch grows with that number.

{markdown_table(head, body, left=1)}"""


def _peers(rows: list[Row]) -> str:
    head = ["layer", "annotators", "tool", *_TIMES]
    body = [
        [row["layer"], f"{row['n_annotators']:,}", row["tool"], *_times(row)]
        if row["status"] == OK
        else [row["layer"], f"{row['n_annotators']:,}", row["why"], *[NOTHING] * 5]
        for row in rows
    ]
    return f"""## Beside other programs

K = {rows[0]["n_classes"]}. Ratios are to the first line of each crowd.

- **{OURS}** is the same layer as published; **{OUR_DEFAULTS}** adds what is default here.
- **{AS_DOCUMENTED}** is `crowdkit.learning` as in its tutorial: one example per label, so that the
  network processes an item once per label, and one `Adam` over all parameters. Like ours, it looks
  annotators up by number, but gradients and optimiser cover all annotators.
- **{ONCE_PER_ITEM}** is the same layer with the network run once per item and a fused `Adam`, the
  fastest code that one could write around it.
- **{DENSE}** computes the label of every annotator for every item and masks the missing ones, as
  the public codes of Rodrigues and Pereira 2018 and of Chu, Ma and Wang 2021 do.

crowd-kit's CoNAL holds annotators as a one-hot matrix, which takes 40 GB for 100 thousand
annotators; it is measured up to 10 thousand. crowd-kit leaves CoNAL's penalty to the user, and it
is not computed here; ours computes it.

{markdown_table(head, body, left=1)}"""


def _memory(rows: list[Row]) -> str:
    head = ["method", "annotators", "tool", "peak MiB"]
    body = [
        [
            row["method"],
            f"{row['n_annotators']:,}",
            row["tool"],
            number(row["peak_bytes"] / 2**20) if row["status"] == OK else f"not run: {row['why']}",
        ]
        for row in rows
    ]
    data = rows[0]["n_items"] * 512 * 4 / 2**20
    return f"""## Memory

The peak memory of a fresh process, including python, torch and the data ({number(data)} MiB of
features). {OUR_CLASSIFIER} trains two epochs, two more on all labels, and estimates the
confusions. "{OUR_DEFAULTS}" is an epoch of `train`, initialised from a Dawid-Skene consensus;
"{OURS}" is the noise model as published, which initialises itself. The others make a few steps
with batches prepared beforehand, which hold the features a second time.

{markdown_table(head, body, left=1)}"""


def _loop(rows: list[Row]) -> str:
    parts = {"bare": "bare loop", "epochs": "epochs of `train`", "whole": "all of `train`"}
    head = ["method", "what", "ms/epoch, least", "ms/epoch, median", *_RATIOS]
    body = []
    for row in rows:
        if row["status"] != OK:
            body.append([row["method"], row["why"], *[NOTHING] * 5])
            continue
        times = [number(row[name] / row["epochs"] * 1e3) for name in ("least_s", "median_s")]
        ratios = _ratios(row, "{:.3f}").split("; ")
        body.append([row["method"], parts[row["part"]], *times, *ratios])
    one = rows[0]
    return f"""## The loop around the steps

{one["n_items"]:,} items with {one.get("n_labels", 0):,} labels of {one["n_annotators"]} annotators
in {one["n_classes"]} classes, as in LabelMe; {one["epochs"]} epochs. The bare loop is
hand-written: batches prepared beforehand, the same network, noise model, loss and fused AdamW; it
ends with the same weights. "all of `train`" includes starting Fabric and the evaluation of all
labels at the end. {one.get("rounds", 0)} runs of each, in turn.

{markdown_table(head, body, left=2)}"""


def _threads(rows: list[Row]) -> str:
    head = ["features", "hidden", "other cores", "threads", "`threads=None`", *_TIMES]
    body = []
    for row in rows:
        if row["status"] == OK:
            start = [f"{row['n_features']:,}", f"{row['n_hidden']:,}"]
            start.append("busy" if row["busy"] else "idle")
            body.append([*start, str(row["threads"]), str(row["chosen"]), *_times(row)])
    return f"""## Threads

The step of speelfc with one torch thread and with two, while the other cores are idle and while a
program keeps each of them busy. `threads=None` is the number of threads that the loop chooses by
default if torch has two. Ratios are to one thread.

{markdown_table(head, body, left=0)}"""


def _times(row: Row) -> list[str]:
    milliseconds = [number(row[name] * 1e3) for name in ("least_s", "median_s")]
    return [*milliseconds, *_ratios(row, "{:.2f}").split("; ")]


def _ratios(row: Row, shown: str) -> str:
    names = ("least_ratio", "median_ratio", "cpu_ratio")
    return "; ".join(shown.format(row[name]) for name in names)


def _named(row: Row) -> str:
    settings = dict(row.get("settings", {}))
    how = ", as published" if settings.pop("as_published", False) else ""
    shown = "".join(f", {name}={value}" for name, value in settings.items())
    return f"{row['method']}{how}{shown}"


def _largest(rows: list[Row]) -> int:
    return max(int(row["n_annotators"]) for row in rows)


def _smallest(rows: list[Row]) -> int:
    return min(int(row["n_annotators"]) for row in rows)
