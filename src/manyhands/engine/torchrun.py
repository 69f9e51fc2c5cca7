"""What torchrun tells the processes that it starts; this module does not load torch."""

import os
from dataclasses import dataclass
from datetime import timedelta

from manyhands.core.errors import SettingName
from manyhands.core.settings import require

_TOLD = ("TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
_PATIENCE = timedelta(seconds=10)  # for the store of torchrun


@dataclass(frozen=True)
class Started:
    """One of the `n` processes that torchrun started, `devices` of them on each machine."""

    rank: int
    n: int
    devices: int

    @property
    def nodes(self) -> int:
        """The number of machines."""
        return self.n // self.devices


def started_by_torchrun() -> Started | None:
    """What torchrun tells this process; None if it started this process alone, or not at all."""
    if not all(name in os.environ for name in _TOLD):
        return None
    rank, n, devices = (int(os.environ[name]) for name in _TOLD[1:])
    return Started(rank, n, devices) if n > 1 else None


def joins_torchrun(devices: int, nodes: int) -> bool:
    """Whether a run takes part in the processes of torchrun; an error if they are of other number.

    A run of one process stays one: a script may train a model of its own in every process.
    """
    started = started_by_torchrun()
    if started is None or devices * nodes == 1:
        return False
    for name, got, given in (
        ("devices", devices, started.devices),
        ("nodes", nodes, started.nodes),
    ):
        rule = f"{given}, as many as torchrun started"
        require(got == given, name, rule, got, "set ", SettingName(name, given))
    return True


def quiet_torch() -> None:
    """Silence torch's warning that no parameter was unused, which is said once per process.

    It counts if torch is not loaded yet.
    """
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


def is_first(nodes: int = 1) -> bool:
    """Whether this process writes and prints; of those that train together only one does."""
    started = started_by_torchrun()
    if started is not None:
        return started.rank == 0
    return nodes == 1 or os.environ.get("NODE_RANK", "0") == "0"


def is_first_to_fail() -> bool:
    """Whether no process of torchrun has failed before; the others fail because of the first."""
    if started_by_torchrun() is None:
        return True
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    try:
        host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = TCPStore(host, port, is_master=False, timeout=_PATIENCE)
        return bool(store.add("manyhands/failed", 1) == 1)
    except Exception:  # a line too many is better than none
        return True
