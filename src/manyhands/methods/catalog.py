"""The table of methods, in the order of the documentation."""

from manyhands.core.settings import Registry
from manyhands.methods import (
    crf,
    doctor_net,
    em,
    em_regression,
    end_to_end,
    linear,
    max_mig,
    mixture,
    semi_lfc,
    topics,
    two_stage,
)
from manyhands.methods.base import Method

_ROWS: dict[str, Method] = {
    **two_stage.ROWS,
    **em.ROWS,
    **linear.ROWS,
    **doctor_net.ROWS,
    **max_mig.ROWS,
    **topics.ROWS,
    **end_to_end.ROWS,
    **mixture.ROWS,
    **semi_lfc.ROWS,
    **crf.ROWS,
    **em_regression.ROWS,
}
_ORDER = (
    "two-stage-majority",
    "two-stage-soft-majority",
    "two-stage-dawid-skene",
    "two-stage-glad",
    "two-stage-worker-clustering",
    "truth",
    *em.ROWS,
    *linear.ROWS,
    *doctor_net.ROWS,
    *max_mig.ROWS,
    "ma-slda-c",
    "crowd-layer-vw",
    "crowd-layer-vb",
    "crowd-layer-vwb",
    "crowd-layer-mw",
    "crowd-layer-over",
    "softmax-crowd-layer",
    "speelfc",
    "speelfc-d",
    "trace-reg",
    "geocrowdnet",
    "conal",
    "conal-groups",
    "mixture-e2e",
    *mixture.ROWS,
    *semi_lfc.ROWS,
    *crf.ROWS,
    "two-stage-mean",
    "two-stage-gaussian",
    *em_regression.ROWS,
    "crowd-layer-s",
    "crowd-layer-b",
    "crowd-layer-sb",
    "ma-slda-r",
)
METHODS: Registry[Method] = Registry(
    "method", {name: _ROWS[name] for name in dict.fromkeys((*_ORDER, *_ROWS))}
)
