"""What all estimators share: settings, fitting, prediction, profiles and files."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from manyhands.aggregation import Consensus
from manyhands.annotations import (
    Annotations,
    Kind,
    Labels,
    recode_like,
)
from manyhands.annotations.columns import make_frame
from manyhands.core.arrays import Floats
from manyhands.core.errors import DataError, SettingError, SettingName
from manyhands.core.settings import Setting, describe, require, settings_of
from manyhands.engine.batches import EVALUATION_BATCH, CrowdData
from manyhands.engine.encoders import known_features
from manyhands.engine.features import FeatureEncoder
from manyhands.engine.inputs import Inputs
from manyhands.engine.settings import EstimatorOptions, TrainingOptions
from manyhands.engine.task import (
    CrowdModule,
    FittedModel,
    Task,
    predict_outputs,
    torch_threads,
)
from manyhands.engine.tasks import TASKS
from manyhands.estimators.choices import encoder_options, network_choice, training_options
from manyhands.estimators.fitting import Fitting
from manyhands.estimators.labels import images_to_learn, item_weights, labels_of_rows
from manyhands.estimators.notebooks import NotebookEstimator
from manyhands.methods import METHODS, Method, Problem
from manyhands.methods.base import FitPlan, MethodFit

Predict = Callable[[Any], Floats]
Callback = Callable[[Predict], Mapping[str, float]]


@dataclass(eq=False, repr=False)
class CrowdEstimator(EstimatorOptions, NotebookEstimator):
    """An estimator of one task.

    The settings are dataclass fields that are declared once, in `manyhands.engine.settings`:
    dataclasses make the constructor of them that scikit-learn reads.
    """

    task: ClassVar[str]
    kind: ClassVar[Kind]
    fits_many: ClassVar[bool] = False  # whether several seeds may be one program

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "task" in cls.__dict__:
            cls.kind = cls._task().kind

    @classmethod
    def _settings(cls) -> dict[str, Setting]:
        owner: Any = cls
        return settings_of(owner)

    @classmethod
    def _task(cls) -> Task:
        return TASKS[cls.task]

    def annotators_frame(self) -> Any:
        """A row per annotator: quality, its interval, n_annotations, and what the model adds."""
        check_is_fitted(self, "noise_")
        return make_frame(self.annotator_columns_, self.crowd_.backend)

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder as safetensors and JSON. `mh.load` reads it."""
        from manyhands.estimators.files import save_model

        check_is_fitted(self, "noise_")
        save_model(self, folder)

    def log_likelihood(self, X: Any, y: Labels, *, X_items: Iterable[Any] | None = None) -> float:
        """The mean log-probability, or log density, of these labels under network and annotators.

        On labels that were not trained on, it ranks models without any truth. Labels of unseen
        annotators do not count.
        """
        module, crowd = self._labels_of_known(X, y, X_items)
        with self._threads():
            found = module.log_likelihood(crowd)
        return found - math.log(self.scaler_.scale)  # the density in the unit of the labels

    def _fit(
        self,
        features: Any,
        labels: Labels,
        items: Iterable[Any] | None = None,
        *,
        truth: Any = None,
        sample_weight: Any = None,
        resume: bool = False,
        callback: Callback | None = None,
        start: FittedModel | None = None,
        classes: Annotations | None = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> None:
        """Train and set the fitted attributes; if training fails, the previous fit stays.

        `start` is a model to continue from. `classes` has the classes of labels that may come
        later, and `fixed` settings that replace those given.
        """
        fitting = self._prepare(
            features, labels, items, truth=truth, sample_weight=sample_weight, resume=resume,
            start=start, classes=classes, fixed=fixed,
        )  # fmt: skip
        if callback is not None:  # it sees the model after every epoch

            def show(module: CrowdModule) -> Mapping[str, float]:
                return callback(partial(self._predicted_by, fitting.model(module)))

            fitting = replace(fitting, plan=replace(fitting.plan, callback=show))
        fit = fitting.method.fit_model(fitting.inputs, fitting.problem, fitting.plan)
        self._take(fitting, fit)

    def _prepare(
        self,
        features: Any,
        labels: Labels,
        items: Iterable[Any] | None = None,
        *,
        truth: Any = None,
        sample_weight: Any = None,
        resume: bool = False,
        start: FittedModel | None = None,
        classes: Annotations | None = None,
        fixed: Mapping[str, Any] | None = None,
        encoded: tuple[FeatureEncoder, Inputs] | None = None,
    ) -> Fitting:
        """What the method is given to fit; see `_fit`. `encoded` are the features, if they were."""
        if resume and self.checkpoint is None:
            raise SettingError("checkpoint must be a folder to resume from; got None")
        self._check_settings()
        task, method = self._task(), self._resolve_method()
        if items is None and sample_weight is None:
            features = images_to_learn(
                features, labels, self.kind, everything=method.models_features
            )
        if start is None:
            encoder, inputs = encoded or method.fit_encoder(
                task, features, encoder_options(self, method)
            )
            annotations = labels_of_rows(labels, self.kind, len(inputs), items, features)
            annotations = annotations if classes is None else recode_like(annotations, classes)
        else:
            encoder = start.encoder
            inputs, annotations = self._encode(features, labels, items)
            method = method.configured(None, "own")  # a few labels make no consensus to start from
        task.require_learnable(annotations)
        scaler = task.fit_scaler(annotations) if start is None else start.scaler
        truths = task.truth_values(truth, annotations)
        truths = None if truths is None else scaler.transform_truth(truths)
        options = training_options(self, method) | dict(fixed or {})
        settings = method.resolve_settings(options, annotations)
        if sample_weight is not None and not method.takes_item_weights:
            raise SettingError(f"sample_weight is not for the method {self._method_text()}")
        problem = Problem(
            annotations=scaler.transform_labels(annotations),
            shape=inputs.noise_feature_shape,
            truth=truths,
            item_weights=item_weights(sample_weight, annotations),
        )
        chosen = self._transitions(method)
        network, network_settings = network_choice(self, method, encoder.default_network)
        plan = FitPlan(
            settings=settings,
            network=network,
            network_settings=network_settings,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            resume=resume,
            progress=self.progress,
            fingerprint={
                "method": self._method_text(),
                "noise": repr(self.noise),
                "network_settings": repr(network_settings),
                "init": self.init,
                **({"published": self.published} if self.published else {}),
                **({"transitions": chosen} if chosen != "none" else {}),
                **encoder.fingerprint(),
            },
            start=start,
            transitions=chosen,
        )
        return Fitting(method, encoder, inputs, annotations, scaler, problem, plan)

    def _take(self, fitting: Fitting, fit: MethodFit) -> None:
        """Set the fitted attributes."""
        model, method = fitting.model(fit.module), fitting.method
        self.encoder_, self.scaler_ = model.encoder, model.scaler
        self.settings_, self.crowd_ = model.settings, model.crowd
        self.network_, self.noise_ = model.network, model.noise
        self.method_class_ = type(method)
        self.network_spec_ = fitting.plan.network, fitting.plan.network_settings
        self.noise_spec_ = self._task().noise_spec(method.noise_spec, self.noise_)
        self.restored_with_ = method.restore_settings(self.network_)
        self.history_, self.epoch_ = fit.result.history, fit.result.epoch
        self.search_history_ = fit.result.search_history
        self._set_feature_names()
        self.trained_on_ = fitting.annotations  # not saved: `infer` says if it meets them again
        found = self._posterior(fitting.inputs, fitting.annotations)
        self.annotator_columns_ = found.annotator_columns()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _set_feature_names(self) -> None:
        self.n_features_in_ = int(np.prod(self.encoder_.shape))
        self.__dict__.pop("feature_names_in_", None)
        if self.encoder_.names is not None:
            self.feature_names_in_ = self.encoder_.names

    def _resolve_method(self) -> Method:
        method = METHODS[self.method] if isinstance(self.method, str) else self.method
        if not isinstance(method, Method):
            raise SettingError(f"method must be a name of METHODS or a Method; got {method!r}")
        if self.task not in method.tasks:
            known = ", ".join(name for name, each in METHODS.items() if self.task in each.tasks)
            got = self.method if isinstance(self.method, str) else type(method).__name__
            raise SettingError(
                f"method must be for {self.task}; got {got}, which is for "
                f"{' and '.join(method.tasks)}; known: {known}"
            )
        for name in ("noise", "network_settings"):
            got = getattr(self, name)
            require(isinstance(got, Mapping | None), name, "settings by name, or None", got)
        required = method.required_network
        if required is not None and self.network not in (None, required):
            raise SettingError(f"{self.method} is for the network {required!r}; leave network out")
        if required is not None and self.network_settings:
            raise SettingError(
                f"{self.method} has a network of its own; leave ", SettingName("network_settings"),
                " out",
            )  # fmt: skip
        if not method.takes_noise_settings and (self.noise or self.init not in (None, "own")):
            raise SettingError(f"noise and init are for noise models; {self.method} has none")
        if self.published:
            method = method.published(self.published, self.task)
        return method.configured(self.noise, self.init)

    def _transitions(self, method: Method) -> str:
        """The transitions between neighbouring items; only tags have some."""
        return "none"

    def _method_text(self) -> str:
        return self.method if isinstance(self.method, str) else repr(self.method)

    def _check_settings(self) -> None:
        """Check the settings that are not part of `TrainingSettings`, which checks its own."""
        for name, declared in self._settings().items():
            if name not in settings_of(TrainingOptions):
                declared.checked(getattr(self, name))

    def _fitted(self) -> FittedModel:
        check_is_fitted(self, "network_")
        return FittedModel(
            self.network_, self.noise_, self.encoder_, self.settings_, self.crowd_, self.scaler_
        )

    def _predictions(self, features: Any) -> Floats:
        """Class probabilities, or values, of every row, from the network alone."""
        return self._predicted_by(self._fitted(), features)

    def _predicted_by(self, model: FittedModel, features: Any) -> Floats:
        inputs = model.encoder.transform(known_features(features))
        outputs = predict_outputs(model.network, inputs, model.device, model.settings)
        return self._task().predictions(outputs, model.scaler)

    def scored_predictions(self, X: Any) -> Any:
        """Predictions in the form that the scores of the task take."""
        return self._predictions(X)

    def _posterior(self, inputs: Inputs, annotations: Annotations) -> Consensus:
        return self._task().posterior(self._fitted(), inputs, annotations)

    def _encode(
        self, features: Any, labels: Labels, items: Iterable[Any] | None
    ) -> tuple[Inputs, Annotations]:
        """Inputs, and labels in the codes of the fitted model; unseen annotators come last."""
        inputs = self._fitted().encoder.transform(known_features(features))
        annotations = labels_of_rows(labels, self.kind, len(inputs), items, features)
        return inputs, recode_like(annotations, self.crowd_)

    def _labels_of_known(
        self, features: Any, labels: Labels, items: Iterable[Any] | None
    ) -> tuple[CrowdModule, CrowdData]:
        """The model, and the labels of the annotators it knows."""
        inputs, annotations = self._encode(features, labels, items)
        known = annotations.only(annotations.annotator < self.noise_.n_annotators)
        if known.n_annotations == 0:
            raise DataError("not one label is of an annotator seen in training")
        module = self.method_class_.fitted_module(self._task(), self.network_, self.noise_)
        known = self.scaler_.transform_labels(known)
        return module, CrowdData(inputs, known, self._fitted().device)

    def _threads(self) -> Any:
        return torch_threads(self.network_, self.encoder_.shape, EVALUATION_BATCH, self.settings_)


def document(cls: type) -> type:
    """Append the parameters of an estimator to its docstring, from their declarations."""
    parameters = "\n".join(f"    {line}" for line in describe(cls).splitlines())
    text, _, examples = (cls.__doc__ or "").partition("    Examples\n")
    section = f"{text.rstrip()}\n\n    Parameters\n    ----------\n{parameters}\n"
    cls.__doc__ = f"{section}\n    Examples\n{examples}" if examples else section
    return cls
