"""The page of training methods, made from METHODS; `write_pages.py` writes it."""

import manyhands as mh

PAGE = "training-methods.md"
HEAD = """\
# Training methods

Every method of training a network from crowd labels, by the name that
`CrowdClassifier(method=...)`, `manyhands train --method` and `manyhands compare --methods` take. f
are the class probabilities of the network, y is the label of annotator a, K is the number of
classes and M the number of groups. *Cost* is the cost of an epoch; it grows with the number of
labels, not with the size of the crowd. The accuracy of every method on real crowds is on
[a page of the results](results/ours-every-method.md).

| name | label model | cost | use it when | source |
| --- | --- | --- | --- | --- |
"""
FOOT = """
Two-stage methods take any aggregator, with settings of its own:
`CrowdClassifier(method=TwoStage(DawidSkene(prior_strength=5)))` from `manyhands.training` and
`manyhands.aggregation`. Noise models take theirs by name:
`CrowdClassifier(method="conal", noise={"omega": 0.0})`.

```{eval-rst}
.. autoclass:: manyhands.CrowdClassifier
   :exclude-members: set_fit_request, set_score_request
.. autoclass:: manyhands.training.TrainingSettings
   :no-members:
.. autoclass:: manyhands.training.EndToEnd
   :no-members:
.. autoclass:: manyhands.training.TwoStage
   :no-members:
```
"""


def page():
    """The page, a row per method."""
    rows = [
        f"| `{name}` | {_cell(method.about.equation)} | {_cell(method.about.cost)} | "
        f"{_cell(method.about.when)} | {_cell(method.about.source)} |"
        for name, method in mh.METHODS.items()
    ]
    return HEAD + "\n".join(rows) + "\n" + FOOT


def _cell(text):
    return text.replace("|", "\\|")
