"""Load what was saved to a folder: a consensus, a ranking or a model."""

from pathlib import Path
from typing import Any

import manyhands
from manyhands.core.errors import DataError, SettingError
from manyhands.io.bundle import has_bundle

_KINDS = ("consensus", "ranking", "model")


def load(folder: str | Path, *, network: Any = None) -> Any:
    """The consensus, the ranking or the model that `save` wrote to a folder.

    A model whose network is your own needs `network`, because the files hold only its weights. A
    consensus is loaded without torch.
    """
    found = [kind for kind in _KINDS if has_bundle(folder, kind)]
    if not found:
        raise DataError(
            f"{folder}: holds neither a consensus (consensus.json) nor a ranking (ranking.json) "
            "nor a model (model.json)"
        )
    if len(found) > 1:
        raise DataError(
            f"{folder}: holds a {' and a '.join(found)}; load one with "
            "aggregation.load_consensus, aggregation.load_ranking or estimators.load"
        )
    if found == ["model"]:
        return manyhands.estimators.load(folder, network=network)
    if network is not None:
        raise SettingError(f"network is for models, and {folder} holds a {found[0]}; leave it out")
    if found == ["ranking"]:
        return manyhands.aggregation.load_ranking(folder)
    return manyhands.aggregation.load_consensus(folder)
