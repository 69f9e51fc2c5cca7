"""Methods of `METHODS` with the settings that a row of a table asks for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from manyhands.aggregation import AGGREGATORS
from manyhands.core.errors import SettingError
from manyhands.estimators import CrowdClassifier
from manyhands.methods import METHODS, TwoStage
from manyhands.selection import Trial, fit_to_trial

KINDS = ("noise", "aggregator", "training")  # of settings


def fit_method(
    trial: Trial, method: str, seed: int, settings: Mapping[str, Any], **fit: Any
) -> CrowdClassifier:
    """Train a method by its name on the labelled items of a trial; `fit` goes to `fit`.

    `settings` are by kind: `noise` for its noise model, `aggregator` for the first of two stages,
    `training` for all else that `CrowdClassifier` takes.
    """
    unknown = sorted(set(settings) - set(KINDS))
    if unknown:
        raise SettingError(f"settings of a run are {', '.join(KINDS)}; got {unknown[0]!r}")
    given = dict(settings.get("training", {}))
    if "noise" in settings:
        given["noise"] = dict(settings["noise"])
    if "aggregator" not in settings:
        return fit_to_trial(trial, method, seed, given, **fit)
    stages = METHODS[method]
    if not isinstance(stages, TwoStage) or not isinstance(stages.aggregator, str):
        raise SettingError(f"aggregator is for two-stage methods; got {method}")
    made = AGGREGATORS[stages.aggregator](**settings["aggregator"])
    return fit_to_trial(trial, replace(stages, aggregator=made), seed, given, **fit)
