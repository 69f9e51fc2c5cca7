"""The table of methods, in the order of the documentation."""

from manyhands.core.settings import Registry
from manyhands.methods import (
    annot_mix,
    coinnet,
    crowdlab,
    doctor_net,
    em,
    em_regression,
    end_to_end,
    max_mig,
    mixture,
    multilabel,
    ordinal,
    semi_lfc,
    two_stage,
)
from manyhands.methods.base import Method
from manyhands.methods.crf import bsc_crf, crf_ma
from manyhands.methods.cross_fit import method as cross_fit
from manyhands.methods.linear import kernel_machine, ma_lr, personal, raykar
from manyhands.methods.topics import classification, regression

_ROWS: dict[str, Method] = {
    **two_stage.ROWS,
    **crowdlab.ROWS,
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
    **coinnet.ROWS,
    **annot_mix.ROWS,
    **ordinal.ROWS,
    **mixture.ROWS,
    **semi_lfc.ROWS,
    **cross_fit.ROWS,
    **crf_ma.ROWS,
    **bsc_crf.ROWS,
    **regression.ROWS,
    **multilabel.ROWS,
}
_LAST: dict[tuple[str, ...], int] = {("regression",): 1, ("multilabel",): 2}
METHODS: Registry[Method] = Registry(
    "method",
    {name: _ROWS[name] for name in sorted(_ROWS, key=lambda name: _LAST.get(_ROWS[name].tasks, 0))},
)
