"""Learners for labels that are numbers: what the epoch loop trains."""

from manyhands.training.numbers.doctors import NumberDoctorLearner
from manyhands.training.numbers.em import EMNumberLearner
from manyhands.training.numbers.learner import (
    NumberLearner,
    number_means,
    started,
    trained_on_numbers,
)

__all__ = [
    "EMNumberLearner",
    "NumberDoctorLearner",
    "NumberLearner",
    "number_means",
    "started",
    "trained_on_numbers",
]
