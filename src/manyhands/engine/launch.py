"""Starting the processes of a run, and the one error that is raised when one of them fails."""

import logging
import os
import pickle
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing.spawn import ProcessExitedException
from torch.nn.parallel import DistributedDataParallel

from manyhands.core.errors import first_line
from manyhands.core.settings import require
from manyhands.engine.settings import TrainingSettings
from manyhands.engine.torchrun import joins_torchrun, quiet_torch

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy

_FAILED = "failed"  # file of the first process of a machine to fail
_ADDRESS = ("MASTER_ADDR", "MASTER_PORT", "NODE_RANK")
_LOST = ("gloo", "nccl", "connection")  # what torch says when another process has gone
_PATIENCE = 10.0  # seconds for the parent to see which process has gone


def _quiet() -> None:
    """Silence what Fabric says of every start, and torch of every process that it ends."""
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    logging.getLogger("torch.multiprocessing.spawn").setLevel(logging.ERROR)
    quiet_torch()  # in the processes that are started


_quiet()  # also in every process that is started


def launch(
    settings: TrainingSettings,
    work: Callable[["Fabric"], Any],
    *,
    write: Callable[[Any, Path], None],
    read: Callable[[Path], Any],
) -> Any:
    """Call `work` in every process of a run; what it returns in this one.

    Processes that are started here leave their result in a folder: `write` and `read` do that.
    Those of torchrun run this function themselves.
    """
    several = settings.n_processes > 1
    joins = joins_torchrun(settings.devices, settings.nodes)
    if settings.nodes > 1 and not joins:
        lacking = ", ".join(name for name in _ADDRESS if name not in os.environ)
        rule = f"1 unless torchrun, or {', '.join(_ADDRESS)}, tell of the other machines"
        require(not lacking, "nodes", rule, settings.nodes, f"there is no {lacking}")
    from lightning_fabric import Fabric  # takes seconds, and predictions do not need it

    _quiet()
    fabric = Fabric(
        accelerator=settings.accelerator,
        devices=settings.devices,
        num_nodes=settings.nodes,
        strategy=_strategy("popen" if joins else "spawn") if several else "auto",
        precision="bf16-mixed" if settings.precision == "bf16" else "32-true",
    )
    if not several:
        return fabric.launch(work)
    if joins:
        try:
            return fabric.launch(work)
        except RuntimeError as error:
            if not _is_lost(error):
                raise
            raise ChildProcessError(_another_ended(settings.n_processes)) from error
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        try:
            # The work goes in with the function: Fabric looks into arguments.
            fabric.launch(partial(_in_child, work=work, write=write, home=home))
        except ProcessExitedException as ended:
            raise _failure(home, settings.n_processes, ended) from None
        return read(home)


def _strategy(start_method: Any) -> "DDPStrategy":
    """One process per device. Buffers are not broadcast: those of large crowds are large."""
    from lightning_fabric.strategies.ddp import DDPStrategy

    newer = "forward_sync_buffers" in signature(DistributedDataParallel).parameters
    quiet: dict[str, Any] = {"forward_sync_buffers" if newer else "broadcast_buffers": False}
    # The noise model is not trained during the warm-up: its parameters are unused then.
    return DDPStrategy(start_method=start_method, find_unused_parameters=True, **quiet)


def _in_child(
    fabric: "Fabric",
    work: Callable[["Fabric"], Any],
    write: Callable[[Any, Path], None],
    home: Path,
) -> None:
    try:
        result = work(fabric)
        if fabric.local_rank == 0:  # all processes have the same
            write(result, home)
    except Exception as error:
        if _is_lost(error):
            time.sleep(_PATIENCE)
        else:
            _leave(error, fabric.global_rank, home)
        raise SystemExit(1) from None  # torch then ends the other processes
    finally:  # or its threads may be running when the process ends, which aborts it
        torch.distributed.destroy_process_group()


def _is_lost(error: Exception) -> bool:
    """Whether an error says no more than that another process has gone."""
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(word in text for word in _LOST)


def _another_ended(n_processes: int) -> str:
    return f"another of {n_processes} training processes has ended; its own output says why"


def _leave(error: Exception, rank: int, home: Path) -> None:
    """Tell the parent of an error, unless another process failed before."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        told = pickle.dumps((rank, error))
        pickle.loads(told)
    except Exception:  # an error of somebody else's may not survive it
        told = pickle.dumps((rank, RuntimeError(f"{type(error).__name__}: {first_line(error)}")))
    try:
        with (home / _FAILED).open("xb") as stream:
            stream.write(told)
    except FileExistsError:
        pass


def _failure(home: Path, n_processes: int, ended: ProcessExitedException) -> Exception:
    """The error to raise for processes that ended: that of the first, or what ended it."""
    if (home / _FAILED).exists():
        rank, error = pickle.loads((home / _FAILED).read_bytes())
        place = f"process {rank + 1} of {n_processes}"
        found: Exception = error.at(place) if rank > 0 and hasattr(error, "at") else error
        return found
    if ended.signal_name is None:
        return ChildProcessError(_another_ended(n_processes))
    why = ", as happens when memory runs out" if ended.signal_name == "SIGKILL" else ""
    return ChildProcessError(
        f"one of {n_processes} training processes was ended by {ended.signal_name}{why}"
    )
