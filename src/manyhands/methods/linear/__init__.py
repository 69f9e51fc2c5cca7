"""Linear classifiers from crowd labels, by convex optimisation and EM instead of epochs."""

from manyhands.methods.base import Method
from manyhands.methods.linear import kernel_machine, ma_lr, personal, raykar
from manyhands.methods.linear.kernel_machine import (
    KernelClassifier,
    KernelMap,
    KernelPersonal,
    fit_kernel_map,
)
from manyhands.methods.linear.logistic import LogisticFit, fit_logistic
from manyhands.methods.linear.ma_lr import MaLR, MaLRFit, fit_ma_lr
from manyhands.methods.linear.personal import PersonalClassifiers, PersonalFit, fit_personal
from manyhands.methods.linear.raykar import Raykar, RaykarFit, fit_raykar
from manyhands.methods.linear.weights import LinearWeights

ROWS: dict[str, Method] = {**raykar.ROWS, **ma_lr.ROWS, **personal.ROWS, **kernel_machine.ROWS}

__all__ = [
    "ROWS",
    "KernelClassifier",
    "KernelMap",
    "KernelPersonal",
    "LinearWeights",
    "LogisticFit",
    "MaLR",
    "MaLRFit",
    "PersonalClassifiers",
    "PersonalFit",
    "Raykar",
    "RaykarFit",
    "fit_kernel_map",
    "fit_logistic",
    "fit_ma_lr",
    "fit_personal",
    "fit_raykar",
]
