"""The page of training methods, made from METHODS; `write_pages.py` writes it."""

import manyhands as mh

PAGE = "reference/training-methods.md"
HEAD = """\
# Training methods

Every method of training a network from crowd labels, by the name that
`CrowdClassifier(method=...)`, `manyhands train --method` and `manyhands compare --methods` take.
f are the class probabilities of the network, y is the label of annotator a, K is the number of
classes, M the number of groups. *Cost* is per epoch; it grows with the number of labels, not with
the size of the crowd. The accuracy of every method on real crowds, under one protocol for all,
is on [its own page](../results/ours-comparison.md), and [which method
when](../how-to/which-method.md) summarises it.

| name | tasks | label model | cost | use it when | source |
| --- | --- | --- | --- | --- | --- |
"""
FOOT = """
Two-stage methods take any aggregator with its own settings:
`CrowdClassifier(method=TwoStage(DawidSkene(prior_strength=5)))`, with `TwoStage` from
`manyhands.methods` and `DawidSkene` from `manyhands.aggregation`. Settings of a noise model are
given by name: `CrowdClassifier(method="conal", noise={"omega": 0.0})`. The classes are on the page
[methods](methods.md), the estimators on the page [estimators](estimators.md).
"""


def page():
    """The page, a row per method."""
    rows = [
        f"| `{name}` | {', '.join(method.tasks)} | {_cell(method.about.equation)} | "
        f"{_cell(method.about.cost)} | {_cell(method.about.when)} | {_cell(method.about.source)} |"
        for name, method in mh.METHODS.items()
    ]
    return HEAD + "\n".join(rows) + "\n" + FOOT


def _cell(text):
    return text.replace("|", "\\|")
