"""Train in a process that is killed again and again and goes on; run by test_killed_runs.

A moment is the number of functions that were called since the run began, so that the same moments
are met on a fast machine and on a slow one. Torch is imported, and kernels loaded, once: every
attempt is a fork of this process, which has one thread.
"""

import os
import random
import signal
import sys
from pathlib import Path

from featured_crowds import featured, fit
from manyhands.engine import checkpoint

COMMON = {"epochs": 6, "batch_size": 32, "threads": 1}
MOST_DEATHS = 3
RUNS = {
    "held-out": {
        "method": "conal", "validation_fraction": 0.2, "patience": 40, "schedule": "cosine",
        "sam_rho": 0.05, "max_grad_norm": 1.0, "refit": False,
    },
    "refitted": {"method": "speelfc", "validation_fraction": 0.2, "patience": 40, "refit": True},
    "sparse": {
        "method": "speelfc", "sparse": True, "sam_rho": 0.05, "warm_up": 4, "schedule": "cosine",
        "noise_weight_decay": 0.1, "validation_fraction": 0.0,
    },
    "two-stage": {
        "method": "two-stage-dawid-skene", "optimizer": "sgd", "nesterov": True, "ema_decay": 0.9,
        "weight_decay": 0.01, "sam_rho": 0.05, "learning_rate_warm_up": 1.0, "schedule": "step",
    },
}  # fmt: skip


def train(name, checkpoint=None, **how):
    settings = dict(RUNS[name])
    crowd = featured()
    method = settings.pop("method")
    return fit(method, crowd, checkpoint=checkpoint, **(COMMON | settings | how))


class Moments:
    """Counts calls of functions, and may end this process at one of them."""

    def __init__(self, last=None):
        self.now, self.last = 0, last

    def __call__(self, frame, event, what):
        if event in ("call", "c_call"):
            self.now += 1
            if self.now == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def attempt(name, home, moments):
    """Whether a process of its own that goes on with a run was killed."""
    child = os.fork()
    if not child:
        try:
            checkpoint._REST = 0.0  # save after every epoch
            sys.setprofile(moments)
            train(name, home / "checkpoint", resume=True).save(home / "model")
            sys.setprofile(None)
            (home / "moments").write_text(str(moments.now))
            os._exit(0)
        except BaseException as error:
            sys.stderr.write(f"{error!r}\n")
            sys.stderr.flush()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if status and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        sys.exit(f"{name}: ended with {status}")
    return bool(status)


def main(folder, seed):
    choose = random.Random(seed)
    for name in RUNS:
        train(name, epochs=1, warm_up=0)
        home = Path(folder) / name
        assert not attempt(name, home / "whole", Moments())
        length = int((home / "whole" / "moments").read_text())
        deaths = 0
        while not (home / "model").exists():
            last = int(choose.uniform(0.1, 0.6) * length) if deaths < MOST_DEATHS else None
            deaths += attempt(name, home, Moments(last))
        sys.stdout.write(f"{name} {deaths}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
