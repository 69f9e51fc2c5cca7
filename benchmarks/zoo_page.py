"""The page on many simulated crowds, made from the recorded rows."""

import numpy as np

from benchmarks.benchmark import Row, commands_of
from benchmarks.numbers import number
from benchmarks.zoo_crowds import KINDS, WEIGHTS
from manyhands.core.arrays import Floats
from manyhands.experiments import code_block, markdown_table

PAGE = "zoo.md"
BASE = "majority"
SHOWN = (BASE, "dawid-skene", "annotator-types")
LOOKED_AT = SHOWN[-1]
WORST = 15
GROUPS = 5


def make_page(rows: list[Row]) -> str:
    """The page as Markdown."""
    crowds = [row for row in rows if row["kind"] == "crowd"]
    machine = next(row for row in rows if row["kind"] == "machine")
    worst = sorted(crowds, key=lambda row: _gain(row, LOOKED_AT))[:WORST]
    seeds = [row["seed"] for row in crowds]
    sections = [
        _INTRODUCTION.format(
            crowds=f"{len(crowds):,}",
            seeds=f"{min(seeds)} to {max(seeds)}",
            command=code_block(commands_of(rows)),
        ),
        _drawn(crowds),
        _scores(crowds, machine),
        _worst(worst, crowds),
        _LOOK.format(seed=worst[0]["seed"], method=LOOKED_AT),
        _difficulty(crowds),
    ]
    return "\n\n".join(sections) + "\n"


def _drawn(crowds: list[Row]) -> str:
    silent = [row["silent"] for row in crowds]
    body = [
        [kind, _HOW[kind], str(weight), _percent(weight / sum(WEIGHTS))]
        for kind, weight in zip(KINDS, WEIGHTS, strict=True)
    ]
    kinds = markdown_table(["kind", "how they label", "parameter", "mean share"], body, left=2)
    median, most = _percent(np.median(silent)), _percent(max(silent))
    return _DRAWN.format(kinds=kinds, median=median, most=most)


def _scores(crowds: list[Row], machine: Row) -> str:
    """One row per aggregator, the best mean accuracy first."""
    accuracy = {name: _column(crowds, "accuracy", name) for name in crowds[0]["accuracy"]}
    best = np.max(list(accuracy.values()), axis=0)
    head = [
        "aggregator", "mean accuracy", f"points above {BASE}", "mean regret, points",
        "> 1 point below", "> 10 points below", "worst crowd, points", "calibration error",
        "log loss", "ms",
    ]  # fmt: skip
    body = []
    for name in sorted(accuracy, key=lambda name: -accuracy[name].mean()):
        gain = 100 * (accuracy[name] - accuracy[BASE])
        body.append(
            [
                f"`{name}`",
                f"{accuracy[name].mean():.4f}",
                "-" if name == BASE else _with_error(gain),
                f"{100 * (best - accuracy[name]).mean():.2f}",
                _percent((gain < -1).mean(), 1),
                _percent((gain < -10).mean(), 1),
                "-" if name == BASE else f"{gain.min():+.1f}",
                f"{_column(crowds, 'calibration_error', name).mean():.3f}",
                f"{_column(crowds, 'log_loss', name).mean():.3f}",
                number(1e3 * float(np.median(_column(crowds, "seconds", name)))),
            ]
        )
    table = markdown_table(head, body, left=1)
    return _SCORES.format(base=BASE, table=table, processor=machine["processor"])


def _worst(worst: list[Row], crowds: list[Row]) -> str:
    """The crowds where an aggregator does worst in comparison with the majority."""
    head = [
        "seed", "K", "items", "labels per item", "labels per annotator",
        f"{' / '.join(KINDS)}, %", "hard, %", "Fleiss' kappa",
        BASE, LOOKED_AT, "points", "best of all",
    ]  # fmt: skip
    body = [
        [
            *(str(row[name]) for name in ("seed", "n_classes", "n_items", "labels_per_item")),
            f"{row['labels_per_annotator']:.1f}",
            " / ".join(f"{100 * share:.0f}" for share in row["shares"]),
            f"{100 * row['hard']:.0f}",
            f"{row['fleiss_kappa']:.2f}",
            *(f"{row['accuracy'][name]:.3f}" for name in (BASE, LOOKED_AT)),
            f"{_gain(row, LOOKED_AT):+.1f}",
            f"{max(row['accuracy'].values()):.3f}",
        ]
        for row in worst
    ]
    return _WORST.format(
        method=LOOKED_AT,
        base=BASE,
        count=len(worst),
        table=markdown_table(head, body, left=0),
        here=f"{np.median([row['fleiss_kappa'] for row in worst]):.2f}",
        everywhere=f"{np.median([row['fleiss_kappa'] for row in crowds]):.2f}",
    )


def _difficulty(crowds: list[Row]) -> str:
    """Mean accuracies in groups of crowds, by the accuracy of the majority."""
    ordered = sorted(crowds, key=lambda row: row["accuracy"][BASE])
    body = []
    for places in np.array_split(np.arange(len(ordered)), min(GROUPS, len(ordered))):
        group = [ordered[place] for place in places]
        edges = [group[place]["accuracy"][BASE] for place in (0, -1)]
        body.append(
            [
                f"{edges[0]:.3f} to {edges[1]:.3f}",
                f"{len(group):,}",
                f"{np.median([row['fleiss_kappa'] for row in group]):.2f}",
                *(f"{_column(group, 'accuracy', name).mean():.3f}" for name in SHOWN),
                *(_with_error([_gain(row, name) for row in group]) for name in SHOWN[1:]),
            ]
        )
    head = [f"accuracy of {BASE}", "crowds", "median kappa", *SHOWN]
    head += [f"{name}, points above {BASE}" for name in SHOWN[1:]]
    return _DIFFICULTY.format(base=BASE, table=markdown_table(head, body, left=1))


def _column(crowds: list[Row], score: str, name: str) -> Floats:
    return np.array([row[score][name] for row in crowds])


def _gain(row: Row, name: str) -> float:
    """Points above the majority."""
    return 100 * float(row["accuracy"][name] - row["accuracy"][BASE])


def _with_error(values: Floats | list[float]) -> str:
    """A mean with its standard error, if there are several values."""
    mean = f"{np.mean(values):+.2f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


_INTRODUCTION = """# Many simulated crowds

Every aggregator of classes, with its default settings, on {crowds} simulated crowds (seeds
{seeds}). The crowds differ in size, in the number of classes, in who annotates and in how
annotators err. All are drawn from one distribution, described below; it is meant to be broad, not
typical. [Accuracy on real labels](accuracy.md) is on another page. The numbers come from the
command

{command}

and are recorded in `docs/results/records`."""

_HOW = {
    "expert": "right with a probability from a beta distribution of strength 20; its mean, the same"
    " for all experts of the crowd, is uniform between 0.8 and 0.95",
    "average": "the same with strength 12 and a mean between 0.4 and 0.75",
    "random": "labels do not depend on the item: half of these annotators use all classes equally,"
    " the others have class probabilities of their own, from a Dirichlet distribution with"
    " parameter 3",
    "constant": "98 % of the labels are one class, each annotator's own; the other 2 % are uniform"
    " over all classes",
    "adversarial": "wrong with a probability uniform between 0.5 and 0.9, uniformly over the other"
    " classes",
}

_DRAWN = """## What is drawn

"Log-uniform" means that the logarithm is drawn uniformly: 10 to 20 is as probable as 50 to 100.
Everything is drawn anew for every crowd.

**Size.** The number of classes K is 2 to 10 and the number of labels per item is 2 to 8, all
equally probable. The number of items is log-uniform between 150 and 2,000. The number of labels per
annotator is log-uniform between 4 and 100; it determines the number of annotators, who are at
least one more than the labels of an item.

**Who labels what.** 70 % of the items have exactly the labels per item of the crowd. The others
have a Poisson number with the same mean, at least one label, and no more than there are annotators.
Every annotator has a weight from a gamma distribution whose shape is 0.5, 2 or 20 for the crowd,
equally probable: very uneven, uneven or almost even. The annotators of an item are drawn without
replacement in proportion to their weights. Some annotators are never drawn: {median} in the median
crowd, {most} at most. Labels per annotator are means that include them.

**Classes.** The class probabilities come from a Dirichlet distribution with the same parameter for
all classes, log-uniform between 0.8 (skewed) and 30 (almost even). No probability is below 0.005
before they are scaled to sum to one.

**Annotators.** Everyone is of one of five kinds. The shares of the kinds come from a Dirichlet
distribution with the parameters in the table.

{kinds}

Experts and average annotators are right at least as often as chance (1 / K). Then normal noise with
standard deviation 0.05 is added for every true class, and the result is kept between 0.02 and 0.99.
With K = 2, many of the average annotators are thus no better than chance. Adversarial annotators
are worse than chance with two classes. With more classes chance is wrong more often: with K = 10 it
is wrong in 90 % of the labels, so that all adversarial annotators are at least as good as chance.

**Mistakes.** When experts and average annotators are wrong, the wrong class depends on the true
class, with probabilities from a Dirichlet distribution whose parameter is log-uniform between 0.3
(almost always the same wrong class) and 10 (almost any). In 40 % of the crowds all of them share
these probabilities, in the others everyone has their own. With K = 2 there is only one wrong class.

**Hard items.** In a third of the crowds there are none. In another third each item is hard with
probability 0.1, in the last with probability 0.25. A hard item resembles one wrong class, drawn
uniformly and the same for everybody. Each of its labels is given, with a probability that is
uniform between 0.2 and 0.6 for the crowd, as if that class were the true one.

Without hard items, labels are independent given the true class, as `dawid-skene` and most other
aggregators assume. Spammers are drawn much as `annotator-types` assumes. On crowds that are made
otherwise, the order of the aggregators may be another."""

_SCORES = """## All crowds

{table}

The aggregators are ordered by mean accuracy. Differences are in points of accuracy, per crowd; ± is
the standard error of their mean. *Regret* is the distance to the aggregator that is best on the
crowd, which one knows only with the truth. The next two columns are the shares of crowds on which
the aggregator is more than 1 or more than 10 points below `{base}`. *Worst crowd* is the lowest
difference from `{base}`.

The calibration error is the mean difference between confidence and accuracy over ten bins of
confidence. It and the log loss are means over crowds. The log loss takes a probability of 0 as the
smallest positive number, which costs 708 per item. `{base}` gives 0 to all classes without a label,
so its log loss mostly counts the items whose true class nobody named.

*ms* is the median processor time of a fit in milliseconds, on one thread ({processor})."""

_WORST = """## The worst crowds for {method}

The {count} crowds where `{method}` does worst in comparison with `{base}`:

{table}

Shares of annotators are those that were drawn from the Dirichlet distribution; *hard* is the share
of hard items. *Best of all* is the highest accuracy of any aggregator. Fleiss' kappa is how often
two labels of an item agree, above chance: 0 is chance, 1 is perfect. Its median is {here} on these
crowds and {everywhere} on all crowds."""

_LOOK = """To look at one of them, in the folder of the repository:

```python
import manyhands as mh
from benchmarks.zoo_crowds import KINDS, draw_crowd

crowd = draw_crowd({seed})
print(crowd.about)
print(crowd.annotations)
consensus = mh.aggregate(crowd.annotations, method="{method}")
print((consensus.labels == crowd.truth).mean())
print([KINDS[kind] for kind in crowd.kind_a[:10]])  # of the first ten annotators
```"""

_DIFFICULTY = """## Easy and difficult crowds

The crowds in five groups of equal size, ordered by the accuracy of `{base}`:

{table}

± is the standard error of the mean."""
