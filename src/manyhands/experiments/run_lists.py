"""The runs behind a page, with the keys of their records."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from manyhands.experiments.pages import markdown_table
from manyhands.experiments.runs import Run

HOW_TO_FIND = (
    "A record is a line of JSON with the settings, the seed, the versions and the scores of a run: "
    "`grep -h KEY docs/results/records/*.jsonl` shows it."
)


def list_runs(runs: Iterable[Run]) -> list[str]:
    """How a record is found, and the keys of all runs behind a fold, as lines of a page."""
    keys: dict[str, list[str]] = {}
    for run in runs:
        found = keys.setdefault(describe(run.fingerprint()), [])
        if run.key not in found:
            found.append(run.key)
    if not keys:
        return []
    rows = [[name, " ".join(found)] for name, found in keys.items()]
    return [
        "",
        "## Runs",
        "",
        f"{HOW_TO_FIND} A run that was not made has no line.",
        "",
        f"<details><summary>Keys of all {sum(map(len, keys.values()))} runs</summary>",
        "",
        markdown_table(["runs", "keys of records"], rows),
        "",
        "</details>",
    ]


def describe(fingerprint: Mapping[str, Any]) -> str:
    """What runs that differ by their seed alone have in common, in a few words.

    >>> source = {"dataset": "music", "tested_on": "test", "anonymous": False}
    >>> describe({"kind": "classification", "source": source, "method": "em", "settings": {}})
    'music, `em`'
    """
    source = fingerprint["source"]
    words = [str(source.get("dataset") or source.get("scenario"))]
    words += [source["features"]] if source.get("features") else []
    words += [f"`{fingerprint['method']}`"] if "method" in fingerprint else []
    if "panel" in fingerprint:  # the page has its protocol
        words += [str(fingerprint["panel"])] if fingerprint["panel"] != words[0] else []
    elif fingerprint.get("settings"):
        words.append(f"`{json.dumps(fingerprint['settings'], sort_keys=True)}`")
    return ", ".join(words)
