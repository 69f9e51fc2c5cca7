"""The table of methods, in the order of the documentation."""

from manyhands.core.settings import Registry
from manyhands.methods import (
    doctor_net,
    em,
    em_regression,
    end_to_end,
    max_mig,
    mixture,
    semi_lfc,
    two_stage,
)
from manyhands.methods.base import Method
from manyhands.methods.crf import crf_ma
from manyhands.methods.linear import kernel_machine, ma_lr, personal, raykar
from manyhands.methods.topics import classification, regression

_ROWS: dict[str, Method] = {
    **two_stage.ROWS,
    **em.ROWS,
    **raykar.ROWS,
    **ma_lr.ROWS,
    **personal.ROWS,
    **kernel_machine.ROWS,
    **doctor_net.ROWS,
    **max_mig.ROWS,
    **classification.ROWS,
    **em_regression.ROWS,
    **end_to_end.ROWS,
    **mixture.ROWS,
    **semi_lfc.ROWS,
    **crf_ma.ROWS,
    **regression.ROWS,
}
METHODS: Registry[Method] = Registry(
    "method",
    {
        name: _ROWS[name]
        for name in sorted(_ROWS, key=lambda name: _ROWS[name].tasks == ("regression",))
    },
)
