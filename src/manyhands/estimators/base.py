"""What every estimator of a crowd shares: its method and settings, its features, its files."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from manyhands.annotations import Annotations, Kind
from manyhands.annotations.frames import make_frame
from manyhands.core.arrays import AnyArray, Floats
from manyhands.core.errors import SettingError
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import TrainingSettings
from manyhands.estimators.feature_encoder import Callback, FeatureEncoder, Reader
from manyhands.estimators.features import as_inputs, feature_names
from manyhands.estimators.fitting import Fitting
from manyhands.estimators.new_network import takes_codes
from manyhands.estimators.scaling import fit_scaling
from manyhands.estimators.text_encoder import TextEncoder, are_texts
from manyhands.methods import METHODS, EndToEnd, Method, Problem, RegressionEndToEnd
from manyhands.noise import AnnotatorModel


class CrowdEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of one kind of labels; each names its own settings, as scikit-learn asks."""

    kind: ClassVar[Kind]
    task: ClassVar[str]  # what its methods must be for
    noise_: AnnotatorModel

    def annotators_frame(self) -> Any:
        """A row per annotator: quality, its interval, n_annotations, and what the model adds."""
        check_is_fitted(self, "noise_")
        return make_frame(self.annotator_columns_, self.crowd_.backend)

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder: safetensors and json. `mh.load` reads it."""
        from manyhands.estimators.files import save_model

        check_is_fitted(self, "noise_")
        save_model(self, folder)

    def _train(
        self,
        features: Any,
        inputs: Inputs,
        annotations: Annotations,
        truth: AnyArray | None,
        resume: bool,
        callback: Callback | None,
        read: Callable[[Tensor], Floats],
        words: Reader | None = None,
    ) -> Inputs:
        """Train, and keep what came of it; the inputs as the network saw them.

        `read` makes predictions of what the network gives, for those who watch.
        """
        if resume and self.checkpoint is None:
            raise SettingError("checkpoint must be a folder to resume from; got None")
        method = self._method()
        settings = self._settings(method, annotations)
        scaling = fit_scaling(inputs, self._scale(method))
        inputs = inputs if scaling is None else scaling.apply(inputs)
        problem = Problem(annotations=annotations, shape=inputs.seen_shape, truth=truth)
        codes = takes_codes(self.network)
        sight = FeatureEncoder(inputs.shape, feature_names(features), scaling, codes, words)
        look = None if callback is None else sight.epoch_callback(callback, settings, read)
        module, outcome = Fitting(self, method, inputs, settings, resume, look).run(problem)
        # Nothing is set before training is done: where it fails, an older fit stays whole.
        self.network_, self.noise_, self.scaling_ = module.network, module.noise, scaling
        self.settings_, self.shape_, self.words_ = settings, inputs.shape, words
        self.history_, self.epoch_ = outcome.history, outcome.epoch
        self.search_history_ = outcome.search
        self.crowd_ = annotations[:0]  # its names only
        self.n_features_in_ = int(np.prod(inputs.shape))
        self.__dict__.pop("feature_names_in_", None)
        if sight.names is not None:
            self.feature_names_in_ = sight.names
        return inputs

    def _read(self, features: Any) -> tuple[Inputs, Reader | None]:
        """Features to learn from as the loop takes them; of texts, the words are learnt first."""
        if not are_texts(features):
            return as_inputs(features, keep_codes=takes_codes(self.network)), None
        reader = TextEncoder.learn(
            features, self.word_vectors, tokens=False, fixed=self.freeze_embeddings,
            max_tokens=self.max_tokens, seed=self.seed,
        )  # fmt: skip
        return reader(features), reader

    def _method(self) -> Method:
        method = METHODS[self.method] if isinstance(self.method, str) else self.method
        if not isinstance(method, Method):
            raise SettingError(f"method must be a name of METHODS or a Method; got {method!r}")
        if self.task not in method.task:
            got = self.method if isinstance(self.method, str) else type(method).__name__
            fit = ", ".join(name for name, each in METHODS.items() if self.task in each.task)
            raise SettingError(
                f"method must be for {self.task}; got {got}, which is for "
                f"{' and '.join(method.task)}; there are {fit}"
            )
        if not isinstance(self.noise, Mapping | None):
            raise SettingError(f"noise must be settings by name, or None; got {self.noise!r}")
        only = method.only_network
        if only is not None and self.network not in (None, only):
            raise SettingError(f"{self.method} is for the network {only!r}; leave network out")
        if isinstance(method, EndToEnd | RegressionEndToEnd):
            return method.with_settings(self.noise, self.init)
        if self.noise or self.init not in (None, "own"):
            raise SettingError(f"noise and init are for noise models; {self.method} has none")
        return method

    def _settings(self, method: Method, annotations: Annotations) -> TrainingSettings:
        given = {each.name: getattr(self, each.name, None) for each in fields(TrainingSettings)}
        return method.settled(given, annotations)

    def _scale(self, method: Method) -> str:
        as_they_are = takes_codes(self.network) or method.takes_counts
        return "none" if self.scale == "auto" and as_they_are else str(self.scale)

    def _sight(self) -> FeatureEncoder:
        check_is_fitted(self, "network_")
        names = getattr(self, "feature_names_in_", None)
        codes = takes_codes(self.network)
        return FeatureEncoder(self.shape_, names, self.scaling_, codes, self.words_)

    def _outputs(self, features: Any) -> Tensor:
        """What the network gives for every row, in double precision."""
        return self._sight().outputs(features, self.network_, self._home(), self.settings_)

    def _home(self) -> torch.device:
        return next(self.noise_.parameters()).device  # a network may have none
