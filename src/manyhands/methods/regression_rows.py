"""The part of the table of methods that is for numbers only."""

from manyhands.methods.base import About, Method, TwoStage
from manyhands.methods.regression import EMRegression, RegressionEndToEnd
from manyhands.methods.topics import regression as topic_regression

# As for classes: labels kept aside say how long to train, and annotators may learn fast.
_SEARCHED = {"epochs": 100, "validation_fraction": 0.15, "patience": 20, "refit": True}
_FAST = {**_SEARCHED, "warm_up": 5, "noise_learning_rate": 1e-2}
_ONCE = "one aggregation, then a plain epoch"
_GATHERED = "a plain epoch + a few numbers per label"

REGRESSION_ROWS: dict[str, Method] = {
    "two-stage-mean": TwoStage(
        "mean",
        defaults=_SEARCHED,
        about=About(
            source="DL-MEAN in Rodrigues and Pereira 2018",
            equation="squared error of f(x) against the mean label",
            cost=_ONCE,
            when="numbers; the baseline: many labels per item and people of equal skill",
        ),
    ),
    "two-stage-gaussian": TwoStage(
        "gaussian",
        defaults=_SEARCHED,
        about=About(
            source="Raykar et al. 2010, annotators without features",
            equation="squared error of f(x) against the mean of labels less bias, by precision",
            cost=_ONCE,
            when="numbers; several labels per item, people who rate high or low",
        ),
    ),
    "em-regression": EMRegression(
        defaults={**_SEARCHED, "warm_up": 5},
        about=About(
            source="DL-EM in Rodrigues and Pereira 2018, Raykar et al. 2010",
            equation="y ~ N(z, 1 / precision_a), z ~ N(f(x), v); f learns E[z], in turns",
            cost="a plain epoch + a pass of the network + a few numbers per label",
            when="numbers; several labels per item, people of different precision, none biased",
        ),
    ),
    "crowd-layer-s": RegressionEndToEnd(
        "S",
        defaults=_FAST,
        about=About(
            source="Rodrigues and Pereira 2018",
            equation="y ~ N(s_a z, 1 / precision_a), z ~ N(f(x), v)",
            cost=_GATHERED,
            when="numbers; people who use more or less of the scale",
        ),
    ),
    "crowd-layer-b": RegressionEndToEnd(
        "B",
        defaults=_FAST,
        about=About(
            source="Rodrigues and Pereira 2018",
            equation="y ~ N(z + b_a, 1 / precision_a), z ~ N(f(x), v)",
            cost=_GATHERED,
            when="numbers; people who rate high or low",
        ),
    ),
    "crowd-layer-sb": RegressionEndToEnd(
        "SB",
        defaults=_FAST,
        about=About(
            source="Rodrigues and Pereira 2018",
            equation="y ~ N(s_a z + b_a, 1 / precision_a), z ~ N(f(x), v)",
            cost=_GATHERED,
            when="numbers; many labels per annotator, scales of their own",
        ),
    ),
    **topic_regression.ROWS,
}
