"""Fits of every kind, made by one process or by those of torchrun; the tests compare them.

Run by torchrun, with a folder: every process leaves the weights of its models there.
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from safetensors.numpy import save_file
from torch.utils.data import TensorDataset

import manyhands as mh
from featured_crowds import featured, weights
from manyhands.cli import app
from manyhands.engine import checkpoint, loop
from manyhands.engine.mapped import MappedInputs
from rated_crowds import rated
from set_crowds import simulate_sets

ALONE = {"progress": False, "device": "cpu", "threads": 1}
SHORT = {"epochs": 2, "warm_up": 1, "batch_size": 7, "validation_fraction": 0.0}
PLAIN = {"network": "mlp", "network_settings": {"hidden": [4], "dropout": 0.0}}


def _uneven(annotations):
    """Without some labels, so that items have different numbers of them."""
    keep = np.random.default_rng(0).random(annotations.n_annotations) < 0.6
    return annotations.only(keep)


def _classes(**settings):
    crowd = featured(n_items=41)
    model = mh.CrowdClassifier(**(ALONE | SHORT | PLAIN | settings))
    return model.fit(crowd.x, _uneven(crowd.annotations))


def _entries(**settings):
    crowd = featured(n_items=41)
    model = mh.CrowdClassifier(**(ALONE | SHORT | PLAIN | settings))
    return model.fit(TensorDataset(torch.from_numpy(crowd.x)), _uneven(crowd.annotations))


def _numbers(**settings):
    crowd = rated(n_items=41)
    model = mh.CrowdRegressor(**(ALONE | SHORT | PLAIN | settings))
    return model.fit(crowd.x, _uneven(crowd.annotations))


def _sets(**settings):
    crowd = simulate_sets(3, n_items=41)
    x = np.random.default_rng(4).normal(size=(41, 5)) + crowd.truth_ik
    model = mh.CrowdMultilabelClassifier(**(ALONE | SHORT | PLAIN | settings))
    return model.fit(x.astype(np.float32), _uneven(crowd.annotations))


def _drawn_alike(**settings):
    """Methods whose processes draw numbers of their own, with the same number in every draw."""
    crowd = featured(n_items=41)
    ann = crowd.annotations
    first = np.isin(np.arange(ann.n_annotations), ann.item_offsets[:-1])
    every_item = ann.only(first | (np.random.default_rng(0).random(len(first)) < 0.6))
    model = mh.CrowdClassifier(**(ALONE | SHORT | PLAIN | settings))
    with (
        mock.patch.object(torch.distributions.Beta, "sample", lambda _, shape: torch.ones(shape)),
        mock.patch.object(torch, "randn", torch.zeros),
    ):
        return model.fit(crowd.x, every_item)


def _tags(**settings):
    words, tags = ["Anna", "went", "to", "Oslo", "then"], ["B-PER", "O", "O", "B-LOC", "O"]
    rng = np.random.default_rng(3)
    sentences = [rng.integers(0, 5, size=size).tolist() for size in rng.integers(1, 6, size=20)]
    said = [
        {
            who: [tags[w] if rng.random() < 0.8 else str(rng.choice(tags)) for w in sentence]
            for who in range(4)
            if who == s % 4 or rng.random() < 0.5
        }
        for s, sentence in enumerate(sentences)
    ]
    tokens = mh.annotations.Sentences.from_lists([[words[w] for w in each] for each in sentences])
    first = np.cumsum([0, *map(len, sentences)])
    rows = [
        (first[s] + place, who, tag)
        for s, by in enumerate(said)
        for who, given in by.items()
        for place, tag in enumerate(given)
    ]
    item, who, tag = zip(*rows, strict=True)
    names = {"items": np.arange(first[-1]), "classes": sorted(set(tags))}
    ann = mh.Annotations.from_arrays(item, who, tag, **names)
    network = {"network_settings": {"hidden": 4, "n_features": 8, "dropout": 0.0}}
    model = mh.CrowdTagger(**(ALONE | SHORT | network | {"batch_size": 11} | settings))
    return model.fit(tokens, ann)


PRIOR = {"prior_precision": 1.0}
ITEMS = {"reduction": "items", **PRIOR}
NORM = {"network_settings": {"hidden": [4], "dropout": 0.0, "batch_norm": True}}
STEPS = {"optimizer": "sgd", "sam_rho": 0.05, "max_grad_norm": 1.0}
FITS = {
    **{f"{name}, dense": (_classes, {"method": name, "sparse": False}) for name in mh.NOISE},
    **{f"{name}, sparse": (_classes, {"method": name, "sparse": True}) for name in mh.NOISE},
    "trace-reg by items": (_classes, {"method": "trace-reg", "noise": ITEMS, "sparse": True}),
    "conal by items": (_classes, {"method": "conal", "noise": ITEMS}),
    "conal by items, sparse": (_classes, {"method": "conal", "noise": ITEMS, "sparse": True}),
    **{
        name: (_classes, {"method": name})
        for name in (
            "em",
            "conal-em",
            "max-mig",
            "two-stage-majority",
            "doctor-net",
            "mixture",
            "coinnet",
            "crowdlab",
            "cross-fit",
            "crowd-layer-mw-smoothed",
        )
    },
    **{
        f"{name}, {'sparse' if sparse else 'dense'}": (
            _drawn_alike,
            {"method": name, "sparse": sparse},
        )
        for name in ("annot-mix", "semi-lfc")
        for sparse in (False, True)
    },
    **{
        f"multilabel-layer, {'sparse' if sparse else 'dense'}": (_sets, {"sparse": sparse})
        for sparse in (False, True)
    },
    "two-stage-multilabel-mixture": (_sets, {"method": "two-stage-multilabel-mixture"}),
    "coinnet, sparse": (_classes, {"method": "coinnet", "sparse": True}),
    "entries of a Dataset": (_entries, {"method": "speelfc"}),
    "heads, sparse": (_classes, {"method": "weighted-doctor-net", "sparse": True}),
    "batch normalisation": (_classes, {"method": "speelfc", **NORM}),
    "steps of one item": (_classes, {"method": "geocrowdnet", "batch_size": 1, "sparse": True}),
    "sharp steps": (_classes, {"method": "speelfc", "sparse": True, "ema_decay": 0.9, **STEPS}),
    "parts of steps": (_classes, {"method": "trace-reg", "accumulate": 2, "sparse": True}),
    "search": (
        _classes,
        {"method": "conal", "validation_fraction": 0.2, "monitor": "majority", "refit": True},
    ),
    **{
        f"{name}, {'sparse' if sparse else 'dense'}": (_numbers, {"method": name, "sparse": sparse})
        for name in ("crowd-layer-s", "crowd-layer-b", "crowd-layer-sb")
        for sparse in (False, True)
    },
    "em-regression": (_numbers, {"method": "em-regression"}),
    "squared": (_numbers, {"method": "crowd-layer-b", "noise": {"precision": "none"}}),
    "rates": (_numbers, {"method": "doctor-net", "validation_fraction": 0.2, "refit": False}),
    "tags, dense": (_tags, {"method": "speelfc", "sparse": False}),
    "tags, sparse": (_tags, {"method": "conal", "sparse": True}),
}


def fitted(name, **settings):
    """The model of a fit by name; settings such as the number of devices are added."""
    fit, own = FITS[name]
    return fit(**(own | settings))


RESUMED = {"method": "conal", "sparse": True, "epochs": 4, "warm_up": 1}


def interrupted(folder, **settings):
    """Train for two of four epochs: then all processes are interrupted, after a checkpoint."""
    save = loop._Worker._save

    def save_and_stop(worker):
        save(worker)
        if worker.states[0].epoch == 2:
            raise KeyboardInterrupt

    loop._Worker._save = save_and_stop
    try:
        _classes(**RESUMED, checkpoint=folder, **settings)
    except KeyboardInterrupt:
        pass
    finally:
        loop._Worker._save = save


def resumed(folder, **settings):
    """Train the other two epochs."""
    crowd = featured(n_items=41)
    model = mh.CrowdClassifier(**(ALONE | SHORT | PLAIN | RESUMED), checkpoint=folder, **settings)
    return model.fit(crowd.x, _uneven(crowd.annotations), resume=True)


def mapped(path, **settings):
    """A fit with features in a mapped file; and the rows of every read, in their order."""
    reads, read = [], MappedInputs._read

    def noted(inputs, rows):
        found = read(inputs, rows)
        reads.append(np.arange(len(inputs))[rows].tolist())
        return found

    MappedInputs._read = noted
    try:
        crowd = featured(n_items=41)
        model = mh.CrowdClassifier(**(ALONE | SHORT | PLAIN), method="speelfc", **settings)
        model.fit(np.load(path, mmap_mode="r"), _uneven(crowd.annotations))
    finally:
        MappedInputs._read = read
    return model, reads


def _leave(model, path):
    arrays = {key: each.numpy() for key, each in weights(model).items()}
    losses = np.array([entry["loss"] for entry in model.history_])
    save_file(arrays | {"loss": losses}, path)


def main(folder):
    home, rank = Path(folder), os.environ["RANK"]
    checkpoint._REST = 0.0  # a checkpoint is saved after every epoch
    for place, name in enumerate(FITS):
        _leave(fitted(name, devices=2), home / f"{place}-{rank}")
    interrupted(home / "by-two", devices=2)
    _leave(resumed(home / "by-one", devices=2), home / f"resumed-{rank}")
    model, reads = mapped(home / "x.npy", devices=2)
    _leave(model, home / f"mapped-{rank}")
    (home / f"reads-{rank}.json").write_text(json.dumps(reads))
    for line in (home / "commands.txt").read_text().splitlines():
        sys.argv = ["manyhands", *line.split()]
        with suppress(SystemExit):
            app.main()


if __name__ == "__main__":
    main(sys.argv[1])
