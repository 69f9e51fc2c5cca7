"""The majority: every label has the same weight."""

from dataclasses import dataclass
from typing import Any, ClassVar

from manyhands.aggregation.base import ClassAggregator, Parameters
from manyhands.aggregation.em import EMRun
from manyhands.aggregation.evidence import Evidence, label_distribution, majority_posterior
from manyhands.core.arrays import Floats


@dataclass(frozen=True)
class MajorityParameters(Parameters):
    """How often each class was said of all items together."""

    label_distribution_k: Floats


@dataclass(frozen=True, kw_only=True)
class Majority(ClassAggregator[MajorityParameters]):
    """The probability of a class is its share of the item's labels.

    ::

        p(z_i = k) = #{n of i: y_n = k} / #{n of i}

    An item without labels gets the label distribution of the whole crowd. A tie goes to the class
    that is more probable over all items, then to the first; the column `tied` marks ties.

    >>> from manyhands.annotations import Annotations
    >>> ann = Annotations.from_arrays([1, 1, 1], ["u", "v", "w"], ["cat", "dog", "cat"])
    >>> Majority().fit(ann).labels.tolist()
    ['cat']
    """

    name: ClassVar[str] = "majority"
    parameters_type: ClassVar[type[Parameters]] = MajorityParameters
    has_device_pass: ClassVar[bool] = True

    def fit_parameters(
        self, evidence: Evidence, start: MajorityParameters | None = None
    ) -> EMRun[MajorityParameters]:
        """Fit the model, from its own initial parameters or from the given ones."""
        return EMRun(MajorityParameters(label_distribution(evidence)))

    def estimate_items(self, evidence: Evidence, parameters: MajorityParameters) -> dict[str, Any]:
        """The fields of a `Consensus` that describe items, under these parameters."""
        if self.device == "cpu":
            posterior_ik = majority_posterior(evidence, parameters.label_distribution_k)
        else:
            from manyhands.aggregation.kernels import device_labels as there

            labels = there.device_labels(evidence.annotations)
            posterior_ik = there.to_host(labels.majority(evidence, parameters.label_distribution_k))
        return {"probabilities": posterior_ik}
