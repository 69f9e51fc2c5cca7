"""Train in a process that is killed at random moments and goes on; run by test_killed_runs.

Torch is imported, and kernels loaded, once: every attempt is a fork of this process, which has
one thread.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from featured_crowds import featured, fit
from manyhands.engine import checkpoint

COMMON = {"epochs": 40, "batch_size": 16, "threads": 1}
RUNS = {
    "held-out": {
        "method": "conal", "validation_fraction": 0.2, "patience": 40, "schedule": "cosine", "sam_rho": 0.05,
        "max_grad_norm": 1.0, "refit": False,
    },
    "refitted": {"method": "speelfc", "validation_fraction": 0.2, "patience": 40, "refit": True},
    "sparse": {
        "method": "speelfc", "sparse": True, "sam_rho": 0.05, "warm_up": 20, "schedule": "cosine",
        "noise_weight_decay": 0.1, "validation_fraction": 0.0,
    },
    "two-stage": {"method": "two-stage-dawid-skene", "weight_decay": 0.01, "sam_rho": 0.05},
}  # fmt: skip


def train(name, checkpoint=None, **how):
    settings = dict(RUNS[name])
    crowd = featured()
    method = settings.pop("method")
    return fit(method, crowd, checkpoint=checkpoint, **(COMMON | settings | how))


def attempt(name, home):
    """A process of its own that goes on with a run; its number."""
    child = os.fork()
    if child:
        return child
    checkpoint._REST = 0.0  # save after every epoch
    try:
        train(name, home / "checkpoint", resume=True).save(home / "model")
        os._exit(0)
    except BaseException as error:
        sys.stderr.write(f"{error!r}\n")
        sys.stderr.flush()
        os._exit(1)


def main(folder, seed):
    moments = random.Random(seed)
    for name in RUNS:
        train(name, epochs=1, warm_up=0)
        home = Path(folder) / name
        deaths = 0
        while not (home / "model").exists():
            child = attempt(name, home)
            until = time.monotonic() + (moments.uniform(0.03, 0.3) if deaths < 4 else 60)
            while time.monotonic() < until:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    break
                time.sleep(0.002)
            else:
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
            died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            if not died and status:
                sys.exit(f"{name}: ended with {status}")
            deaths += died
        sys.stdout.write(f"{name} {deaths}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
