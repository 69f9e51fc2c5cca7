"""How tests are run, and crowds that many of them use."""

import atexit
import importlib.util
import io
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers

from rooms import Rooms

# Where the package is read-only, as for another user, the processes of a run share a folder of
# compiled code. Without one each of the many that tests start would compile anew for minutes.
_PACKAGE = Path(importlib.util.find_spec("manyhands").origin).parent
if not os.access(_PACKAGE, os.W_OK) and "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="manyhands-tests-")
    atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)

from manyhands.engine import checkpoint  # noqa: E402
from manyhands.simulation import SCENARIOS, CrowdSettings  # noqa: E402

# Whoever runs the tests, and wherever: what is said has no colours and 80 columns, and the CPU
# computes it.
for _name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TERMINAL_WIDTH", "MANYHANDS_THREADS"):
    os.environ.pop(_name, None)
os.environ |= {"COLUMNS": "80", "TERM": "dumb", "TZ": "UTC", "CUDA_VISIBLE_DEVICES": ""}

checkpoint._REST = 0.0  # after every epoch one is saved, however long that takes

# make test draws the same examples every time, however fast the machine is; make fuzz draws new
# ones, and keeps those that fail.
_ANY = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}
settings.register_profile("fixed", derandomize=True, database=None, **_ANY)
settings.register_profile(
    "fuzz", database=DirectoryBasedExampleDatabase(".hypothesis/examples"), **_ANY
)
settings.load_profile("fixed")


# Doctests are looked for in every module; two that are called conftest would be taken for one.
collect_ignore = ["conftest.py", "checks/conftest.py", "experiments/conftest.py"]


def pytest_addoption(parser):
    parser.addoption("--rooms", action="store_true", help="a line per folder in place of dots")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if config.getoption("--rooms") and terminal and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Rooms(terminal.write_line))


def _seed():
    """Networks draw their first weights from torch's own numbers, which start by chance."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)


def pytest_collectstart():
    _seed()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    _seed()


def pytest_sessionstart():
    if settings.default.derandomize:
        # otherwise constants of those of our modules that happen to be loaded are drawn, too
        providers._get_local_constants = lambda: providers._local_constants


@pytest.fixture(scope="session")
def crowd():
    """An honest crowd of 30 with favourite mistakes, 400 items, 6 labels each."""
    return SCENARIOS["confusions"](
        CrowdSettings(n_items=400, n_annotators=30, n_classes=4, labels_per_item=6, seed=3)
    )


@pytest.fixture
def brief(monkeypatch):
    """Networks train for three epochs at most: that everything runs is seen by then."""
    from manyhands.estimators import CrowdClassifier, CrowdRegressor, CrowdTagger

    def shortened(fit):
        def fit_briefly(self, *given, **more):
            self.epochs = min(self.epochs or 3, 3)
            self.warm_up = None if self.warm_up is None else min(self.warm_up, 3)
            return fit(self, *given, **more)

        return fit_briefly

    for estimator in (CrowdClassifier, CrowdRegressor, CrowdTagger):
        monkeypatch.setattr(estimator, "fit", shortened(estimator.fit))


@pytest.fixture
def pipe(monkeypatch):
    """A function that puts content into standard input."""

    def fill(content):
        data = content if isinstance(content, bytes) else content.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return fill
