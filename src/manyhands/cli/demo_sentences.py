"""manyhands demo --task sequence: names of people and places in made-up sentences."""

import importlib.util
from typing import Any

import numpy as np

import manyhands as mh
from manyhands.cli.output import counting, require_folder, say, say_json, show_table
from manyhands.datasets import SentencesDemo, load_sentences_demo

_ALONE = ("majority", "one-coin", "dawid-skene")
_TRAINED = ("two-stage-majority", "two-stage-dawid-skene", "crowd-layer-mw")
_SETTINGS = {"epochs": 12, "learning_rate": 0.005}


def demo(out: str | None, seed: int, json: bool) -> None:
    """The entities that a crowd found, who finds them, and a tagger for new sentences."""
    data = load_sentences_demo(seed)
    methods = [_scores(data, method) for method in _ALONE]
    people = _portraits(data)
    files = _files(data, out) if out else []
    networks = _networks(data, seed)
    trained = [] if networks is None else networks.records()
    if json:
        say_json({"methods": methods, "annotators": people, "networks": trained, "files": files})
        return
    n_people = data.labels.annotations.n_annotators
    say(f"{len(data.labels)} made-up sentences with names of people and places, each tagged by 3")
    say(f"of {n_people} simulated people: some are careful, some hasty, some mix up people with")
    say("places, some mark the first word of a name only. No method is told who is who.\n")
    rows = [list(row.values()) for row in methods]
    show_table("How many entities are found, words and type right", list(methods[0]), rows)
    say()
    show_table("Who is how good, as dawid-skene sees it", list(people[0]),
               [list(row.values()) for row in people])  # fmt: skip
    if networks is None:
        say("\nTo train networks from these tags: pip install 'manyhands[learn]'")
    else:
        say(f"\nA tagger that learns from these tags, tried on {len(data.test)} new sentences.\n")
        shown = ("method", "f1", "precision", "recall", "seconds")
        rows = [[record[name] for name in shown] for record in trained]
        show_table("How many entities are found in new sentences", shown, rows)
    folder = out or "demo"
    say("\nTry next:")
    if not out:
        say(f"  manyhands demo --task sequence --out {folder}")
    say(f"  manyhands aggregate {folder}/tokens.conll --truth {folder}/gold.bio --out found.bio")
    say(f"  manyhands train {folder}/tokens.conll --truth {folder}/test.bio --out model")


def _scores(data: SentencesDemo, method: str) -> dict[str, Any]:
    found = mh.aggregate_tokens(data.labels.sentences, data.labels.annotations, method)
    offsets = data.labels.sentences.offsets
    scores = mh.evaluation.score_entities(data.truth.tags, found.tags, offsets)
    return {"method": method, "f1": scores.f1, "precision": scores.precision,
            "recall": scores.recall}  # fmt: skip


def _networks(data: SentencesDemo, seed: int) -> "mh.aggregation.Comparison | None":
    if importlib.util.find_spec("torch") is None:
        return None
    trial = mh.selection.trial_of_tokens(data.labels, data.test)
    with counting("training taggers", len(_TRAINED)) as done:
        return mh.selection.compare_training(
            trial, _TRAINED, seed=seed, settings=_SETTINGS, done=done
        )


def _portraits(data: SentencesDemo) -> list[dict[str, Any]]:
    consensus = mh.aggregate(data.labels.annotations)
    order = np.argsort(-consensus.annotator_quality, kind="stable")
    labels_a = data.labels.annotations.labels_per_annotator
    return [
        {
            "annotator": str(data.labels.annotations.annotators[a]),
            "quality": float(consensus.annotator_quality[a]),
            "labels": int(labels_a[a]),
            "behaviour": str(data.behaviour[a]),
        }
        for a in order
    ]


def _files(data: SentencesDemo, out: str) -> list[str]:
    home = require_folder(out)
    paths = [str(home / name) for name in ("tokens.conll", "gold.bio", "test.bio")]
    mh.io.write_conll(data.labels, paths[0])
    mh.io.write_bio(data.truth, paths[1])
    mh.io.write_bio(data.test, paths[2])
    return paths
