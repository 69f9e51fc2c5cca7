"""Linear classifiers from crowd labels, by convex optimisation and EM rather than by epochs."""

from manyhands.training.linear.attentive import AttentiveFit, fit_attentive
from manyhands.training.linear.kernel_map import KernelMap, fit_kernel_map
from manyhands.training.linear.logistic import LogisticFit, fit_logistic
from manyhands.training.linear.personal import PersonalFit, fit_personal
from manyhands.training.linear.raykar import RaykarFit, fit_raykar
from manyhands.training.linear.weights import LinearWeights

__all__ = [
    "AttentiveFit",
    "KernelMap",
    "LinearWeights",
    "LogisticFit",
    "PersonalFit",
    "RaykarFit",
    "fit_attentive",
    "fit_kernel_map",
    "fit_logistic",
    "fit_personal",
    "fit_raykar",
]
