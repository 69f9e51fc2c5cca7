"""What the settings of an estimator mean for its method and features, and those of a paper."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from manyhands.engine.features import EncoderOptions
from manyhands.engine.settings import TrainingOptions
from manyhands.engine.transformer_text import FINE_TUNING, NOISE_LEARNING_RATE
from manyhands.methods import Method
from manyhands.methods.presets import Preset
from manyhands.networks import Network
from manyhands.networks.catalog import PRETRAINED_NETWORKS
from manyhands.networks.pretrained import is_pretrained


def preset_of(model: Any, method: Method) -> Preset | None:
    """The experiment that an estimator is to be trained as, if any."""
    return method.preset(model.published, model.task)[1] if model.published else None


def training_options(model: Any, method: Method) -> dict[str, Any]:
    """The settings of training that were given, with the defaults of the task.

    What a paper says has precedence over these defaults; the method holds it.
    """
    given = {each.name: getattr(model, each.name) for each in fields(TrainingOptions)}
    preset = preset_of(model, method)
    stated = set() if preset is None else set(preset.training)
    defaults = fine_tuning(model, method) | dict(model._task().defaults)
    defaults = {name: each for name, each in defaults.items() if name not in stated}
    return {name: defaults.get(name) if value is None else value for name, value in given.items()}


def fine_tuning(model: Any, method: Method) -> dict[str, Any]:
    """The defaults of training for a pretrained network that is not frozen."""
    if not is_pretrained(model.network) or (model.network_settings or {}).get("freeze"):
        return {}
    own = method.defaults.get("noise_learning_rate")
    return FINE_TUNING | ({} if own else {"noise_learning_rate": NOISE_LEARNING_RATE})


def network_choice(
    model: Any, method: Method, default: str
) -> tuple[Network, Mapping[str, Any] | None]:
    """The network, which was asked for or is the default of the features, and its settings."""
    preset = preset_of(model, method)
    required, settings = method.required_network, model.network_settings
    stated = None if preset is None or required else preset.network_for(default)
    if stated is None or model.network not in (None, stated[0]):
        return required or model.network or default, settings
    return stated[0], {**stated[1], **(settings or {})}


def encoder_options(model: Any, method: Method) -> EncoderOptions:
    """How features become inputs."""
    # A network by name computes with numbers; one of your own may look integers up.
    own_network = not (model.network is None or isinstance(model.network, str))
    scale, preset = getattr(model, "scale", "none"), preset_of(model, method)
    if scale == "auto" and preset is not None:
        scale = preset.scale
    unscaled = own_network or method.needs_counts
    pretrained = model.network_settings if model.network in PRETRAINED_NETWORKS else None
    return EncoderOptions(
        scale="none" if scale == "auto" and unscaled else str(scale),
        keep_integers=own_network,
        word_vectors=model.word_vectors,
        freeze_embeddings=model.freeze_embeddings,
        max_tokens=getattr(model, "max_tokens", None),
        image_size=getattr(model, "image_size", None),
        normalize=scale != "none",
        image_encoder=(pretrained or {}).get("folder"),
        network=model.network if is_pretrained(model.network) else None,
        network_settings=model.network_settings,
        device=model.device,
        progress=model.progress,
        seed=model.seed,
    )
