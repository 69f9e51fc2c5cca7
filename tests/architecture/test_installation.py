"""What `make` installs: every version is pinned, and the files of every version have hashes."""

import itertools
import re
import tomllib
from pathlib import Path

HOME = Path(__file__).parents[2]
NO_HASH = {"torch"}  # its CPU build is another file than that of the package index


def name_of(requirement):
    return re.split(r"[\s\[;<>=!~]", requirement)[0].lower().replace("_", "-")


def pins(file):
    """Versions by name, and the number of hashes of each."""
    text = (HOME / file).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = {name_of(line): line.split()[0].partition("==")[2] for line in lines}
    assert len(found) == len(lines), f"{file} has a name twice"
    return found, {name_of(line): line.count("--hash=sha256:") for line in lines}


def test_every_pinned_version_has_hashes():
    pinned, _ = pins("constraints.txt")
    locked, n_hashes = pins("requirements.lock")
    assert locked == {name: at for name, at in pinned.items() if name not in NO_HASH}
    assert all(n_hashes.values())


def test_every_dependency_is_pinned():
    pinned, _ = pins("constraints.txt")
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    extras = itertools.chain.from_iterable(project["optional-dependencies"].values())
    names = {name_of(each) for each in (*project["dependencies"], *extras)}
    assert names - {"manyhands"} <= pinned.keys(), "make installs nothing else"
