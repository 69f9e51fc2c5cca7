"""Linear classifiers from crowd labels, by convex optimisation and EM rather than by epochs."""

from manyhands.methods.linear.kernel_map import KernelMap, fit_kernel_map
from manyhands.methods.linear.logistic import LogisticFit, fit_logistic
from manyhands.methods.linear.ma_lr import AttentiveFit, fit_ma_lr
from manyhands.methods.linear.personal import PersonalFit, fit_personal
from manyhands.methods.linear.raykar import RaykarFit, fit_raykar
from manyhands.methods.linear.weights import LinearWeights

__all__ = [
    "AttentiveFit",
    "KernelMap",
    "LinearWeights",
    "LogisticFit",
    "PersonalFit",
    "RaykarFit",
    "fit_kernel_map",
    "fit_logistic",
    "fit_ma_lr",
    "fit_personal",
    "fit_raykar",
]
