"""What an estimator gives its method to fit."""

from dataclasses import dataclass

from manyhands.annotations import Annotations
from manyhands.engine.features import FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.task import CrowdModule, FittedModel, TargetScaler
from manyhands.methods import Method, Problem
from manyhands.methods.base import FitPlan


@dataclass(frozen=True)
class Fitting:
    """What an estimator gives its method to fit, and how features and labels were encoded."""

    method: Method
    encoder: FeatureEncoder
    inputs: Inputs
    annotations: Annotations
    scaler: TargetScaler
    problem: Problem
    plan: FitPlan

    def model(self, module: CrowdModule) -> FittedModel:
        """The model with the network and the annotators of a module."""
        crowd, settings = self.problem.annotations[:0], self.plan.settings  # its names only
        return FittedModel(module.network, module.noise, self.encoder, settings, crowd, self.scaler)
