"""Methods of labels that are sets of classes."""

from dataclasses import dataclass

from torch import nn

from manyhands.aggregation import Consensus, MultilabelMixture
from manyhands.annotations import Annotations
from manyhands.core.arrays import Floats
from manyhands.core.errors import SettingError
from manyhands.engine.multilabel import MultilabelModule
from manyhands.engine.settings import TrainingSettings
from manyhands.methods.base import About, Method, Paper, Problem
from manyhands.methods.end_to_end import (
    FAST,
    LARGE_TABLE,
    NO_WARM_UP,
    NoiseMethod,
    uses_sparse,
)
from manyhands.methods.two_stage import TwoStage
from manyhands.noise import MultilabelLayer


@dataclass(frozen=True)
class MultilabelEndToEnd(NoiseMethod):
    """Train the network through a `MultilabelLayer`, which learns the annotators with it.

    The consensus that annotators are initialised from is that of `MultilabelMixture`.
    """

    tasks = ("multilabel",)

    def make_module(
        self, network: nn.Module, problem: Problem, settings: TrainingSettings
    ) -> MultilabelModule:
        """See `NetworkMethod.make_module`."""
        ann = problem.annotations
        large = ann.n_annotators * ann.n_classes > LARGE_TABLE
        layer = self._layer(ann, uses_sparse(settings, large))
        layer.set_label_counts(ann.labels_per_annotator)
        if self.init != "own":
            layer.init_from_confusions(_confusions(problem.once("consensus of sets", _fit)))
        return MultilabelModule(network, layer, problem.task.targets(ann))

    def _layer(self, ann: Annotations, sparse: bool) -> MultilabelLayer:
        for name in self.settings:
            if name not in MultilabelLayer.settings:
                known = ", ".join(MultilabelLayer.settings)
                raise SettingError(f"the noise model has no setting {name!r}; known: {known}")
        try:
            return MultilabelLayer(ann.n_annotators, ann.n_classes, sparse=sparse, **self.settings)
        except TypeError as error:
            raise SettingError(f"noise: a setting is of the wrong type: {error}") from error


def _fit(annotations: Annotations) -> Consensus:
    return MultilabelMixture().fit(annotations)


def _confusions(consensus: Consensus) -> Floats:
    assert consensus.confusion is not None, "the model has sensitivities and specificities"
    return consensus.confusion


_NOTE = "In none of the papers, which have no sets of classes; trained as networks of classes."
_TWO_STAGE = Paper(preset="p0/labelme", model={"guarded": False}, note=_NOTE)
ROWS: dict[str, Method] = {
    "multilabel-layer": MultilabelEndToEnd(
        "multilabel-layer",
        {},
        "auto",
        defaults=FAST,
        paper=Paper(preset="p0/labelme", model={"settings": {}, "init": "own"}, note=_NOTE),
        about=About(
            source="ours; a crowd layer per class, with what classes of an annotator share",
            equation="P(k in y | a) = s(f_k) s(r_ak1) + s(-f_k) s(-r_ak0), s the sigmoid",
            cost="a plain epoch + 2 K per label",
            when="labels that are sets of classes, annotators of different skill",
        ),
    ),
    "two-stage-multilabel-mixture": TwoStage(
        "multilabel-mixture",
        defaults=NO_WARM_UP,
        paper=_TWO_STAGE,
        about=About(
            source="ours; Dawid-Skene for sets whose classes go together",
            equation="cross-entropy of every s(f_k) against the consensus of sets",
            cost="one aggregation, then a plain epoch",
            when="labels that are sets; three of them per item or more",
        ),
    ),
    "two-stage-multilabel-majority": TwoStage(
        "multilabel-majority",
        hard=True,
        defaults=NO_WARM_UP,
        paper=_TWO_STAGE,
        about=About(
            source="the majority of every class",
            equation="cross-entropy of every s(f_k) against the majority of the class",
            cost="one aggregation, then a plain epoch",
            when="the baseline for sets: many labels per item and annotators of equal skill",
        ),
    ),
}
