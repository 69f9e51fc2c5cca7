"""Write the page of training methods from METHODS: python docs/method_table.py."""

from pathlib import Path

import manyhands as mh

PAGE = Path(__file__).parent / "training-methods.md"
HEAD = """\
# Training methods

Every way of training a network from a crowd, by the name that `CrowdClassifier(method=...)`,
`manyhands train --method` and `manyhands compare --methods` take. f are the class probabilities of
the network, y is the label that annotator a gives, K the number of classes, M of groups. *Cost* is
per epoch; it follows the labels, never the size of the crowd. What the methods reach on real crowds
is on [the page of results](training-results.md).

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


if __name__ == "__main__":
    PAGE.write_text(page())
